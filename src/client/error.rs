//! Errors of the client.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// The error of a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The server rejects the request.
    Refused {
        /// The reason, as a code.
        code: Code,
        /// The HTTP status.
        status: u16,
        /// The reason, as text.
        message: String,
        /// The field and values involved: `field`, `limit_bytes`, `actual_bytes`, ...
        details: Box<Map<String, Value>>,
        /// When the same request may succeed.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    Transport {
        /// The requested URL.
        url: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// The response is not one of this API.
    NotJson {
        /// The requested URL.
        url: String,
        /// The HTTP status; 0 if nothing was sent.
        status: u16,
        /// The position and the cause.
        source: serde_json::Error,
    },
}

/// The server's code for why it rejects a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A field is missing or wrong, the parent does not exist, or the id exists: `details.field` names the field.
    Validation,
    /// A limit is exceeded: `details` has `limit_bytes` and `actual_bytes`.
    PayloadTooLarge,
    /// The parent is a block of the wrong `sub_type`.
    ParentSubtypeMismatch,
    /// The trace already has a tool call with this `call_id`.
    DuplicateCallId,
    /// The trace already has a result with this `call_id` and `seq`.
    DuplicateResultSeq,
    /// The trace has spans that are not blocks.
    TraceRecorded,
    /// The body is not valid for the API.
    Invalid,
    /// The organization or trace does not exist.
    NotFound,
    /// The token is missing or unknown.
    Unauthorized,
    /// The token lacks the right.
    Forbidden,
    /// The request exceeds the server's size limit.
    TooLarge,
    /// The server cannot store data now: overload, shutdown or a disk failure.
    NotStored,
    /// Any other code.
    Other(String),
}

impl Code {
    fn of(word: &str) -> Self {
        match word {
            "VALIDATION" => Self::Validation,
            "PAYLOAD_TOO_LARGE" => Self::PayloadTooLarge,
            "PARENT_SUBTYPE_MISMATCH" => Self::ParentSubtypeMismatch,
            "DUPLICATE_CALL_ID" => Self::DuplicateCallId,
            "DUPLICATE_RESULT_SEQ" => Self::DuplicateResultSeq,
            "TRACE_RECORDED" => Self::TraceRecorded,
            "INVALID" => Self::Invalid,
            "NOT_FOUND" => Self::NotFound,
            "UNAUTHORIZED" => Self::Unauthorized,
            "FORBIDDEN" => Self::Forbidden,
            "TOO_LARGE" => Self::TooLarge,
            "NOT_STORED" => Self::NotStored,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl ClientError {
    pub(super) fn refused(status: u16, retry_after: Option<Duration>, text: &str) -> Self {
        let body: Value = serde_json::from_str(text).unwrap_or_default();
        let error = body.get("error");
        let word = |key: &str| error.and_then(|error| error.get(key)?.as_str());
        let details = error.and_then(|error| error.get("details")?.as_object());
        Self::Refused {
            code: Code::of(word("code").unwrap_or_default()),
            status,
            // A proxy's page is useful too.
            message: word("message").map_or_else(|| text.chars().take(200).collect(), str::to_owned),
            details: Box::new(details.cloned().unwrap_or_default()),
            retry_after,
        }
    }

    /// Why the server rejects the request, if it does.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { status, message, .. } => write!(f, "the server rejects the request ({status}): {message}"),
            Self::Transport { url, .. } => write!(f, "the server does not respond to {url}"),
            Self::NotJson { url, status, .. } => write!(f, "the response of {url} ({status}) is not JSON of this API"),
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused { .. } => None,
            Self::Transport { source, .. } => Some(source),
            Self::NotJson { source, .. } => Some(source),
        }
    }
}

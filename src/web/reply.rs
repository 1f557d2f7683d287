//! Answers, and what is said where there is none.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use serde_json::json;

use super::Body;
use super::delivery::GivenUp;
use super::readers::Refusal;
use crate::access::Denied;
use crate::store;

/// Why there is no answer. The body's form is OpenReward's.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    challenge: Option<&'static str>,
    /// Seconds after which the same request may have an answer.
    retry: Option<u64>,
}

impl Problem {
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            code: "NOT_FOUND",
            message: message.into(),
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code: "INVALID",
            message: message.into(),
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            code: "INTERNAL",
            message: message.into(),
            challenge: None,
            retry: None,
        }
    }

    /// What is asked for is damaged on the disk.
    pub(super) fn damaged(message: impl Into<String>) -> Self {
        Self {
            code: "DAMAGED",
            ..Self::internal(message)
        }
    }

    pub(super) fn refused(refusal: Refusal) -> Self {
        let busy = |code, message: &str| Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code,
            message: message.to_owned(),
            challenge: None,
            retry: Some(1),
        };
        match refusal {
            Refusal::Busy => busy("BUSY", "the bridge reads for others as much as it may: come again"),
            Refusal::Cancelled => busy("SHUTTING_DOWN", "the reading was given up, because the bridge ends: come again"),
            Refusal::TooLarge { bytes, limit } => Self {
                status: StatusCode::PAYLOAD_TOO_LARGE,
                code: "TOO_LARGE",
                message: format!(
                    "this takes about {} MB of memory, and all requests together may take {} MB (max_read_bytes): ask for less of it \
                     (limit, since, until, a single trace), raise max_read_bytes, or run: spanbridge export --data-dir DIR",
                    bytes.div_ceil(1_000_000),
                    limit / 1_000_000
                ),
                challenge: None,
                retry: None,
            },
        }
    }

    pub(super) fn unready(error: &store::Error) -> Self {
        // What the path of the data directory is, is nobody's business who has shown no token.
        let message = match error {
            store::Error::Full { .. } => "the disk is full: free some space".to_owned(),
            store::Error::Poisoned { .. } => error.to_string(),
            store::Error::Io { doing, source, .. } => format!("the data directory cannot be used ({doing}): {source}"),
            store::Error::Index { .. } => error.to_string(),
            _ => "the store takes nothing".to_owned(),
        };
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "NOT_READY",
            message,
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn method(method: &Method) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            code: "METHOD_NOT_ALLOWED",
            message: format!("{method} is not answered here; only GET is. Spans go to the OTLP ports"),
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn denied(denied: &Denied) -> Self {
        let (status, code) = match denied {
            Denied::NoRight { .. } => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            _ => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
        };
        Self {
            status,
            code,
            message: denied.to_string(),
            challenge: Some(denied.challenge()),
            retry: None,
        }
    }

    pub(super) fn forbidden(message: String) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            code: "FORBIDDEN",
            message,
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn head(message: String) -> Self {
        Self {
            status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            code: "HEADERS",
            message,
            challenge: None,
            retry: None,
        }
    }

    pub(super) fn reply(&self) -> Response<Body> {
        let body = json!({ "error": {
            "code": self.code,
            "http_status": self.status.as_u16(),
            "message": self.message,
            "details": {},
        }});
        let mut response = json_reply(body.to_string());
        *response.status_mut() = self.status;
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Cancelled => Self::refused(Refusal::Cancelled),
            error => Self::internal(error.to_string()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::refused(refusal)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.downcast::<GivenUp>() {
            Ok(GivenUp) => Self::refused(Refusal::Cancelled),
            Err(error) => Self::internal(format!("the answer cannot be written: {error}")),
        }
    }
}

pub(super) fn json_reply(text: String) -> Response<Body> {
    reply("application/json", text)
}

pub(super) fn reply(content_type: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

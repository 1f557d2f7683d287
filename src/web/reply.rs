//! Answers and errors.

use std::io;

use axum::body::Body;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::delivery::GivenUp;
use super::readers::Refusal;
use crate::access::Denied;
use crate::blocks::rules;
use crate::store::{self, DeletedBefore};

/// Values of `Allow` for paths that can be read, written, or both.
pub(crate) const GET: &str = "GET, HEAD";
pub(crate) const POST: &str = "POST";
pub(crate) const GET_AND_DELETE: &str = "GET, HEAD, DELETE";
pub(crate) const DELETE: &str = "DELETE";
pub(crate) const GET_AND_POST: &str = "GET, HEAD, POST";

/// Whether an answer was completed; its content has been written.
pub(crate) type Outcome = Result<(), Problem>;

/// An error instead of an answer. The body has OpenReward's form.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// A further header of the answer.
    header: Option<Box<(HeaderName, HeaderValue)>>,
    /// Further details of the error.
    details: Box<Map<String, Value>>,
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            header: None,
            details: Box::default(),
        }
    }

    /// With the number of seconds after which to retry.
    fn retry(self, seconds: u64) -> Self {
        self.with(RETRY_AFTER, seconds.into())
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some(Box::new((name, value)));
        self
    }

    fn detailed(mut self, details: Map<String, Value>) -> Self {
        *self.details = details;
        self
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// The requested data was deleted on request.
    pub(crate) fn deleted(what: &str, before: DeletedBefore) -> Self {
        let problem = Self::new(StatusCode::GONE, "DELETED", format!("{what} was deleted on request"));
        problem.detailed(Map::from_iter([("deleted_unix_nano".to_owned(), before.time.into())]))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    }

    /// The requested revision no longer exists.
    pub(crate) fn changed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CHANGED", message)
    }

    /// The requested data is damaged on disk.
    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "DAMAGED", message)
    }

    pub(crate) fn refused(refusal: Refusal) -> Self {
        let busy = |code, message: &str| Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry(1);
        match refusal {
            Refusal::Busy => busy("BUSY", "the server is busy with other requests; try again"),
            Refusal::Cancelled => busy(
                "SHUTTING_DOWN",
                "the request was cancelled because the server is shutting down; try again",
            ),
            Refusal::TooLarge { bytes, limit } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "TOO_LARGE",
                format!(
                    "this takes about {} MB of memory, and all requests together may take {} MB (max_read_bytes): ask for less of it \
                     (limit, since, until, a single trace), raise max_read_bytes, or run: spanbridge export --data-dir DIR",
                    bytes.div_ceil(1_000_000),
                    limit / 1_000_000
                ),
            ),
        }
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether it would need more memory than there is for all requests.
    pub(crate) fn is_too_large(&self) -> bool {
        self.code == "TOO_LARGE"
    }

    pub(crate) fn unready(error: &store::Error) -> Self {
        // Without the path of the data directory, because this needs no token.
        let message = match error {
            store::Error::Full { .. } | store::Error::IndexFull { .. } => "the disk is full: free some space".to_owned(),
            store::Error::Poisoned { .. } => error.to_string(),
            store::Error::Io { doing, source, .. } => format!("the data directory cannot be used ({doing}): {source}"),
            store::Error::Index { .. } => error.to_string(),
            _ => "the store accepts no writes".to_owned(),
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_READY", message)
    }

    /// `allow`: the methods allowed for the path.
    pub(crate) fn method(method: &Method, allow: &'static str) -> Self {
        let others = match allow {
            GET => "use GET. Spans go to the OTLP ports",
            POST => "use POST",
            DELETE => "use DELETE",
            GET_AND_DELETE => "use GET or DELETE",
            _ => "use POST or GET",
        };
        let message = format!("{method} is not allowed here; {others}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message).with(ALLOW, HeaderValue::from_static(allow))
    }

    pub(crate) fn denied(denied: &Denied) -> Self {
        let (status, code) = match denied {
            Denied::NoRight { .. } => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            _ => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
        };
        Self::new(status, code, denied.to_string()).with(WWW_AUTHENTICATE, HeaderValue::from_static(denied.challenge()))
    }

    pub(crate) fn forbidden(message: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    pub(crate) fn head(message: String) -> Self {
        Self::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "HEADERS", message)
    }

    /// A block breaks a rule. `index`: its index in the submitted list.
    pub(crate) fn of_block(refusal: rules::Refusal, index: Option<usize>) -> Self {
        let status = StatusCode::from_u16(refusal.code.http_status()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
        let mut details = refusal.details;
        if let Some(index) = index {
            details.insert("index".to_owned(), index.into());
        }
        Self::new(status, refusal.code.name(), refusal.message).detailed(details)
    }

    /// The submitted data is well-formed but breaks a rule at this place.
    pub(crate) fn validation(message: impl Into<String>, details: Map<String, Value>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "VALIDATION", message).detailed(details)
    }

    /// The same for a field.
    pub(crate) fn of_field(field: &str, message: impl Into<String>) -> Self {
        Self::validation(message, Map::from_iter([("field".to_owned(), field.into())]))
    }

    /// Blocks cannot be added to this trace.
    pub(crate) fn recorded(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "TRACE_RECORDED", message)
    }

    /// A write request is refused before its content is known, or because it cannot be stored.
    pub(crate) fn unread(status: u16, message: String, retry: Option<u64>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        let code = match status {
            StatusCode::FORBIDDEN => "FORBIDDEN",
            StatusCode::REQUEST_TIMEOUT => "TIMEOUT",
            StatusCode::PAYLOAD_TOO_LARGE => "TOO_LARGE",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "UNSUPPORTED_MEDIA_TYPE",
            StatusCode::SERVICE_UNAVAILABLE => "NOT_STORED",
            _ => "INVALID",
        };
        let problem = Self::new(status, code, message);
        match retry {
            Some(seconds) => problem.retry(seconds),
            None => problem,
        }
    }

    /// The store failed: the data may or may not be on disk.
    pub(crate) fn not_stored(error: &store::Error) -> Self {
        if let store::Error::Deleted { .. } = error {
            return Self::new(StatusCode::GONE, "DELETED", error.to_string());
        }
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_STORED", error.to_string()).retry(3)
    }

    pub(crate) fn reply(&self) -> Response<Body> {
        let body = json!({ "error": {
            "code": self.code,
            "http_status": self.status.as_u16(),
            "message": self.message,
            "details": self.details,
        }});
        let mut response = json_reply(body.to_string());
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.header.as_deref().cloned());
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

pub(crate) fn json_reply(text: String) -> Response<Body> {
    reply("application/json", text)
}

pub(crate) fn reply(content_type: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

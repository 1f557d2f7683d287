//! The outcome of one export request.

use std::fmt;
use std::time::Duration;

/// Details of an accepted request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Items refused for good, without saying which.
    pub rejected: u64,
    /// The destination's message; may be empty.
    pub message: String,
    /// Why the answer is not a valid export response, if so. The status says that the request was accepted.
    pub unreadable: Option<String>,
}

/// How to react to a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// No answer: unreachable, broken off, or too slow. Send the same request again.
    Transport,
    /// The destination asks to retry later.
    Overloaded,
    /// RESOURCE_EXHAUSTED without a hint: the request is too large, or there are too many.
    Exhausted,
    /// The request is at fault: divide it until the faulty item is alone.
    Request,
    /// The server is at fault, or fails because of this request.
    Server,
    /// No request can succeed: no permission, no such path, a loop. Wait until the cause is fixed.
    Refused,
    /// The destination does not support this signal.
    Unsupported,
    /// The URL has `http://` but the port uses TLS, or the other way round. Wait until the URL is corrected.
    WrongScheme,
}

/// A request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// How to react.
    pub class: Class,
    /// What happened, in one line.
    pub reason: String,
    /// How long the destination asks to wait.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Failure {
    pub(super) fn new(class: Class, reason: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.into(),
            retry_after: None,
        }
    }
}

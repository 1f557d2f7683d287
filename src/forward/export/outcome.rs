//! The outcome of one export request.

use std::fmt;
use std::time::Duration;

/// What a destination did with a request that it accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Items that it refused for good, without naming which.
    pub rejected: u64,
    /// Its message; may be empty.
    pub message: String,
    /// Why the answer is no export response, if it is none. By its status the request was accepted.
    pub unreadable: Option<String>,
}

/// What a failed request calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// No answer: not reached, broken off, or too slow. The same request is sent again.
    Transport,
    /// It asks to come again.
    Overloaded,
    /// RESOURCE_EXHAUSTED without a hint: too large, or too much.
    Exhausted,
    /// The request is at fault: it is divided until what is at fault is alone.
    Request,
    /// The server is at fault, or this request makes it fail.
    Server,
    /// Nothing can be sent, whatever it is: no right, no such path, a loop. Waits for somebody to mend it.
    Refused,
    /// It does not take this signal.
    Unsupported,
    /// The URL has `http://` and the port speaks TLS, or the other way round. Waits for somebody to correct the URL.
    WrongScheme,
}

/// A request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it calls for.
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

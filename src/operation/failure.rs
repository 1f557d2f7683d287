//! Failures.

/// Why an operation failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, for people.
    pub message: Option<String>,
    /// The error's class or code (`error.type`, `exception.type`).
    pub error_type: Option<String>,
    /// The stack trace.
    pub stacktrace: Option<String>,
}

impl Failure {
    /// The message, else the type, else "error".
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_deref().or(self.error_type.as_deref()).unwrap_or("error")
    }
}

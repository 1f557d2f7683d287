//! Failures.

use super::table::group;

group! {
    /// Why an operation failed.
    #[derive(Eq)]
    struct Failure {
        /// What went wrong, for people.
        message: Option<String>,
        /// The error's class or code (`error.type`, `exception.type`).
        error_type: Option<String>,
        /// The stack trace.
        stacktrace: Option<String>,
    }
}

impl Failure {
    /// The message, else the type, else "error".
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_deref().or(self.error_type.as_deref()).unwrap_or("error")
    }
}

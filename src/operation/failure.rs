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

    /// Whether the operation was stopped from outside: nothing went wrong in it.
    #[must_use]
    pub fn is_cancellation(&self) -> bool {
        let is_known = |words: &[&str], said: &str| words.iter().any(|word| word.eq_ignore_ascii_case(said));
        match &self.error_type {
            Some(class) if class != "_OTHER" => {
                let class = class.rsplit(['.', ':', '$']).next().unwrap_or(class);
                is_known(&CANCELLATIONS, class.trim())
            }
            _ => {
                let message = self.message.as_deref().unwrap_or_default();
                is_known(&CANCELLED, message.trim().trim_end_matches('.'))
            }
        }
    }
}

/// Classes and codes of errors by which languages and clients stop work: Python's asyncio, JavaScript's `AbortController`, .NET, Kotlin,
/// gRPC and Go, the OpenAI client.
const CANCELLATIONS: [&str; 12] = [
    "CancelledError",
    "Cancelled",
    "Canceled",
    "KeyboardInterrupt",
    "AbortError",
    "APIUserAbortError",
    "ResponseAborted",
    "OperationCanceledException",
    "TaskCanceledException",
    "CancellationException",
    "JobCancellationException",
    "WorkflowCancelledByUser",
];

/// Messages of errors without a class that say the same.
const CANCELLED: [&str; 9] = [
    "cancelled",
    "canceled",
    "context canceled",
    "aborted",
    "operation was aborted",
    "the operation was aborted",
    "this operation was aborted",
    "request was aborted",
    "interrupted by the user",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellations_are_known_by_their_class_else_by_their_words() {
        let is = |class: Option<&str>, message: &str| {
            let failure = Failure {
                error_type: class.map(str::to_owned),
                message: Some(message.to_owned()),
                ..Failure::default()
            };
            failure.is_cancellation()
        };
        assert!(is(Some("asyncio.exceptions.CancelledError"), "Cancelled via cancel scope"));
        assert!(is(Some("System.OperationCanceledException"), "") && is(Some("AbortError"), "stopped"));
        assert!(is(None, "context canceled") && is(None, "This operation was aborted"));
        assert!(!is(Some("ValueError"), "cancelled") && !is(None, "the order was cancelled") && !is(None, ""));
    }
}

//! Failures.

#[rustfmt::skip]
mod table;

use table::{CLASSES, MESSAGES, PLAIN, TIMEOUTS};

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

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self {
            message: Some(message),
            ..Self::default()
        }
    }
}

impl Failure {
    /// The message, else the type, else "error".
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_deref().or(self.error_type.as_deref()).unwrap_or("error")
    }

    /// Whether the operation was stopped from outside rather than failed. By the table in `semconv/cancellations.yaml`.
    #[must_use]
    pub fn is_cancellation(&self) -> bool {
        let is_one_of = |words: &[&str], said: &str| words.iter().any(|word| word.eq_ignore_ascii_case(said));
        let message = self.message.as_deref().unwrap_or_default().trim().trim_end_matches('.');
        let class = self.error_type.as_deref().map(str::trim);
        let is_known = match class.filter(|class| !is_one_of(PLAIN, class)) {
            Some(class) => is_one_of(CLASSES, class.rsplit(['.', ':', '$']).next().unwrap_or(class).trim()),
            None => {
                is_one_of(MESSAGES, message)
                    || message
                        .rsplit_once(':')
                        .is_some_and(|(_, reason)| is_one_of(MESSAGES, reason.trim()))
                    || is_printed(message)
            }
        };
        let has_timed_out = || {
            let message = message.to_lowercase();
            TIMEOUTS.iter().any(|words| message.contains(words))
        };
        is_known && !has_timed_out()
    }
}

/// Whether a message is a printed error of this kind: `CancelledError()`, `AbortError: This operation was aborted`.
fn is_printed(message: &str) -> bool {
    let class = message.split(['(', ':']).next().unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default().trim();
    let is_class = class.ends_with("Error") || class.ends_with("Exception") || class.ends_with("Interrupt");
    is_class && CLASSES.iter().any(|known| known.eq_ignore_ascii_case(class))
}

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
        assert!(is(None, "CancelledError('by the scope')") && is(None, "AbortError: This operation was aborted"));
        let of_go = "Post \"https://models.example/v1\": context canceled";
        assert!(is(Some("*url.Error"), of_go) && is(Some("*errors.errorString"), "context canceled"));
        let of_dotnet = "The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.";
        assert!(!is(Some("System.Threading.Tasks.TaskCanceledException"), of_dotnet));
        assert!(!is(Some("ValueError"), "cancelled") && !is(None, "the order was cancelled") && !is(None, ""));
    }
}

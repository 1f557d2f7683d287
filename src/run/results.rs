//! Results of tools.

use std::borrow::Cow;

use serde_json::Value;

use super::model::Step;
use crate::operation::{Failure, Message};

/// A result's text.
pub(super) fn result_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

/// The text of the result in a tool's answer.
pub(super) fn answer_text(answer: &Message) -> Cow<'_, str> {
    match &answer.result {
        Some(value) => result_text(value),
        None => answer.joined_text(),
    }
}

/// The value of a recorded result, null where none was recorded.
pub(super) fn result_of(step: &Step) -> Value {
    step.operation
        .tool
        .as_ref()
        .and_then(|tool| tool.result.clone())
        .unwrap_or(Value::Null)
}

/// Whether the answer that a model received from a failed tool has more than the failure: its words and others, or the failure
/// is only a type.
pub(super) fn has_more(answer: &Message, failure: &Failure) -> bool {
    let text = answer_text(answer);
    let recorded = text.trim();
    let message = failure.message.as_deref().unwrap_or_default().trim();
    let is_type = !message.contains(char::is_whitespace) && !message.eq_ignore_ascii_case("error");
    let words = without_class(message);
    let said = recorded.strip_prefix("Error: ").unwrap_or(recorded);
    let repeats = said == message || said == words;
    !recorded.is_empty() && !message.is_empty() && !repeats && (is_type || recorded.contains(words))
}

/// A failure's words without the class that OpenTelemetry's Python writes before them: `ToolRetryError: 1 validation error`.
pub(super) fn without_class(message: &str) -> &str {
    let is_class = |head: &str| {
        ["Error", "Exception", "Retry"]
            .iter()
            .any(|end| head.len() > end.len() && head.ends_with(end))
            && !head.contains(char::is_whitespace)
    };
    match message.split_once(": ") {
        Some((head, words)) if is_class(head) && !words.trim().is_empty() => words.trim(),
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Role;

    #[test]
    fn what_the_model_received_may_have_more_than_the_failure() {
        let failure = Failure {
            message: Some("ToolRetryError: 1 validation error".to_owned()),
            ..Failure::default()
        };
        let answer = |text: &str| Message::text(Role::Tool, text);
        assert!(has_more(&answer("1 validation error:\ncity: str\n\nFix the errors."), &failure));
        assert!(!has_more(&answer("1 validation error"), &failure));
        assert!(!has_more(&answer("Nothing of that."), &failure));
    }
}

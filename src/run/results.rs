//! Texts and values of tool results.

use std::borrow::Cow;

use serde_json::Value;

use super::arguments::same_value;
use super::model::Step;
use crate::dialect::{self, messages};
use crate::operation::message::Media;
use crate::operation::{Failure, Message};

/// A result's text.
pub(super) fn result_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

/// The text of a tool result in a message.
pub(super) fn answer_text(answer: &Message) -> Cow<'_, str> {
    match &answer.result {
        Some(value) => result_text(value),
        None => answer.joined_text(),
    }
}

/// A JSON text in this program's own formatting, since clients escape and indent differently.
pub(super) fn as_json(text: &str) -> Cow<'_, str> {
    match text
        .trim_start()
        .starts_with(['{', '['])
        .then(|| serde_json::from_str::<serde_json::Value>(text))
    {
        Some(Ok(value)) => value.to_string().into(),
        _ => text.into(),
    }
}

/// The recorded result, null if none was recorded.
pub(super) fn result_of(step: &Step) -> Value {
    step.operation
        .tool
        .as_ref()
        .and_then(|tool| tool.result.clone())
        .unwrap_or(Value::Null)
}

/// The result that a model received, if it differs from the tool's: an agent may shorten it, move it to a file, reformat it, or reword
/// an error.
pub(super) fn received_instead(answer: &Message, result: &Value, failure: Option<&Failure>) -> Option<Value> {
    let text = answer_text(answer);
    if text.trim().is_empty() && !answer.has_media() {
        return None;
    }
    // Every format writes a failure without a result like this.
    let error = failure.filter(|_| result.is_null()).and_then(|failure| failure.message.as_deref());
    if error.is_some_and(|error| text.strip_prefix("Error: ") == Some(error)) {
        return None;
    }
    let given = answer.result_value();
    if let Some(shown) = messages::result_with_media(result) {
        let urls = |message: &Message| -> Vec<Option<String>> { message.media().map(Media::url).collect() };
        let is_same = answer.joined_text().trim() == shown.joined_text().trim() && urls(answer) == urls(&shown);
        return (!is_same).then_some(given);
    }
    let is_same = |given: &Value| same_value(given, result) || result_text(given).trim() == result_text(result).trim();
    if is_same(&given) {
        return None;
    }
    let unwrapped = dialect::unwrapped_result(given.clone());
    // Gemini's API accepts only objects: clients wrap any other result in one.
    let around = unwrapped.as_object().filter(|map| map.len() == 1);
    let inside = around.and_then(|map| map.get("result").or_else(|| map.get("output")));
    if is_same(&unwrapped) || inside.is_some_and(is_same) {
        return None;
    }
    Some(if given.is_string() { given } else { unwrapped })
}

/// Whether a result is the beginning of another one, or some of its members.
pub(super) fn is_part(given: &Value, whole: &Value) -> bool {
    match (given, whole) {
        (Value::Object(some), Value::Object(all)) => some
            .iter()
            .all(|(key, value)| all.get(key).is_some_and(|whole| is_part(value, whole))),
        _ => given == whole || result_text(whole).starts_with(result_text(given).trim_end_matches(['.', '\u{2026}', ' '])),
    }
}

/// Whether the text that a model received from a failed tool says more than the failure: it contains the failure's text and
/// more, or the failure has only a type.
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

/// A failure's text without the class that OpenTelemetry's Python SDK prefixes: `ToolRetryError: 1 validation error`.
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

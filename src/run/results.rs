//! What a tool gave back.

use std::borrow::Cow;

use serde_json::Value;

use super::model::Step;
use crate::operation::Message;

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

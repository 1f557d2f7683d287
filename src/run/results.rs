//! What a tool gave back.

use serde_json::Value;

use super::model::Step;

/// A result's text.
pub(super) fn result_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
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

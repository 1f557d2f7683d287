//! Descriptions of values, for people.

use serde_json::Value;

/// A value's type, for people.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value for people: short texts and numbers unchanged, else its type.
pub(crate) fn shown(value: &Value) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    match value {
        Value::String(text) if text.chars().count() <= MAX_SHOWN_CHARS => value.to_string(),
        Value::String(_) => "a longer text".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => kind_of(other).to_owned(),
    }
}

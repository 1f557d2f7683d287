//! Converts values to the types that OpenInference gives their keys.

use opentelemetry::Value;

use crate::dialect::Codec;

/// The key that gives the MIME type of this one if its value is JSON.
pub(super) fn mime_type(target: &str, codec: Codec) -> Option<&'static str> {
    match (target, codec) {
        ("input.value", Codec::Json) => Some("input.mime_type"),
        ("output.value", Codec::Json) => Some("output.mime_type"),
        _ => None,
    }
}

/// Whether the value is the text of a JSON object or list.
pub(super) fn is_json(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.as_str().trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text.as_str()).is_ok()
        }
        _ => false,
    }
}

/// The value, converted to the type that OpenInference gives the key.
#[expect(clippy::cast_precision_loss, reason = "money and counts are far below 2^53")]
pub(super) fn typed(value: Value, codec: Codec) -> Value {
    let other = match (codec, &value) {
        (Codec::Int, Value::String(text)) => text.as_str().parse().ok().map(Value::I64),
        (Codec::Float, Value::I64(number)) => Some(Value::F64(*number as f64)),
        (Codec::Float, Value::String(text)) => text.as_str().parse().ok().map(Value::F64),
        (Codec::Text, Value::I64(_) | Value::F64(_) | Value::Bool(_)) => Some(value.to_string().into()),
        _ => None,
    };
    other.unwrap_or(value)
}

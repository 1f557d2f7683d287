//! Reads the content of a message.

use serde_json::Value;

use super::at::At;
use super::error::Result;
use crate::document::shape::kind_of;
use crate::operation::Part;

/// Text, or a list of parts, each read by `part`. Empty text yields no part.
///
/// # Errors
///
/// The value is neither, or `part` refuses one.
pub(in crate::formats) fn text_or_parts(at: &At<'_>, part: impl Fn(&At<'_>) -> Result<Part>) -> Result<Vec<Part>> {
    match at.value {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        Value::Array(_) => at.items()?.iter().map(part).collect(),
        other => Err(at.refuse(format!("text or a list of parts is wanted, found {}", kind_of(other)))),
    }
}

/// A result as a value. Text is parsed as JSON only if this program would write the value in the same way.
pub(in crate::formats) fn opened(text: impl Into<String>) -> Value {
    let text = text.into();
    let read = serde_json::from_str::<Value>(&text).ok();
    let read = read.filter(|read| (read.is_object() || read.is_array()) && is_written_so(read, &text));
    read.unwrap_or_else(|| text.into())
}

/// Whether this program writes a value as this text.
pub(in crate::formats) fn is_written_so(value: &Value, text: &str) -> bool {
    serde_json::to_string(value).is_ok_and(|written| written == text)
}

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

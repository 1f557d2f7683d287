//! Values that say nothing.

use serde_json::Value;

use crate::withheld::is_withheld;

/// Whether a value says nothing: null, empty text, or the text with which a client says that it left the value out.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || is_withheld(text),
        _ => false,
    }
}

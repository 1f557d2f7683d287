//! Recognizes values without content.

use serde_json::Value;

use crate::withheld::is_withheld;

/// Whether a value is null, empty text, or a client's placeholder for a value it left out.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || is_withheld(text),
        _ => false,
    }
}

//! Tells values with content from empty ones.

use crate::dialect::normalize;
use crate::span::AnyValue;

/// Whether a value is more than another way of writing nothing.
pub(in crate::dialect) fn has_content(value: &AnyValue) -> bool {
    match value {
        AnyValue::Empty => false,
        AnyValue::String(text) => !matches!(text.trim(), "" | "null" | "[]" | "{}") && !normalize::is_withheld(text),
        AnyValue::Array(items) => items.iter().any(has_content),
        AnyValue::KvList(pairs) => !pairs.is_empty(),
        AnyValue::Bytes(bytes) => !bytes.is_empty(),
        AnyValue::Double(number) => number.is_finite(),
        AnyValue::Bool(_) | AnyValue::Int(_) => true,
    }
}

/// Whether a value may be an operation's input or output: text of several words, a list or an object.
pub(in crate::dialect) fn may_be_words(value: &AnyValue) -> bool {
    match value {
        AnyValue::String(text) => {
            let text = text.trim();
            (text.contains(char::is_whitespace) || text.starts_with(['{', '['])) && has_content(value)
        }
        AnyValue::Array(_) | AnyValue::KvList(_) | AnyValue::Bytes(_) => has_content(value),
        _ => false,
    }
}

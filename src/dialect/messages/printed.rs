//! Recognizes texts that a program printed from a value.

use serde_json::Value;

use crate::dialect::mend::{self, Ends, Mended};
use crate::withheld::is_printed_object;

/// Parses JSON text, even if truncated.
pub(super) fn opened(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[', '"']);
    begins
        .then(|| mend::parse_noting(text, Ends::Marked, &mut Mended::default()).or_else(|| mend::several(text)))
        .flatten()
}

/// Whether a value printed by Python is more than text in brackets.
pub(super) fn contains_objects(printed: &Value) -> bool {
    printed.is_object()
        || printed
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// Whether a text is a printed Python tuple of strings, such as `('Hello',)`, the arguments of a completion call. People do not write this.
pub(super) fn is_tuple_of_texts(text: &str, printed: &Value) -> bool {
    let text = text.trim();
    let is_tuple =
        (text.starts_with("('") || text.starts_with("(\"")) && (text.ends_with(",)") || text.ends_with("')") || text.ends_with("\")"));
    let are_texts = |items: &Vec<Value>| !items.is_empty() && items.iter().all(Value::is_string);
    // Text in parentheses is not a tuple.
    is_tuple
        && printed.as_array().is_some_and(are_texts)
        && (text.ends_with(",)") || printed.as_array().is_some_and(|items| items.len() > 1))
}

/// Whether a text is an object printed by Python: `ChatMessage(role=..)`.
pub(super) fn is_repr(text: &str) -> bool {
    let text = text.trim();
    if is_printed_object(text) {
        return true;
    }
    let class = text.split('(').next().unwrap_or("");
    text.ends_with(')')
        && text.contains('=')
        && class.len() < text.len()
        && class.starts_with(|first: char| first.is_ascii_uppercase())
        && class.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !text.starts_with("ResponseFunctionToolCall(")
}

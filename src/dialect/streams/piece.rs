//! Helpers for combining the pieces of a stream.

use serde_json::{Map, Value};

/// Appends a piece of text to a member.
pub(super) fn append(to: &mut Map<String, Value>, key: &str, piece: &str) {
    match to.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => {
            let _ = to.insert(key.to_owned(), piece.into());
        }
    }
}

/// Sets the members of a later piece, ignoring nulls for members already set.
pub(super) fn update(to: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        if !value.is_null() || !to.contains_key(key) {
            let _ = to.insert(key.clone(), value.clone());
        }
    }
}

/// Parses assembled arguments; incomplete ones stay text.
pub(super) fn arguments(text: &str) -> Value {
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The index of a choice, block or item.
pub(super) fn number(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key).and_then(Value::as_u64)
}

pub(super) fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}

pub(super) fn object<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    map.get(key).and_then(Value::as_object)
}

//! Members of JSON objects.

use serde_json::{Map, Value};

/// The first of these members that is non-empty text.
pub(super) fn text(map: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| map.get(*key).and_then(Value::as_str))
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

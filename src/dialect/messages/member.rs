//! Members of JSON objects.
//!
//! A recorded message may have any of many members but has only a few, so iterating over these is faster than looking up every name.

use serde_json::{Map, Value};

/// The value of the first of these names whose value satisfies `is`.
pub(super) fn first<'a>(map: &'a Map<String, Value>, names: &[&str], is: impl Fn(&Value) -> bool) -> Option<&'a Value> {
    let place = |name: &String| names.iter().position(|wanted| wanted == name);
    let named = map.iter().filter_map(|(name, value)| Some((place(name)?, value)));
    let first = named.filter(|(_, value)| is(value)).min_by_key(|(place, _)| *place);
    first.map(|(_, value)| value)
}

/// Whether a member with one of these names exists.
pub(super) fn has_any(map: &Map<String, Value>, names: &[&str]) -> bool {
    map.keys().any(|name| names.contains(&name.as_str()))
}

/// The first of these members that is text, if it is not empty.
pub(super) fn text(map: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let text = first(map, names, Value::is_string)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

//! Members of JSON objects.
//!
//! A message or a block may have many members, and has a few: to look once at those that are there costs less than to look up all
//! names.

use serde_json::{Map, Value};

/// The first of these members that is there and is such a value.
pub(super) fn first<'a>(map: &'a Map<String, Value>, names: &[&str], is: impl Fn(&Value) -> bool) -> Option<&'a Value> {
    let place = |name: &String| names.iter().position(|wanted| wanted == name);
    let named = map.iter().filter_map(|(name, value)| Some((place(name)?, value)));
    let first = named.filter(|(_, value)| is(value)).min_by_key(|(place, _)| *place);
    first.map(|(_, value)| value)
}

/// The first of these members that is text, if it is not empty.
pub(super) fn text(map: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let text = first(map, names, Value::is_string)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

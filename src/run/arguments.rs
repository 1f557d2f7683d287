//! Compares the arguments of calls by their meaning.

use serde_json::{Map, Value};

use crate::hash::Members as _;

/// Whether two argument values are equal: members in any order, 1 equal to 1.0, JSON text equal to its value.
pub(super) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, value)| y.member(key).is_some_and(|other| same_value(value, other)))
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(value, other)| same_value(value, other)),
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::String(text), other @ (Value::Object(_) | Value::Array(_)))
        | (other @ (Value::Object(_) | Value::Array(_)), Value::String(text)) => {
            serde_json::from_str::<Value>(text).is_ok_and(|value| same_value(&value, other))
        }
        _ => a == b,
    }
}

/// How well a tool's recorded arguments fit those of a call: equal, a part of each other, unknown, or other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Other,
    Unknown,
    Part,
    Same,
}

pub(super) fn fit(tool: Option<&Value>, call: Option<&Value>) -> Fit {
    let empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    match (tool, call) {
        (None, None) => Fit::Same,
        (None, Some(call)) | (Some(call), None) => {
            if empty(call) {
                Fit::Same
            } else {
                Fit::Unknown
            }
        }
        (Some(tool), Some(call)) => {
            if same_value(tool, call) {
                return Fit::Same;
            }
            match (tool, call) {
                (tool, Value::Object(named)) if fit_by_position(tool, named) => Fit::Part,
                (Value::Object(x), Value::Object(y)) => {
                    let part = |small: &Map<String, Value>, large: &Map<String, Value>| {
                        !small.is_empty()
                            && small
                                .iter()
                                .all(|(key, value)| large.member(key).is_some_and(|other| same_value(value, other)))
                    };
                    if part(y, x) || part(x, y) { Fit::Part } else { Fit::Other }
                }
                // A client may record the bare value of a tool's only argument.
                (bare, Value::Object(map)) if map.len() == 1 => {
                    let text = |value: &Value| match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    if map.values().any(|value| same_value(bare, value) || text(bare) == text(value)) {
                        Fit::Part
                    } else {
                        Fit::Other
                    }
                }
                _ => Fit::Other,
            }
        }
    }
}

/// Whether positional arguments, as Python records them (`["Rome"]`, `{"args": ["Rome"], "kwargs": {}}`), have the named ones' values.
fn fit_by_position(tool: &Value, named: &Map<String, Value>) -> bool {
    let none = Map::new();
    let (positional, by_name) = match tool {
        Value::Array(items) => (items, &none),
        Value::Object(map) => match (map.member("args"), map.member("kwargs"), map.len()) {
            (Some(Value::Array(items)), Some(Value::Object(by_name)), 2) => (items, by_name),
            (Some(Value::Array(items)), None | Some(Value::Null), 1 | 2) => (items, &none),
            _ => return false,
        },
        _ => return false,
    };
    let in_order = named.iter().filter(|(name, _)| !by_name.has(name)).map(|(_, value)| value);
    // The names may have been sorted, so accept any order.
    let is_among = |item: &Value| named.values().take(MAX_REORDERED).any(|value| same_value(item, value));
    let fits = positional.iter().zip(in_order).all(|(one, other)| same_value(one, other))
        || positional.len() <= MAX_REORDERED && positional.iter().all(is_among);
    !positional.is_empty()
        && positional.len() + by_name.len() <= named.len()
        && fits
        && by_name
            .iter()
            .all(|(name, value)| named.member(name).is_some_and(|other| same_value(value, other)))
}

/// Whether arguments are recorded as positional `args` plus named `kwargs`.
pub(super) fn is_by_position(arguments: &Value) -> bool {
    let both = arguments.as_object().filter(|map| map.len() == 2);
    both.is_some_and(|map| map.member("args").is_some_and(Value::is_array) && map.member("kwargs").is_some_and(Value::is_object))
}

/// Maximum number of arguments compared in any order.
const MAX_REORDERED: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fits() {
        assert_eq!(fit(Some(&json!("Paris")), Some(&json!({"city": "Paris"}))), Fit::Part);
        assert_eq!(fit(Some(&json!({"b": 1.0, "a": 2})), Some(&json!({"a": 2, "b": 1}))), Fit::Same);
        assert_eq!(fit(Some(&json!({"a": 1})), Some(&json!({"a": 2}))), Fit::Other);
        assert_eq!(fit(None, Some(&json!({"a": 2}))), Fit::Unknown);
        let call = json!({"hotel": "B", "nights": 2});
        assert_eq!(fit(Some(&json!(["B", 2])), Some(&call)), Fit::Part);
        assert_eq!(fit(Some(&json!({"args": ["B"], "kwargs": {"nights": 2}})), Some(&call)), Fit::Part);
        assert_eq!(fit(Some(&json!(["C", 2])), Some(&call)), Fit::Other);
    }
}

//! When the arguments of two calls mean the same.

use serde_json::Value;

/// Whether two argument values are the same: members in any order, 1 and 1.0 alike, JSON text as its value.
pub(super) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, value)| y.get(key).is_some_and(|other| same_value(value, other)))
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
    let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
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
                (Value::Object(x), Value::Object(y)) => {
                    let part = |small: &serde_json::Map<String, Value>, large: &serde_json::Map<String, Value>| {
                        !small.is_empty()
                            && small
                                .iter()
                                .all(|(key, value)| large.get(key).is_some_and(|other| same_value(value, other)))
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
    }
}

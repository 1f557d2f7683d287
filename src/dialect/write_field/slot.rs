//! A value into a slot of an operation; whether it was of use.

use serde_json::{Map, Value};

use crate::dialect::normalize;

/// Adds the members whose names are new.
pub(super) fn add(to: &mut Map<String, Value>, members: Map<String, Value>) {
    if to.is_empty() {
        *to = members;
        return;
    }
    for (name, member) in members {
        let _ = to.entry(name).or_insert(member);
    }
}

pub(super) fn set(slot: &mut Option<Value>, value: Value) -> bool {
    *slot = Some(value);
    true
}

pub(super) fn text(slot: &mut Option<String>, value: &mut Value) -> bool {
    *slot = match value {
        Value::String(text) if !text.is_empty() => Some(std::mem::take(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    slot.is_some()
}

pub(super) fn count(slot: &mut Option<u64>, value: &Value) -> bool {
    let number = match value {
        Value::String(text) => normalize::integer(text),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates; counts are whole"
        )]
        Value::Number(number) => number
            .as_u64()
            .or_else(|| number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64))
            .map(Value::from),
        _ => None,
    };
    *slot = number.and_then(|number| number.as_u64());
    slot.is_some()
}

pub(super) fn number(slot: &mut Option<f64>, value: &Value) -> bool {
    *slot = value
        .as_f64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        .filter(|number| number.is_finite());
    slot.is_some()
}

pub(super) fn flag(slot: &mut Option<bool>, value: &Value) -> bool {
    *slot = value.as_bool();
    slot.is_some()
}

//! Writes a value to a slot of an operation; returns whether it could be used.

use serde_json::{Map, Value};

use super::lists::{documents, evaluations, tool_definitions};
use crate::dialect::normalize;
use crate::operation::{Evaluation, Slot};

/// Writes a value to a slot, converting it to the slot's type.
pub(super) fn write(slot: Slot<'_>, value: &mut Value) -> bool {
    match slot {
        Slot::Text(slot) => text(slot, value),
        Slot::Count(slot) => count(slot, value),
        Slot::Integer(slot) => {
            *slot = value.as_i64().or_else(|| value.as_str()?.parse().ok());
            slot.is_some()
        }
        Slot::Number(slot) => number(slot, value),
        Slot::Flag(slot) => {
            *slot = value.as_bool();
            slot.is_some()
        }
        Slot::Value(slot) => set(slot, std::mem::take(value)),
        Slot::Texts(list) => {
            let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            *list = texts.map(str::to_owned).collect();
            !list.is_empty()
        }
        Slot::Map(map) => match value {
            Value::Object(members) => {
                add(map, std::mem::take(members));
                true
            }
            _ => false,
        },
        Slot::Documents(list) => {
            *list = documents(value);
            list.is_some()
        }
        Slot::Tools(list) => {
            *list = tool_definitions(value);
            !list.is_empty()
        }
        Slot::Evaluations(list) => {
            Evaluation::add(list, evaluations(value));
            true
        }
        // Messages are read elsewhere.
        Slot::Recorded(_) | Slot::Conversation(_) | Slot::Messages(_) => false,
    }
}

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

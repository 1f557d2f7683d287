//! Facts that documents group (`usage`, `memory`, `prompt`): each fact once, with the name of its field, for writing and
//! reading.

use serde_json::Value;

use crate::document::json::{Json, Object};
use crate::operation::{FieldValue, Group, Slot};

/// A group of facts.
pub(crate) trait FactGroup: Group {
    /// Its facts, by name.
    fn facts(&self) -> Object<'_> {
        let mut out = Object::new();
        self.each(|name, value| {
            let value = to_json(value);
            if !value.is_null() {
                out.add(name, value);
            }
        });
        out
    }

    /// Reads one fact from a document. Returns whether it is one of these and has the right type.
    fn read_fact(&mut self, name: &str, value: &Value) -> bool {
        self.slot(name).is_some_and(|slot| read(slot, value))
    }

    /// Its facts, except empty lists and objects.
    fn filled_facts(&self) -> Object<'_> {
        let mut out = self.facts();
        out.retain(|_, value| !value.is_empty());
        out
    }

    /// Reads a document's object. Facts that the object lacks stay unchanged.
    fn read_facts(&mut self, said: &Value) {
        for (name, value) in said.as_object().into_iter().flatten() {
            self.read_fact(name, value);
        }
    }
}

impl<T: Group> FactGroup for T {}

/// A fact as written in documents.
pub(crate) fn to_json(value: FieldValue<'_>) -> Json<'_> {
    match value {
        FieldValue::Text(text) => text.into(),
        FieldValue::Count(count) => count.into(),
        FieldValue::Integer(number) => number.into(),
        FieldValue::Number(number) => number.into(),
        FieldValue::Flag(flag) => flag.into(),
        FieldValue::Texts(list) => list.into(),
        FieldValue::Value(value) => value.into(),
        FieldValue::Map(map) => map.into(),
        FieldValue::JsonText(_)
        | FieldValue::Messages(_)
        | FieldValue::Documents(_)
        | FieldValue::Tools(_)
        | FieldValue::Evaluations(_) => Json::Null,
    }
}

/// Reads a fact from a document. Returns whether it has the right type.
pub(crate) fn read(slot: Slot<'_>, value: &Value) -> bool {
    match slot {
        Slot::Text(slot) => put(slot, value.as_str().map(str::to_owned)),
        Slot::Count(slot) => put(slot, value.as_u64()),
        Slot::Integer(slot) => put(slot, value.as_i64()),
        Slot::Number(slot) => put(slot, value.as_f64()),
        Slot::Flag(slot) => put(slot, value.as_bool()),
        Slot::Value(slot) => put(slot, Some(value.clone())),
        Slot::Texts(list) => {
            let texts = value
                .as_array()
                .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
            let fits = texts.is_some();
            *list = texts.unwrap_or_else(|| std::mem::take(list));
            fits
        }
        Slot::Map(map) => match value {
            Value::Object(members) => {
                map.extend(members.iter().map(|(name, member)| (name.clone(), member.clone())));
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn put<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let fits = value.is_some();
    if fits {
        *slot = value;
    }
    fits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::operation::Memory;
    use crate::transcript::fact_groups::*;

    #[test]
    fn what_is_written_is_read() {
        let memory = Memory {
            key: Some("k".to_owned()),
            namespace: Some(json!(["a"])),
            changes: Some(json!({})),
            total_available: Some(-1),
            ..Memory::default()
        };
        let mut again = Memory::default();
        again.read_facts(&Json::from(memory.facts()).into());
        assert_eq!(again, memory);
        assert_eq!(memory.filled_facts().len(), 3);
        assert!(!again.read_fact("key", &json!(7)) && !again.read_fact("unknown", &json!("k")));
        assert_eq!(again, memory);
    }
}

//! What documents tell in groups (`usage`, `memory`, `prompt`): each fact once, with its name, for writing and for reading.
//!
//! A fact has the name of its field. A new field of one of these types does not compile until it stands in the list.

use serde_json::Value;

use crate::document::json::{Json, Object};
use crate::operation::{Cost, Evaluation, Interrupt, Memory, Prompt, ResourceImpact, StateChange, Task, TokenCount, Training};

/// Facts that stand together.
pub(crate) trait FactGroup {
    /// The names in order.
    const NAMES: &'static [&'static str];

    /// What it says, by name.
    fn facts(&self) -> Object<'_>;

    /// Takes one fact from a document. Whether it is one of these, of the type that it must have.
    fn read_fact(&mut self, name: &str, value: &Value) -> bool;

    /// What it says, but for empty lists and objects.
    fn filled_facts(&self) -> Object<'_> {
        let mut out = self.facts();
        out.retain(|_, value| !value.is_empty());
        out
    }

    /// Takes all that a document's object says. What was said before stays where this says nothing.
    fn read_facts(&mut self, said: &Value) {
        for (name, value) in said.as_object().into_iter().flatten() {
            self.read_fact(name, value);
        }
    }
}

/// The value of a fact.
trait FactValue: Sized {
    fn to_json(&self) -> Json<'_>;
    fn from_json(value: &Value) -> Option<Self>;
}

macro_rules! fact_values {
    ($($type:ty: $to_json:expr, $from_json:expr;)*) => {$(
        impl FactValue for $type {
            fn to_json(&self) -> Json<'_> {
                let to_json: fn(&$type) -> Json<'_> = $to_json;
                to_json(self)
            }

            fn from_json(value: &Value) -> Option<Self> {
                let from_json: fn(&Value) -> Option<$type> = $from_json;
                from_json(value)
            }
        }
    )*};
}

fact_values! {
    String: |text| text.into(), |value| value.as_str().map(str::to_owned);
    Value: |value| value.into(), |value| Some(value.clone());
    f64: |number| (*number).into(), Value::as_f64;
    u64: |count| (*count).into(), Value::as_u64;
    i64: |number| (*number).into(), Value::as_i64;
    bool: |flag| (*flag).into(), Value::as_bool;
}

fn read<T: FactValue>(slot: &mut Option<T>, value: &Value) -> bool {
    let read = T::from_json(value);
    let fits = read.is_some();
    if fits {
        *slot = read;
    }
    fits
}

macro_rules! fact_groups {
    ($($type:ident { $($name:ident),* $(,)? })*) => {$(
        impl FactGroup for $type {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            fn facts(&self) -> Object<'_> {
                let Self { $($name),* } = self;
                let mut out = Object::new();
                $(if let Some(value) = $name {
                    let value = FactValue::to_json(value);
                    if !value.is_null() {
                        out.add(stringify!($name), value);
                    }
                })*
                out
            }

            fn read_fact(&mut self, name: &str, value: &Value) -> bool {
                match name {
                    $(stringify!($name) => read(&mut self.$name, value),)*
                    _ => false,
                }
            }
        }
    )*};
}

fact_groups! {
    TokenCount { input, output, total, cache_read, cache_write, reasoning }
    Cost { total, input, output }
    Prompt { id, version, template, variables }
    Task { description, goal, input }
    ResourceImpact { amount, unit, breakdown }
    StateChange { key, old_value, new_value, reason }
    Interrupt { prompt, response, wait_ms }
    Memory {
        entity_type, entity_id, namespace, key, operation, data, changes, query, results, scores, total_available,
    }
    Training { reward, terminated, truncated, prompt_token_ids, completion_token_ids, logprobs, optimize, ideal, step }
    Evaluation { name, score, label, explanation, annotator_kind }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

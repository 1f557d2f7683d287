//! Reads a model's output that a document stores as one value next to other fields: the inverse of
//! `io::chat_and_reasoning`.

use serde_json::{Map, Value};

use crate::dialect::messages::{self, Direction};
use crate::operation::{Message, Operation, Part, Role};

/// Text, a chat message, or any other value.
pub(in crate::formats) fn read(output: Option<Value>, operation: &mut Operation) {
    match output {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) if text.is_empty() => {}
        Some(Value::String(text)) => operation.output_messages = Some(vec![Message::text(Role::Assistant, text)]),
        Some(value @ Value::Object(_)) => {
            let list = Value::from(vec![value]);
            operation.output_messages = messages::read(&list, Direction::Output);
            if operation.output_messages.is_none() {
                let value = list.as_array().and_then(|list| list.first()).cloned();
                operation.output = value.map(Into::into).unwrap_or_default();
            }
        }
        Some(other) => operation.output = other.into(),
    }
}

/// Reads the model's reasoning and other choices from the metadata next to its answer.
pub(in crate::formats) fn read_thoughts(facts: &mut Map<String, Value>, operation: &mut Operation) {
    let text = facts.shift_remove("reasoning").and_then(|text| text.as_str().map(str::to_owned));
    let opaque = facts.shift_remove("reasoning_opaque");
    let opaque = opaque.and_then(|list| list.as_array()?.first()?.as_object().cloned());
    if text.is_some() || opaque.is_some() {
        let thought = Part::Reasoning {
            text,
            opaque: opaque.unwrap_or_default(),
        };
        let list = operation.output_messages.get_or_insert_default();
        if list.is_empty() {
            list.push(Message {
                role: Role::Assistant,
                ..Message::default()
            });
        }
        if let Some(first) = list.first_mut() {
            first.parts.insert(0, thought);
        }
    }
    let others = facts.get("choices").and_then(|choices| messages::read(choices, Direction::Output));
    if let (Some(others), Some(list)) = (others, &mut operation.output_messages) {
        facts.shift_remove("choices");
        for (choice, mut other) in (1..).zip(others) {
            other.choice = choice;
            list.push(other);
        }
    }
}

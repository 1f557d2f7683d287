//! The system prompt outside the messages.

use serde_json::Value;

use super::parts;
use crate::dialect::mend;
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role};

/// The system prompt in a value: plain text, a list of parts, a message or an object with `parts`.
#[must_use]
pub fn system(value: &Value) -> Option<Message> {
    let mut message = Message {
        role: Role::System,
        ..Message::default()
    };
    match value {
        Value::String(text) => match mend::parse(text) {
            Some(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_))) => return system(&inner),
            None if mend::is_broken_answer(text) => return None,
            _ => message.parts.push(Part::Text(text.clone())),
        },
        Value::Array(items) => items.iter().for_each(|item| push_content(item, &mut message)),
        Value::Object(map) => {
            let inner = map.member("parts").or_else(|| map.member("content")).unwrap_or(value);
            match inner {
                Value::Array(items) => items.iter().for_each(|item| push_content(item, &mut message)),
                other => push_content(other, &mut message),
            }
        }
        _ => return None,
    }
    message.tool_calls.clear();
    (!message.is_blank()).then_some(message)
}

fn push_content(item: &Value, message: &mut Message) {
    if let Value::Object(map) = item
        && (map.has("role") || map.has("parts"))
        && let Some(inner) = map.member("content").or_else(|| map.member("parts"))
    {
        match inner {
            Value::Array(items) => items.iter().for_each(|part| push_content(part, message)),
            other => push_content(other, message),
        }
        return;
    }
    match parts::read(item) {
        parts::Piece::Part(part) => message.parts.push(part),
        parts::Piece::Nothing | parts::Piece::Call(_) | parts::Piece::Result(_) => {}
    }
}

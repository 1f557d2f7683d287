//! Messages whose parts stand in an event, in fixed places or in text with brackets.

use serde_json::{Map, Value};

use super::is_empty;
use crate::dialect::messages::{self, parse_deep};
use crate::dialect::normalize;
use crate::dialect::raw::{EventView, Group};
use crate::operation::{Message, Part, Role, ToolCall};
use crate::span::AnyValue;

/// `gen_ai.user.message` and its kin: role in the name, body or attributes the message.
pub(super) fn message_of_event(event: &EventView<'_>) -> Vec<Message> {
    let role = event
        .name
        .strip_prefix("gen_ai.")
        .and_then(|rest| rest.strip_suffix(".message"))
        .unwrap_or("assistant");
    let mut map: Map<String, Value> = match event.body.map(AnyValue::to_json) {
        Some(Value::Object(body)) => body,
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(body)) => body,
            _ => Map::from_iter([("content".to_owned(), Value::String(text))]),
        },
        _ => event.attributes.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
    };
    for value in map.values_mut() {
        if let Value::String(text) = value {
            *value = normalize::open_json(text);
        }
    }
    // A plain text as the message of a choice (strands).
    if let Some(text @ (Value::String(_) | Value::Array(_))) = map.get("message").cloned() {
        let _ = map.remove("message");
        let _ = map.insert("content".to_owned(), text);
    }
    let finish = map.get("finish_reason").cloned();
    if let Some(Value::Object(inner)) = map.get("message").cloned() {
        map = inner;
        if let Some(finish) = finish {
            let _ = map.entry("finish_reason".to_owned()).or_insert(finish);
        }
    }
    let _ = map.entry("role".to_owned()).or_insert_with(|| role.into());
    let has_content = map
        .keys()
        .any(|key| matches!(key.as_str(), "content" | "tool_calls" | "parts" | "contents"));
    let mut messages = messages::from_object_public(&map);
    if !has_content && role != "tool" {
        messages.retain(|message| !message.is_blank());
    }
    messages
}

/// `ai.response.text`, `.toolCalls`, `.reasoning`, `.object` as one message.
pub(super) fn vercel_output(group: Group<'_>) -> Option<Message> {
    let get = |name: &str| group.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value.to_json());
    let mut message = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    for name in ["reasoning", "reasoningText"] {
        if let Some(Value::String(text)) = get(name)
            && !text.is_empty()
        {
            message.parts.push(Part::Reasoning {
                text: Some(text),
                opaque: Map::new(),
            });
            break;
        }
    }
    if let Some(Value::String(text)) = get("text").filter(|value| !is_empty(value)).or_else(|| get("object")) {
        message.parts.push(Part::Text(text));
    }
    if let Some(calls) = get("toolCalls") {
        let list = parse_deep(calls);
        if let Value::Array(items) = &list {
            let chat = Map::from_iter([
                ("role".to_owned(), "assistant".into()),
                ("tool_calls".to_owned(), Value::Array(items.clone())),
            ]);
            let read: Vec<ToolCall> = messages::from_object_public(&chat)
                .into_iter()
                .flat_map(|message| message.tool_calls)
                .collect();
            message.tool_calls = read;
        }
    }
    (!message.is_blank()).then_some(message)
}

/// A title line, then `["..", ".."]` with inner quotes not escaped: texts without roles.
pub(super) fn bracketed_texts(body: &str, role: &Role) -> Option<Vec<Message>> {
    let (_, list) = body.split_once('\n')?;
    let inside = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let inside = inside.strip_prefix('"').unwrap_or(inside);
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    Some(inside.split("\", \"").map(|text| Message::text(role.clone(), text)).collect())
}

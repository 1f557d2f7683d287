//! Finds the text of a question or an answer in a step's recorded values.

use serde_json::Value;

use super::own_words::{self, in_messages};
use crate::dialect::messages::{self, Direction};
use crate::operation::Role;
use crate::run::model::Step;

pub(super) fn words_of(step: &Step, direction: Direction) -> Option<Value> {
    let operation = &step.operation;
    let (value, list) = match direction {
        Direction::Input => (operation.input.get(), operation.input_messages.as_deref()),
        Direction::Output => (operation.output.get(), operation.output_messages.as_deref()),
    };
    value
        .and_then(|value| in_value(value, direction))
        .or_else(|| in_messages(list?, direction).map(Value::String))
}

/// The text in a recorded value: the last message of the right role, a member named for it, or the value itself if it is text.
fn in_value(value: &Value, direction: Direction) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.trim().is_empty()).then(|| value.clone()),
        Value::Array(items) if items.is_empty() => None,
        Value::Object(map) => {
            let names: &[&str] = match direction {
                Direction::Input => &[
                    "input",
                    "question",
                    "query",
                    "user_prompt",
                    "prompt",
                    "task",
                    "text",
                    "user_input",
                    "message",
                ],
                Direction::Output => &[
                    "output",
                    "answer",
                    "final_output",
                    "result",
                    "response",
                    "text",
                    "content",
                    "raw",
                    "final_result",
                    "output_text",
                ],
            };
            if let Some(inner) = messages::inside_envelope(map, direction) {
                return in_value(inner, direction);
            }
            // CrewAI records the answer next to the messages that led to it, which also contain its work.
            if let (Direction::Output, Some(words)) = (direction, own_words::raw_answer(map)) {
                return Some(Value::String(words.to_owned()));
            }
            if map.get("messages").is_some()
                || map.contains_key("role")
                || map.contains_key("parts")
                || map.contains_key("choices")
                || map.contains_key("generations")
            {
                let list = messages::read(value, direction)?;
                return in_messages(&list, direction)
                    .map(Value::String)
                    .or_else(|| list.iter().all(|message| message.role == Role::Tool).then(|| value.clone()));
            }
            if direction == Direction::Input
                && let Some(words) = own_words::argument(map)
            {
                return Some(Value::String(words));
            }
            let named = names.iter().find_map(|name| map.get(*name)).filter(|inner| !inner.is_null());
            let named = named.filter(|_| direction == Direction::Output || !own_words::has_more_words(map));
            match named {
                Some(Value::String(text)) if !text.trim().is_empty() => Some(Value::String(text.clone())),
                Some(inner @ (Value::Object(_) | Value::Array(_))) => in_value(inner, direction).or_else(|| Some(value.clone())),
                _ if direction == Direction::Input && own_words::is_setup(map) => None,
                _ => (!map.is_empty()).then(|| value.clone()),
            }
        }
        Value::Array(items) => {
            if items.iter().all(Value::is_string) && direction == Direction::Input {
                return items.last().cloned();
            }
            match messages::read(value, direction) {
                Some(list) => in_messages(&list, direction).map(Value::String),
                None => Some(value.clone()),
            }
        }
        other => Some(other.clone()),
    }
}

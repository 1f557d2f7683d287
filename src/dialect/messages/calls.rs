//! Tool calls of every recorded shape.

use serde_json::{Map, Value};

use super::{parts, text};
use crate::operation::{Message, ToolCall, ToolCallId};

/// Reads a list of calls: native, or JSON text of one.
pub(super) fn each(list: &Value, mut take: impl FnMut(ToolCall)) {
    match list {
        Value::Array(items) => items.iter().filter_map(read).for_each(&mut take),
        Value::Object(_) => read(list).into_iter().for_each(&mut take),
        Value::String(text) => {
            if let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str::<Value>(text) {
                each(&inner, take);
            }
        }
        _ => {}
    }
}

/// One call: `{id, function: {name, arguments}}`, `{id, name, args}`, `{toolCallId, toolName, input}`, and so on.
pub(super) fn read(value: &Value) -> Option<ToolCall> {
    let map = match value {
        Value::Object(map) => map,
        Value::String(text) => return read(&serde_json::from_str::<Value>(text).ok().filter(Value::is_object)?),
        _ => return None,
    };
    for wrapper in ["tool_call", "toolCall", "toolUse", "functionCall", "function_call", "toolRequest"] {
        if let Some(inner @ Value::Object(_)) = map.get(wrapper) {
            let mut call = read(inner)?;
            call.id = call.id.or_else(|| id(map).map(ToolCallId::Recorded));
            return Some(call);
        }
    }
    if let Some(Value::Object(function)) = map.get("function") {
        let name = text(function, &["name"])?;
        let answered = map.get("answer").and_then(answer);
        return Some(ToolCall {
            answered,
            ..of(id(map), name, arguments(function))
        });
    }
    let name = text(map, &["name", "toolName", "tool_name"])?;
    Some(of(id(map), name, arguments(map)))
}

/// The answer of a tool that the provider ran, as `dialect::write` puts it beside the call.
fn answer(value: &Value) -> Option<Box<Message>> {
    match parts::read(&parse_deep(value.clone())) {
        parts::Piece::Result(answer) => Some(answer),
        _ => None,
    }
}

fn id(map: &Map<String, Value>) -> Option<String> {
    text(map, &["call_id", "callId", "toolCallId", "tool_call_id", "toolUseId", "ref", "id"])
}

fn arguments(map: &Map<String, Value>) -> Option<&Value> {
    ["arguments", "args", "input", "tool_kwargs", "parameters"]
        .into_iter()
        .find_map(|key| map.get(key))
}

/// A call with arguments as recorded: an object, or text of one, quoted once or more.
pub(super) fn of(id: Option<String>, name: String, arguments: Option<&Value>) -> ToolCall {
    match arguments {
        Some(Value::String(text)) => of_written(id, name, text),
        other => ToolCall {
            id: id.map(ToolCallId::Recorded),
            name,
            arguments: other.filter(|value| !value.is_null()).cloned(),
            arguments_text: None,
            answered: None,
        },
    }
}

/// A call with arguments as the model wrote them. That is JSON, also where it is a bare number.
pub(super) fn of_written(id: Option<String>, name: String, text: &str) -> ToolCall {
    let written = serde_json::from_str(text).unwrap_or_else(|_| {
        let one = first_of_several(text);
        one.unwrap_or_else(|| Value::String(text.to_owned()))
    });
    ToolCall {
        id: id.map(ToolCallId::Recorded),
        name,
        arguments: Some(parse_deep(written)).filter(|value| !value.is_null() && value.as_str() != Some("")),
        arguments_text: Some(text.to_owned()),
        answered: None,
    }
}

/// The first of several objects that stand one after the other: a client put parallel calls into one (BeeAI). The others
/// are told by the next request.
fn first_of_several(text: &str) -> Option<Value> {
    let several: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    let several = several
        .ok()
        .filter(|values| values.len() > 1 && values.iter().all(Value::is_object))?;
    several.into_iter().next()
}

/// JSON text opened until it is no text of JSON any more; other values as they are.
pub(crate) fn parse_deep(value: Value) -> Value {
    let mut current = value;
    // Seen: twice. The bound keeps hostile input cheap.
    for _ in 0..4 {
        let Value::String(text) = &current else { break };
        match text.trim_start().as_bytes().first() {
            Some(b'{' | b'[' | b'"') => {}
            _ => break,
        }
        match serde_json::from_str::<Value>(text) {
            Ok(inner) => current = inner,
            Err(_) => break,
        }
    }
    current
}

//! Reads tool calls in every recorded shape.

use serde_json::{Map, Value};

use super::arguments::{self, parse_deep};
use super::member::{first, has_any, text};
use super::parts;
use crate::dialect::mend;
use crate::hash::Members as _;
use crate::operation::{Message, ToolCall, ToolCallId};

/// Keys for the tool of a call.
const NAMES: &[&str] = &["name", "toolName", "tool_name", "tool.name", "tool_function"];

/// Keys for arguments if nothing else marks an object as a call.
const BARE_ARGUMENTS: &[&str] = &["tool_arguments", "tool_args", "tool.args", "tool_input"];

/// Whether an object without a role or a type is a call by its members: `{tool_id, tool_name, tool_arguments}` (Monocle),
/// `{tool.name, tool.args}` (any-agent), `{toolCallId, toolName, input}` (the output of Vercel's calls in exports of Langfuse).
pub(super) fn is_bare(map: &Map<String, Value>) -> bool {
    let is_named = has_any(map, &["tool_name", "tool.name", "tool_function"]) && has_any(map, BARE_ARGUMENTS);
    let is_vercels = map.has("toolCallId") && map.has("toolName") && has_any(map, &["input", "args"]);
    (is_named || is_vercels) && !has_any(map, &["role", "type", "content", "result", "output", "tool_output", "tool_result"])
}

/// Whether an object is the result of a call by its members: `{call_id, output}` (Monocle).
pub(super) fn is_bare_result(map: &Map<String, Value>) -> bool {
    map.len() == 2 && map.member("call_id").is_some_and(Value::is_string) && map.member("output").is_some_and(Value::is_string)
}

/// Reads a list of calls, native or as JSON text.
pub(super) fn each(list: &Value, mut take: impl FnMut(ToolCall)) {
    match list {
        Value::Array(items) => items.iter().filter_map(read).for_each(&mut take),
        Value::Object(_) => read(list).into_iter().for_each(&mut take),
        Value::String(text) => {
            if let Some(inner @ (Value::Array(_) | Value::Object(_))) = mend::parse(text) {
                each(&inner, take);
            }
        }
        _ => {}
    }
}

/// The calls of a list, or of its JSON text.
pub(in crate::dialect) fn of_list(list: &Value) -> Vec<ToolCall> {
    let mut out = Vec::new();
    each(list, |call| out.push(call));
    out
}

/// One call: `{id, function: {name, arguments}}`, `{id, name, args}`, `{toolCallId, toolName, input}`, and so on.
pub(super) fn read(value: &Value) -> Option<ToolCall> {
    match value {
        Value::Object(map) => of_object(map),
        Value::String(text) => of_object(mend::parse(text)?.as_object()?),
        _ => None,
    }
}

/// Reads a call that is an object.
pub(super) fn of_object(map: &Map<String, Value>) -> Option<ToolCall> {
    let wrappers = ["tool_call", "toolCall", "toolUse", "functionCall", "function_call", "toolRequest"];
    if let Some(inner) = first(map, &wrappers, Value::is_object) {
        let mut call = read(inner)?;
        call.id = call.id.or_else(|| id(map).map(ToolCallId::Recorded));
        return Some(call);
    }
    // The call as the content of its part: {type: tool_call, content: {type: function_call, id, name, arguments}} (Azure).
    if let Some(Value::Object(inner)) = map.member("content")
        && !has_any(map, NAMES)
        && (inner.member("function").is_some_and(Value::is_object) || has_any(inner, NAMES))
    {
        let mut call = of_object(inner)?;
        call.id = call.id.or_else(|| id(map).map(ToolCallId::Recorded));
        return Some(call);
    }
    if let Some(Value::Object(function)) = map.member("function") {
        let name = text(function, &["name"]).or_else(|| is_nameless(function, map).then(String::new))?;
        let answered = map.member("answer").and_then(answer);
        return Some(ToolCall {
            answered,
            ..arguments::call(id(map), name, arguments_of(function))
        });
    }
    // A provider's own tool is named after its kind: {id, type: bing_grounding, bing_grounding: {..}}.
    if let Some(kind) = text(map, &["type"])
        && let Some(arguments @ Value::Object(_)) = map.get(&kind)
        && let Some(id) = id(map)
    {
        return Some(arguments::call(Some(id), kind, Some(arguments)));
    }
    let name = text(map, NAMES).or_else(|| is_nameless(map, map).then(String::new))?;
    Some(arguments::call(id(map), name, arguments_of(map)))
}

/// Whether a call has an id but an empty name, which the tool's own span may know.
fn is_nameless(named: &Map<String, Value>, call: &Map<String, Value>) -> bool {
    named.member("name").and_then(Value::as_str) == Some("") && id(call).is_some()
}

/// The calls that a client wrote as JSON in place of a tool's result.
pub(super) fn written_as_result(text: &str) -> Option<Vec<ToolCall>> {
    if !text.trim_start().starts_with('[') || !text.contains("\"function\"") || !text.contains("\"arguments\"") {
        return None;
    }
    let items: Vec<Value> = serde_json::from_str(text).ok()?;
    let is_call = |item: &Value| {
        let function = || item.member("function")?.member("arguments")?.as_str();
        item.member("type").and_then(Value::as_str) == Some("function")
            && item.member("id").is_some_and(Value::is_string)
            && function().is_some()
    };
    (!items.is_empty() && items.iter().all(is_call)).then(|| items.iter().filter_map(read).collect())
}

/// The result of a tool that the provider ran, as `dialect::write` stores it with the call.
fn answer(value: &Value) -> Option<Box<Message>> {
    match parts::read(&parse_deep(value.clone())) {
        parts::Piece::Result(answer) => Some(answer),
        _ => None,
    }
}

fn id(map: &Map<String, Value>) -> Option<String> {
    text(
        map,
        &[
            "call_id",
            "callId",
            "toolCallId",
            "tool_call_id",
            "toolUseId",
            "tool_id",
            "ref",
            "id",
        ],
    )
}

fn arguments_of(map: &Map<String, Value>) -> Option<&Value> {
    let more = ["arguments", "args", "input", "tool_kwargs", "parameters"];
    first(map, &more, |_| true).or_else(|| first(map, BARE_ARGUMENTS, |_| true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::dialect::messages::{Direction, read};
    use crate::operation::Role;

    /// The role, the words and the tools of each message.
    fn said(value: &serde_json::Value, direction: Direction) -> Vec<(Role, String, Vec<String>)> {
        let messages = read(value, direction).unwrap_or_default();
        let tools = |message: &crate::operation::Message| message.tool_calls.iter().map(|call| call.name.clone()).collect();
        messages
            .iter()
            .map(|message| (message.role.clone(), message.content(), tools(message)))
            .collect()
    }

    #[test]
    fn calls_alone_are_what_a_model_said() {
        let call = json!([{"toolCallId": "c1", "toolName": "weather", "input": "{\"city\": \"Oslo\"}"}]);
        let asked = [(Role::Assistant, String::new(), vec!["weather".to_owned()])];
        assert_eq!(said(&call, Direction::Output), asked);
        let result = json!([{"toolCallId": "c1", "toolName": "weather", "input": {}, "output": "3C"}]);
        assert_ne!(said(&result, Direction::Output), asked);
    }

    #[test]
    fn an_event_in_a_list_is_its_body() {
        let asked = json!([{"role": "system", "gen_ai.event.content": "{\"content\": \"Be brief\"}", "gen_ai.system": "openai"},
            {"role": "user", "gen_ai.event.content": "{\"role\": \"user\", \"content\": \"Weather?\", \"tool_calls\": []}"}]);
        assert_eq!(
            said(&asked, Direction::Input),
            [
                (Role::System, "Be brief".to_owned(), vec![]),
                (Role::User, "Weather?".to_owned(), vec![])
            ]
        );
        let body = json!({"index": 0, "message": {"role": "Assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]}, "finish_reason": "ToolCalls"});
        let answer = json!([{"role": "assistant", "gen_ai.event.content": body.to_string()}]);
        assert_eq!(
            said(&answer, Direction::Output),
            [(Role::Assistant, String::new(), vec!["weather".to_owned()])]
        );
    }
}

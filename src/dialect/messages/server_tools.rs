//! Server tools, which the provider runs while the model answers: items of OpenAI's Responses, OTel GenAI's `server_tool_call`, Gemini's
//! code. One item contains the call and its result.

use serde_json::{Map, Value};

use super::member::text;
use super::{arguments, calls, parts};
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role, ToolCall};

/// Whether a Responses API item of this type is a call: of a tool that the provider runs, or of a tool other than a function that the
/// caller runs (a computer, a shell).
pub(super) fn is_call_item(kind: &str) -> bool {
    kind.strip_suffix("_call").is_some_and(|tool| {
        matches!(
            tool,
            "web_search"
                | "file_search"
                | "code_interpreter"
                | "image_generation"
                | "mcp"
                | "computer"
                | "local_shell"
                | "shell"
                | "apply_patch"
        )
    })
}

/// An item of the Responses API.
pub(super) fn item(kind: &str, map: &Map<String, Value>) -> Option<ToolCall> {
    let tool = kind.strip_suffix("_call").unwrap_or(kind);
    let name = text(map, &["name"]).unwrap_or_else(|| tool.to_owned());
    Some(call(text(map, &["call_id", "id"]), name, map))
}

/// Reads OTel GenAI's part, whose payload is the item without its id and name.
pub(super) fn part(map: &Map<String, Value>) -> Option<ToolCall> {
    let name = text(map, &["name"]);
    match map.member("server_tool_call") {
        Some(Value::Object(payload)) => {
            let name = name.or_else(|| text(payload, &["name", "type"]))?;
            Some(call(text(map, &["id"]), name, payload))
        }
        _ => calls::of_object(map),
    }
}

/// Members about the call that are not arguments.
const ABOUT: &[&str] = &[
    "id",
    "call_id",
    "type",
    "status",
    "name",
    "role",
    "server_label",
    "container_id",
    "approval_request_id",
    "arguments",
    "action",
    "input",
];

/// Members that hold the result, in order of preference.
const OUTCOME: &[&str] = &["error", "output", "outputs", "results", "result"];

fn call(id: Option<String>, name: String, map: &Map<String, Value>) -> ToolCall {
    let given = ["arguments", "action", "input"]
        .iter()
        .find_map(|key| map.member(key).filter(|value| !value.is_null()));
    let mut action = given.cloned();
    let sources = match &mut action {
        Some(Value::Object(action)) => action.remove("sources"),
        _ => None,
    };
    let given_arguments = action.unwrap_or_else(|| {
        let own = map
            .iter()
            .filter(|(key, value)| !ABOUT.contains(&key.as_str()) && !OUTCOME.contains(&key.as_str()) && !value.is_null());
        Value::Object(own.map(|(key, value)| (key.clone(), value.clone())).collect())
    });
    let mut call = arguments::call(id, name, Some(&given_arguments));
    call.answered = outcome(map, sources).map(|mut answer| {
        answer.tool_call_id = call.id.as_deref().map(str::to_owned);
        answer.name = Some(call.name.clone());
        Box::new(answer)
    });
    call
}

/// The result: the item's output, the sources of a search, or else how the call ended.
fn outcome(map: &Map<String, Value>, sources: Option<Value>) -> Option<Message> {
    let mut answer = Message {
        role: Role::Tool,
        ..Message::default()
    };
    let status = map.member("status").and_then(Value::as_str);
    answer.is_error = status == Some("failed") || map.member("error").is_some_and(|error| !error.is_null());
    let recorded = OUTCOME.iter().find_map(|key| map.member(key).filter(|value| !value.is_null()));
    match (recorded, sources, status) {
        (Some(Value::Array(items)), ..) => match logs(items) {
            Some(logs) => answer.parts.push(Part::Text(logs)),
            None => answer.result = Some(Value::Array(items.clone()).into()),
        },
        (Some(Value::Object(error)), ..) if answer.is_error => {
            let words = text(error, &["message", "content"]).unwrap_or_else(|| Value::Object(error.clone()).to_string());
            answer.parts.push(Part::Text(words));
        }
        (Some(value), ..) => parts::set_result(&mut answer, value),
        (None, Some(sources), _) => answer.result = Some(sources.into()),
        // A function's item has a status too, but the caller runs the function.
        (None, None, Some(status @ ("completed" | "failed"))) if !map.has("call_id") => {
            answer.result = Some(serde_json::json!({"status": status}).into());
        }
        (None, None, _) => return None,
    }
    Some(answer)
}

/// The text printed by a code interpreter, if its outputs are nothing else.
fn logs(items: &[Value]) -> Option<String> {
    let words = |item: &Value| match item.member("type").and_then(Value::as_str) {
        Some("logs") => item.member("logs").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let texts: Option<Vec<String>> = items.iter().map(words).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.concat())
}

/// Reads Gemini's code, which the provider runs.
pub(super) fn code(map: &Map<String, Value>) -> Option<ToolCall> {
    let inner = ["executableCode", "executable_code"].iter().find_map(|key| map.member(key))?;
    let code = inner.as_object()?;
    let mut code_arguments = code.clone();
    let _ = code_arguments.remove("id");
    Some(arguments::call(
        text(code, &["id"]),
        "code_execution".to_owned(),
        Some(&Value::Object(code_arguments)),
    ))
}

/// Reads the result of Gemini's code.
pub(super) fn code_result(map: &Map<String, Value>) -> Message {
    let outcome = text(map, &["outcome"]).unwrap_or_default();
    Message {
        role: Role::Tool,
        tool_call_id: text(map, &["id"]),
        parts: vec![Part::Text(text(map, &["output"]).unwrap_or_default())],
        is_error: !(outcome.is_empty() || outcome.ends_with("OK") || outcome == "1"),
        ..Message::default()
    }
}

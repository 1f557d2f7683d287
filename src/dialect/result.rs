//! Removes a client's wrapping from a tool's result.

use serde_json::{Map, Value};

use super::constructor;
use super::messages::{self, parse_deep};
use super::python;
use crate::hash::Members as _;
use crate::operation::has_nothing;
use crate::operation::message::joined;

/// A result, and facts from its wrapping.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    pub(super) value: Value,
    pub(super) call_id: Option<String>,
    pub(super) is_error: bool,
}

/// Unwraps LangChain's tool messages, content lists of MCP and Bedrock, Gemini's function responses, and JSON in text.
pub(super) fn unwrap(value: Value) -> Unwrapped {
    let mut out = Unwrapped {
        value: parse_deep(value),
        ..Unwrapped::default()
    };
    // Bounded to keep hostile nesting cheap; two levels occur in practice.
    for _ in 0..4 {
        let value = std::mem::take(&mut out.value);
        match step(&value, &mut out) {
            Some(inner) => out.value = parse_deep(inner),
            None => {
                out.value = value;
                break;
            }
        }
    }
    out.value = constructor::open(out.value);
    out
}

/// Whether a value is a client's wrapping of a result.
pub(super) fn is_wrapped(value: &Value) -> bool {
    step(value, &mut Unwrapped::default()).is_some()
}

fn step(value: &Value, facts: &mut Unwrapped) -> Option<Value> {
    match value {
        Value::Object(map) => object(map, facts),
        // LangChain's tool message as printed by Python.
        Value::String(text) if text.contains("tool_call_id=") => match python::read(text)? {
            Value::Object(map) if map.has("content") || is_command(&map) => object(&map, facts),
            _ => None,
        },
        Value::String(text) if is_printed_result(text) => match python::read(text)? {
            Value::Object(map) => printed_result(&map, facts),
            // Only MCP's content.
            Value::Array(blocks) => blocks.iter().all(Value::is_object).then_some(Value::Array(blocks)),
            _ => None,
        },
        Value::Array(items) => {
            if let Some(value) = messages::json_block(items) {
                return Some(value.clone());
            }
            let texts: Option<Vec<&str>> = items.iter().map(text_block).collect();
            match (texts, items.as_slice()) {
                (Some(texts), [_, ..]) => Some(Value::String(joined(texts, "\n"))),
                (None, [Value::Object(only)]) => {
                    // A list of one LangChain tool message or one wrapped response.
                    object(only, facts)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether Python printed a tool result of MCP, AgentScope or Agno, by its class or as the fields of a pydantic model, or only MCP's
/// content.
fn is_printed_result(text: &str) -> bool {
    const CLASSES: [&str; 5] = ["CallToolResult(", "ToolResponse(", "ToolResult(", "TextContent(", "[TextContent("];
    let is_class = || CLASSES.iter().any(|class| text.starts_with(class)) && text.ends_with([')', ']']);
    let is_model =
        || (text.starts_with("meta=") || text.starts_with("content=[")) && (text.contains(" isError=") || text.contains(" is_error="));
    is_class() || is_model()
}

/// The part of a printed result that the model receives.
fn printed_result(map: &Map<String, Value>, facts: &mut Unwrapped) -> Option<Value> {
    let flag = ["isError", "is_error"]
        .iter()
        .find_map(|key| map.member(key).and_then(Value::as_bool));
    match map.member("content") {
        Some(content @ Value::Array(_)) => {
            facts.is_error |= flag == Some(true);
            Some(mcp_result(map, content))
        }
        // Agno's, if it has only text.
        Some(content @ Value::String(_)) => {
            let is_nothing = |(key, value): (&String, &Value)| matches!(key.as_str(), "content" | "type") || value.is_null();
            map.iter().all(is_nothing).then(|| content.clone())
        }
        _ => text_block(&Value::Object(map.clone())).map(Value::from),
    }
}

/// The text of `{type: text, text}` (MCP, Anthropic), `{type: input_text, text}` (OpenAI), `{kind: text, text}` (A2A) or `{text}`
/// (Bedrock). Notes next to it never reach a model: an id (LangChain), or where a cache ends (OpenHands).
fn text_block(item: &Value) -> Option<&str> {
    let map = item.as_object()?;
    let is_text = |kind: &Value| matches!(kind.as_str(), Some("text" | "input_text" | "output_text"));
    let (kind, block) = (map.member("type").or_else(|| map.member("kind")), map.member("block_type"));
    let is_typed = kind.or(block).is_some_and(is_text);
    let is_note = |(key, value): (&String, &Value)| match key.as_str() {
        "type" | "kind" | "block_type" | "text" | "annotations" | "_meta" | "meta" | "cache_control" | "citations" => true,
        "id" | "index" | "extras" | "providerMetadata" | "providerOptions" | "cache_prompt" | "cacheControl" => is_typed,
        _ => is_typed && has_nothing(value),
    };
    let is_block = kind.is_none_or(is_text) && map.iter().all(is_note);
    map.member("text").and_then(Value::as_str).filter(|_| is_block)
}

/// MCP's structured data, next to the content blocks or alone.
fn structured(map: &Map<String, Value>) -> Option<&Value> {
    let data = map.member("structuredContent").or_else(|| map.member("structured_content"));
    data.filter(|data| !has_nothing(data))
}

/// An MCP server's result: the content blocks, the data if there are no blocks, or both if they differ.
fn mcp_result(map: &Map<String, Value>, blocks: &Value) -> Value {
    let Some(data) = structured(map) else {
        return blocks.clone();
    };
    let said = parse_deep(match step(blocks, &mut Unwrapped::default()) {
        Some(said) => said,
        None => blocks.clone(),
    });
    if has_nothing(&said) || said.as_str().is_some_and(|text| text.trim().is_empty()) {
        return data.clone();
    }
    // A server wraps data that is not an object in one.
    let only = data.as_object().filter(|map| map.len() == 1).and_then(|map| map.member("result"));
    let is_same = |data: &Value| *data == said || data.as_str().is_some_and(|text| said.as_str() == Some(text)) || is_printed(data, &said);
    if is_same(data) || only.is_some_and(is_same) {
        return blocks.clone();
    }
    Value::Object(Map::from_iter([
        ("content".to_owned(), said),
        ("structuredContent".to_owned(), data.clone()),
    ]))
}

/// Whether a text is the printed form of a number or boolean.
fn is_printed(data: &Value, said: &Value) -> bool {
    let is_scalar = matches!(data, Value::Number(_) | Value::Bool(_));
    is_scalar
        && said
            .as_str()
            .is_some_and(|text| text.trim().eq_ignore_ascii_case(&data.to_string()))
}

/// Whether a result has nothing but blocks and MCP's data; AgentScope's further members are the state of a stream.
fn is_all_content(map: &Map<String, Value>) -> bool {
    let is_streamed = map.has("is_last");
    map.iter().all(|(key, value)| match key.as_str() {
        "content" | "structuredContent" | "structured_content" => true,
        "stream" | "is_last" | "is_interrupted" | "id" => is_streamed,
        _ => value.is_null(),
    })
}

/// Whether this is LangGraph's Command as printed by Python, without its unset members.
fn is_command(map: &Map<String, Value>) -> bool {
    map.member("type").is_some_and(|class| class == "Command") && map.has("update")
}

fn object(map: &Map<String, Value>, facts: &mut Unwrapped) -> Option<Value> {
    // LangChain: {lc, kwargs}, {type: tool, data}, or the tool message itself.
    let inner = map
        .member("kwargs")
        .filter(|_| map.has("lc"))
        .or_else(|| map.member("data").filter(|_| map.member("type").is_some_and(|kind| kind == "tool")));
    let inner = inner.and_then(Value::as_object).unwrap_or(map);
    if inner.has("tool_call_id") && inner.has("content") {
        facts.call_id = inner
            .member("tool_call_id")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .or_else(|| facts.call_id.take());
        facts.is_error |= inner.member("status").and_then(Value::as_str) == Some("error");
        return inner.member("content").cloned();
    }
    // A dump from which the client removed the call's id (OpenLLMetry).
    if map.has("lc") && inner.member("type").is_some_and(|kind| kind == "tool") && inner.has("content") {
        facts.is_error |= inner.member("status").and_then(Value::as_str) == Some("error");
        return inner.member("content").cloned();
    }
    // LangChain's dump of an object that it cannot dump.
    if let Some(Value::String(printed)) = map.member("repr").filter(|_| map.has("lc"))
        && printed.contains("tool_call_id=")
    {
        return Some(Value::String(printed.clone()));
    }
    // LlamaIndex's ToolOutput.
    if let (Some(blocks @ Value::Array(_)), Some(Value::String(_))) = (map.member("blocks"), map.member("tool_name")) {
        facts.is_error |= map.member("is_error").and_then(Value::as_bool) == Some(true);
        return Some(blocks.clone());
    }
    // LangGraph's Command: the model receives the last message of its update.
    if (inner.has("graph") || is_command(inner))
        && let Some(Value::Array(list)) = inner.member("update").and_then(|update| update.member("messages"))
        && let Some(Value::Object(last)) = list.last()
    {
        let mut of_last = Unwrapped::default();
        let content = object(last, &mut of_last)?;
        let is_tool = last
            .member("kwargs")
            .unwrap_or(&Value::Null)
            .member("type")
            .is_some_and(|kind| kind == "tool");
        if of_last.call_id.is_none() && !is_tool {
            return None;
        }
        facts.call_id = of_last.call_id.or_else(|| facts.call_id.take());
        facts.is_error |= of_last.is_error;
        return Some(content);
    }
    // The output that LangChain's callbacks pass at the end of a tool, with the callback's own arguments (OpenLLMetry, LangSmith).
    let of_callback = map
        .member("kwargs")
        .is_none_or(|beside| ["color", "tags"].iter().any(|name| beside.get(*name).is_some()));
    if let Some(output) = map.member("output")
        && of_callback
        && map.keys().all(|key| matches!(key.as_str(), "output" | "kwargs"))
    {
        let is_message = match output {
            Value::Object(message) => ["tool_call_id", "kwargs", "graph", "repr"]
                .iter()
                .any(|key| message.contains_key(*key)),
            Value::String(text) => map.len() > 1 || text.contains("tool_call_id="),
            _ => false,
        };
        if is_message {
            return Some(output.clone());
        }
    }
    // MCP CallToolResult.
    if let Some(content @ Value::Array(_)) = map.member("content")
        && (map.has("isError") || map.has("is_error"))
    {
        facts.is_error |= ["isError", "is_error"]
            .iter()
            .any(|key| map.member(key).and_then(Value::as_bool) == Some(true));
        return Some(mcp_result(map, content));
    }
    // The same without its flag (LangSmith on the Claude Agent SDK), or AgentScope's.
    if let Some(content @ Value::Array(blocks)) = map.member("content")
        && is_all_content(map)
        && (!blocks.is_empty() || structured(map).is_some())
        && blocks
            .iter()
            .all(|block| block.member("type").is_some() && text_block(block).is_some())
    {
        return Some(mcp_result(map, content));
    }
    // Gemini: {functionResponse: {id, name, response}}.
    if let Some(Value::Object(response)) = map.member("functionResponse").or_else(|| map.member("function_response")) {
        facts.call_id = response
            .member("id")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .or_else(|| facts.call_id.take());
        return response.member("response").cloned();
    }
    // Only the response (OpenInference on ADK).
    let of_response = |key: &String| matches!(key.as_str(), "id" | "name" | "response" | "will_continue" | "scheduling" | "parts");
    if let (Some(Value::String(id)), Some(Value::String(_)), Some(response)) =
        (map.member("id"), map.member("name"), map.member("response"))
        && map.keys().all(of_response)
    {
        facts.call_id = Some(id.clone());
        return Some(response.clone());
    }
    // OTel GenAI: a message with one tool_call_response.
    if let Some(Value::Array(parts)) = map.member("parts")
        && let [Value::Object(part)] = parts.as_slice()
    {
        // Or with the text of the result (Azure).
        let words = || {
            part.member("content")
                .filter(|words| words.is_string() && map.member("role").is_some_and(|role| role == "tool"))
        };
        return part.member("response").or_else(|| part.member("result")).or_else(words).cloned();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn langchain_tool_message() {
        let out = unwrap(serde_json::json!({"type": "tool", "data": {"content": "18C", "tool_call_id": "call_1", "status": "error"}}));
        assert_eq!(
            (out.value, out.call_id.as_deref(), out.is_error),
            (Value::from("18C"), Some("call_1"), true)
        );
    }

    #[test]
    fn content_lists() {
        assert_eq!(
            unwrap(serde_json::json!({"content": [{"type": "text", "text": "5"}], "isError": false})).value,
            Value::from("5")
        );
        assert_eq!(unwrap(serde_json::json!([{"text": "a"}, {"text": "b"}])).value, Value::from("a\nb"));
        let printed = unwrap("ToolResponse(content=[{'type': 'text', 'text': '18C'}], metadata=None, stream=False, id='7')".into());
        assert_eq!((printed.value, printed.is_error), (Value::from("18C"), false));
        let printed = unwrap("CallToolResult(meta=None, content=[TextContent(type='text', text='no', annotations=None, meta=None)], structuredContent=None, isError=True)".into());
        assert_eq!((printed.value, printed.is_error), (Value::from("no"), true));
        let model = |flag: &str| {
            format!(
                "meta=None content=[TextContent(type='text', text='18C', annotations=None, meta=None)] structuredContent=None isError={flag}"
            )
        };
        for (text, is_error) in [
            (model("False"), false),
            (model("True"), true),
            ("[TextContent(type='text', text='18C', annotations=None)]".to_owned(), false),
            ("TextContent(type='text', text='18C', annotations=None)".to_owned(), false),
            ("ToolResult(content='18C', images=None, videos=None)".to_owned(), false),
        ] {
            let out = unwrap(text.clone().into());
            assert_eq!((out.value, out.is_error), (Value::from("18C"), is_error), "{text}");
        }
        let kept = "ToolResult(content='18C', images=['a.png'])";
        assert_eq!(unwrap(kept.into()).value, Value::from(kept), "nothing is lost");
        let said = "meta=1 and content=[a] are no isError=True";
        assert_eq!(unwrap(said.into()).value, Value::from(said), "words");
        let dump = serde_json::json!({"content": [{"type": "text", "text": "18C"}], "metadata": null, "stream": false, "is_last": true, "id": "7"});
        assert_eq!(unwrap(dump).value, Value::from("18C"));
        let own = serde_json::json!({"content": [{"type": "text", "text": "18C"}], "metadata": {"station": 7}});
        assert_eq!(unwrap(own.clone()).value, own, "a tool's own data");
        assert_eq!(unwrap(serde_json::json!("\"quoted\"")).value, Value::from("quoted"));
        let output = serde_json::json!({"blocks": [{"block_type": "text", "text": "18C"}], "tool_name": "get_weather", "is_error": false});
        assert_eq!(unwrap(output).value, Value::from("18C"));
        let dump = serde_json::json!({"output": {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": "18C", "type": "tool", "name": "get_weather", "status": "success"}}});
        assert_eq!(unwrap(dump).value, Value::from("18C"));
        let message = |status: &str| serde_json::json!({"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": "18C", "type": "tool", "name": "get_weather", "tool_call_id": "c1", "status": status}});
        let beside = serde_json::json!({"tags": ["seq:step:1"], "color": "green", "name": "get_weather"});
        let ended = unwrap(serde_json::json!({"output": message("error"), "kwargs": beside}));
        assert_eq!(
            (ended.value, ended.call_id.as_deref(), ended.is_error),
            (Value::from("18C"), Some("c1"), true)
        );
        let command = serde_json::json!({"graph": "__parent__", "update": {"messages": [message("success")]}, "goto": "bob"});
        assert_eq!(
            unwrap(serde_json::json!({"output": command, "kwargs": beside})).value,
            Value::from("18C")
        );
        assert_eq!(
            unwrap(serde_json::json!({"output": "18C", "kwargs": beside})).value,
            Value::from("18C")
        );
        let printed = "Command(update={'messages': [ToolMessage(content='18C', name='get_weather', tool_call_id='c1')]}, goto='bob')";
        let dump = serde_json::json!({"lc": 1, "type": "not_implemented", "id": ["langgraph", "types", "Command"], "repr": printed});
        for value in [
            printed.into(),
            serde_json::json!({"output": printed}),
            serde_json::json!({"output": dump}),
        ] {
            let out = unwrap(value);
            assert_eq!((out.value, out.call_id.as_deref()), (Value::from("18C"), Some("c1")));
        }
        let own = serde_json::json!({"output": "18C", "kwargs": {"city": "Oslo"}});
        assert_eq!(unwrap(own.clone()).value, own, "a tool's own words");
        let response = serde_json::json!({"id": "adk-1", "name": "get_time", "response": {"result": "12:00"}});
        let out = unwrap(response);
        assert_eq!(
            (out.value, out.call_id.as_deref()),
            (serde_json::json!({"result": "12:00"}), Some("adk-1"))
        );
        assert_eq!(unwrap(serde_json::json!({"a": [1]})).value, serde_json::json!({"a": [1]}));
    }
}

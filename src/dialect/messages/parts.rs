//! Reads content blocks in every recorded shape: text, thought, tool call, tool result, media.
//!
//! This file, `calls` and `server_tools` depend on one another because values nest: a block may be a call, a call may contain its result,
//! and a result consists of blocks.

use serde_json::{Map, Value};

use super::block::is_block;
use super::media::media;
use super::member::{first, text};
use super::{calls, server_tools};
use crate::dialect::{mend, python};
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role, ToolCall};

/// The content of one block.
pub(super) enum Piece {
    /// Content.
    Part(Part),
    /// A request to run a tool.
    Call(ToolCall),
    /// A tool's result.
    Result(Box<Message>),
    /// An empty block.
    Nothing,
}

/// Members that hold a call.
const CALL_WRAPPERS: [&str; 5] = ["tool_call", "toolUse", "functionCall", "function_call", "toolRequest"];
/// Members that hold a tool's result.
const RESULT_WRAPPERS: [&str; 5] = [
    "functionResponse",
    "function_response",
    "toolResult",
    "toolResponse",
    "tool_call_result",
];

/// Content blocks printed by Python as a list of dictionaries or objects: `[{'type': 'text', ..}]`, `[TextContent(type='text', ..)]`.
pub(super) fn printed_blocks(text: &str) -> Option<Vec<Value>> {
    let begins = ["[{'type': '", "[TextContent(type='", "[TextBlock("];
    let start = text.trim_start();
    if !begins.iter().any(|begin| start.starts_with(begin)) {
        return None;
    }
    match python::literal(text).or_else(|| python::read(text)) {
        Some(Value::Array(items)) if !items.is_empty() && items.iter().all(is_block) => Some(items),
        _ => None,
    }
}

/// The AI SDK's `{type, value}` for a tool's result, as JSON text (OpenInference's processor).
pub(super) fn written_output(text: &str) -> Option<Value> {
    let value: Value = text
        .starts_with("{\"type\":\"")
        .then(|| serde_json::from_str(text).ok())
        .flatten()?;
    let kind = value.member("type").and_then(Value::as_str);
    let is_output = matches!(kind, Some("text" | "json" | "error-text" | "error-json" | "content")) && value.member("value").is_some();
    (is_output && value.as_object().is_some_and(|members| members.len() == 2)).then_some(value)
}

/// Reads one block.
pub(super) fn read(value: &Value) -> Piece {
    let map = match value {
        Value::Object(map) => map,
        Value::String(text) => return Piece::Part(Part::Text(text.clone())),
        Value::Null => return Piece::Nothing,
        other => return Piece::Part(Part::Other(other.clone())),
    };
    of_object(map)
}

/// Reads a block that is an object.
pub(super) fn of_object(map: &Map<String, Value>) -> Piece {
    match map.member("message_content") {
        Some(Value::Object(inner)) => read_inner(inner, map),
        _ => read_inner(map, map),
    }
}

fn read_inner(map: &Map<String, Value>, outer: &Map<String, Value>) -> Piece {
    if first(outer, &CALL_WRAPPERS, Value::is_object).is_some() {
        return calls::of_object(outer).map_or(Piece::Nothing, Piece::Call);
    }
    if let Some(Value::Object(inner)) = first(map, &RESULT_WRAPPERS, Value::is_object) {
        let mut message = result(inner);
        if message.tool_call_id.is_none() {
            message.tool_call_id = text(map, &["id"]);
        }
        return Piece::Result(Box::new(message));
    }
    if let Some(inner) = map.member("reasoningContent") {
        let text = inner
            .pointer("/reasoningText/text")
            .or_else(|| inner.member("text"))
            .and_then(Value::as_str);
        return thought(text.map(str::to_owned), map);
    }
    // Haystack: {reasoning: {reasoning_text}}.
    if map.len() == 1
        && let Some(Value::Object(inner)) = map.member("reasoning")
    {
        return thought(thought_text(inner), inner);
    }
    let kind = map
        .member("type")
        .or_else(|| map.member("block_type"))
        .and_then(Value::as_str)
        .unwrap_or("");
    if let Some(cited) = map.member("citationsContent") {
        return cited_words(cited);
    }
    match kind {
        // Bedrock blocks that Strands converts to OpenTelemetry's form: the member's name becomes the type, next to the content.
        "reasoningContent" => {
            let content = map.member("content").cloned().unwrap_or_default();
            read(&Value::Object(Map::from_iter([(kind.to_owned(), content)])))
        }
        "citationsContent" => map.member("content").map_or(Piece::Nothing, cited_words),
        // Marks where a cache may end; not content.
        "cachePoint" => Piece::Nothing,
        "server_tool_call" => server_tools::part(map).map_or(Piece::Nothing, Piece::Call),
        "text" | "input_text" | "output_text" | "summary_text" | "TextContent" | "TextBlock" => spoken(map),
        "ReasoningContent" | "ThinkingBlock" | "reasoning" | "thinking" | "redacted_thinking" | "reasoning_content" | "reasoning_text"
        | "thought" => thought(thought_text(map), map),
        // Content without a part of its own, recorded by .NET as the class and its members.
        "Microsoft.Extensions.AI.TextReasoningContent" => {
            let inner = map.member("content").and_then(Value::as_object).unwrap_or(map);
            thought(thought_text(inner), inner)
        }
        "tool_call" | "tool_use" | "tool-call" | "function_call" | "toolUse" | "server_tool_use" | "mcp_tool_use" | "custom_tool_call"
        | "ToolCall" | "toolCall" | "ToolCallBlock" => calls::of_object(map).map_or(Piece::Nothing, Piece::Call),
        kind if server_tools::is_call_item(kind) => server_tools::item(kind, map).map_or(Piece::Nothing, Piece::Call),
        "tool_call_response"
        | "ToolCallResult"
        | "tool_result"
        | "tool-result"
        | "function_result"
        | "function_call_output"
        | "toolResult"
        | "server_tool_call_response"
        | "tool_response" => Piece::Result(Box::new(result(map))),
        "function" if map.member("function").is_some_and(Value::is_object) => calls::of_object(map).map_or(Piece::Nothing, Piece::Call),
        kind if kind.ends_with("_tool_result") || kind.ends_with("_call_output") => Piece::Result(Box::new(result(map))),
        // Replaces earlier turns; not content.
        "compaction" => thought(None, &Map::from_iter([("data".to_owned(), Value::Object(map.clone()))])),
        "refusal" => text(map, &["refusal", "content", "text"]).map_or(Piece::Nothing, |words| Piece::Part(Part::Text(words))),
        "" => untyped(map),
        "input_audio" | "audio" | "output_audio" if transcript(map).is_some() => {
            transcript(map).map_or(Piece::Nothing, |words| Piece::Part(Part::Text(words)))
        }
        "image_url" | "image" | "input_image" | "input_audio" | "output_audio" | "audio" | "video" | "document" | "file" | "input_file"
        | "blob" | "uri" | "image-data" | "image-url" | "file-data" | "file-url" | "media" => Piece::Part(media(kind, map).into()),
        // A file from an MCP server; one of text has its text.
        "resource" if map.member("resource").is_some_and(|inner| inner.member("blob").is_some()) => Piece::Part(media("file", map).into()),
        _ => Piece::Part(Part::Other(Value::Object(map.clone()))),
    }
}

/// The text of Bedrock's `{content: [{text}, ..], citations}`, which is one text in pieces.
fn cited_words(cited: &Value) -> Piece {
    let pieces = cited.member("content").and_then(Value::as_array).into_iter().flatten();
    let words: String = pieces.filter_map(|piece| piece.member("text").and_then(Value::as_str)).collect();
    if words.is_empty() {
        Piece::Part(Part::Other(cited.clone()))
    } else {
        Piece::Part(Part::Text(words))
    }
}

/// The transcript of audio, next to the bytes or one level down.
pub(super) fn transcript(map: &Map<String, Value>) -> Option<String> {
    let holders = ["audio", "input_audio", "output_audio"];
    let inner = holders.iter().find_map(|key| map.member(key).and_then(Value::as_object));
    text(map, &["transcript", "audio.transcript"]).or_else(|| text(inner?, &["transcript", "audio.transcript"]))
}

fn untyped(map: &Map<String, Value>) -> Piece {
    if map.values().all(|value| value.as_str() == Some("")) {
        return Piece::Nothing;
    }
    if map.member("thought").and_then(Value::as_bool) == Some(true) {
        return thought(text(map, &["text"]), map);
    }
    if map.has("text") {
        return spoken(map);
    }
    if let Some(call) = server_tools::code(map) {
        return Piece::Call(call);
    }
    for wrapper in ["codeExecutionResult", "code_execution_result"] {
        if let Some(Value::Object(inner)) = map.get(wrapper) {
            return Piece::Result(Box::new(server_tools::code_result(inner)));
        }
    }
    if map.has("name") && (map.has("args") || map.has("arguments")) {
        return calls::of_object(map).map_or(Piece::Nothing, Piece::Call);
    }
    for (key, modality) in [
        ("inlineData", "inline_data"),
        ("inline_data", "inline_data"),
        ("fileData", "file"),
        ("file_data", "file"),
        ("image", "image"),
        ("video", "video"),
        ("document", "document"),
        ("media", "inline_data"),
    ] {
        if let Some(Value::Object(inner)) = map.member(key) {
            let mut found = media(modality, inner);
            found.raw = Value::Object(map.clone());
            return Piece::Part(found.into());
        }
    }
    if let Some(Value::String(content)) = map.member("content") {
        return Piece::Part(Part::Text(content.clone()));
    }
    if map.is_empty() {
        Piece::Nothing
    } else {
        Piece::Part(Part::Other(Value::Object(map.clone())))
    }
}

fn spoken(map: &Map<String, Value>) -> Piece {
    let words = first(map, &["text", "content", "input_text", "output_text"], |_| true);
    match words {
        Some(Value::String(text)) => written(text).unwrap_or_else(|| Piece::Part(Part::Text(text.clone()))),
        None | Some(Value::Null) => Piece::Nothing,
        Some(Value::Object(inner)) if inner.is_empty() => Piece::Nothing,
        // An answer parsed by the framework is in the text's value (Genkit).
        Some(Value::Object(inner)) => {
            let words = text(inner, &["value", "text"]).or_else(|| (!inner.has("value")).then(|| Value::Object(inner.clone()).to_string()));
            words.map_or(Piece::Nothing, |words| Piece::Part(Part::Text(words)))
        }
        Some(other) => Piece::Part(Part::Text(other.to_string())),
    }
}

/// A provider's thought or call block, or a call's result, written by a client as text.
pub(super) fn written(text: &str) -> Option<Piece> {
    if !text.starts_with('{') {
        return None;
    }
    let printed = || text.starts_with("{'").then(|| python::literal(text)).flatten();
    let Some(Value::Object(map)) = mend::parse(text).or_else(printed) else {
        return None;
    };
    if calls::is_bare(&map) {
        return calls::of_object(&map).map(Piece::Call);
    }
    let has = |keys: &[&str]| keys.iter().all(|key| map.member(key).is_some());
    let known = match map.member("type").and_then(Value::as_str)? {
        "thinking" => has(&["thinking", "signature"]),
        "redacted_thinking" => has(&["data"]),
        "output_text" => has(&["text", "annotations"]),
        "reasoning" => has(&["id", "summary"]),
        "tool_use" => has(&["id", "name", "input"]) || has(&["toolUseId", "name", "input"]),
        "function_call" => has(&["call_id", "name", "arguments"]),
        "function_call_output" => has(&["call_id", "output"]),
        "tool_result" => has(&["tool_use_id", "content"]),
        _ => false,
    };
    known.then(|| read_inner(&map, &map))
}

fn thought_text(map: &Map<String, Value>) -> Option<String> {
    if let Some(words) = text(map, &["text", "thinking", "reasoning", "reasoning_content", "reasoning_text"]) {
        return Some(words);
    }
    for key in ["content", "summary"] {
        match map.member(key) {
            Some(Value::String(words)) if !words.is_empty() => return Some(words.clone()),
            Some(Value::Array(items)) => {
                let words: Vec<String> = items
                    .iter()
                    .filter_map(|item| match item {
                        Value::String(words) => Some(words.clone()),
                        Value::Object(inner) => text(inner, &["text", "content"]),
                        _ => None,
                    })
                    .collect();
                if !words.is_empty() {
                    return Some(words.join("\n"));
                }
            }
            _ => {}
        }
    }
    None
}

fn thought(words: Option<String>, map: &Map<String, Value>) -> Piece {
    let mut opaque = Map::new();
    for key in [
        "id",
        "signature",
        "data",
        "encrypted_content",
        "encryptedContent",
        "thoughtSignature",
        "redactedData",
        "reasoningEncryptedContent",
        "itemId",
        "protectedData",
    ] {
        if let Some(value) = map.member(key)
            && !value.is_null()
        {
            let _ = opaque.insert(key.to_owned(), value.clone());
        }
    }
    // Vercel AI SDK: by provider, next to the text.
    let beside = ["providerOptions", "providerMetadata", "provider_metadata"];
    let providers = beside.iter().filter_map(|key| map.member(key).and_then(Value::as_object));
    for (key, value) in providers.flat_map(Map::values).filter_map(Value::as_object).flatten() {
        let is_opaque = matches!(
            key.as_str(),
            "signature" | "redactedData" | "thoughtSignature" | "reasoningEncryptedContent" | "encryptedContent" | "itemId"
        );
        if is_opaque && !value.is_null() {
            let _ = opaque.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let words = words.filter(|words| !words.is_empty());
    if words.is_none() && opaque.is_empty() {
        return Piece::Nothing;
    }
    Piece::Part(Part::Reasoning { text: words, opaque })
}

/// Reads a tool's result: `{id, response}`, `{tool_use_id, content}`, `{toolCallId, output: {type, value}}`, and so on.
fn result(map: &Map<String, Value>) -> Message {
    // The result as the content of its part: {type: tool_call_output, content: {type: function_call_output, id, output}} (Azure).
    if let Some(Value::Object(inner)) = map.member("content")
        && inner.has("output")
        && inner
            .member("type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.ends_with("_output"))
    {
        let mut message = result(inner);
        message.tool_call_id = message.tool_call_id.or_else(|| text(map, &["tool_call_id", "call_id", "id"]));
        return message;
    }
    let mut message = Message {
        role: Role::Tool,
        ..Message::default()
    };
    message.tool_call_id = text(
        map,
        &[
            "tool_call_id",
            "tool_use_id",
            "toolCallId",
            "toolUseId",
            "call_id",
            "callId",
            "ref",
            "id",
        ],
    );
    message.name = text(map, &["name", "toolName", "tool_name"]);
    // Haystack: the result contains the call itself.
    if let Some(Value::Object(origin)) = map.member("origin") {
        message.tool_call_id = message.tool_call_id.or_else(|| text(origin, &["id"]));
        message.name = message.name.or_else(|| text(origin, &["tool_name"]));
    }
    message.is_error = map.member("is_error").and_then(Value::as_bool) == Some(true)
        || map.member("error").and_then(Value::as_bool) == Some(true)
        || map.member("isError").and_then(Value::as_bool) == Some(true)
        || map.member("status").and_then(Value::as_str) == Some("error");
    let answers = ["response", "result", "output", "content", "value", "server_tool_call_response"];
    let Some(value) = first(map, &answers, |value| !value.is_null()) else {
        return message;
    };
    set_result(&mut message, value);
    message.is_error |= value
        .member("type")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("_error"));
    message
}

pub(super) fn set_result(message: &mut Message, value: &Value) {
    match value {
        Value::String(text) => match printed_blocks(text) {
            Some(blocks) => set_result(message, &Value::Array(blocks)),
            None => message.parts.push(Part::Text(text.clone())),
        },
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| is_block(item) || item.is_string()) => {
            for item in items {
                match read(item) {
                    Piece::Part(part) => message.parts.push(part),
                    Piece::Result(_) | Piece::Call(_) => message.parts.push(Part::Other(item.clone())),
                    Piece::Nothing => {}
                }
            }
        }
        Value::Array(items) if json_block(items).is_some() => message.result = json_block(items).cloned().map(Into::into),
        // Vercel's {type: text|json|error-text, value: v}
        Value::Object(inner) if inner.len() == 2 && inner.has("type") && inner.has("value") => {
            if inner
                .member("type")
                .and_then(Value::as_str)
                .is_some_and(|kind| kind.starts_with("error"))
            {
                message.is_error = true;
            }
            if let Some(value) = inner.member("value") {
                set_result(message, value);
            }
        }
        other => message.result = Some(other.clone().into()),
    }
}

/// The value of the only block of a result, if it has Bedrock's form `{json: v}`.
pub(in crate::dialect) fn json_block(items: &[Value]) -> Option<&Value> {
    let [Value::Object(only)] = items else { return None };
    only.member("json").filter(|_| only.len() == 1)
}

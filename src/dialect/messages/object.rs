//! Reads one recorded message object: its role, content and calls.

use serde_json::{Map, Value};

use super::builder::Builder;
use super::direction::Direction;
use super::member::{first, text};
use super::{arguments, calls, classes, media, parts};
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role, ToolCall, has_nothing};

/// Converts one recorded message object; tool results in it become separate messages.
pub(super) fn from_object(map: &Map<String, Value>, direction: Direction) -> Option<Vec<Message>> {
    if let Some(Value::Object(inner)) = map.member("message")
        && !map.has("content")
    {
        let mut out = from_object(inner, direction)?;
        if let (Some(last), Some(reason)) = (out.last_mut(), text(map, &["finish_reason", "finishReason"])) {
            last.finish_reason.get_or_insert(reason);
        }
        return Some(out);
    }
    if let Some(messages) = classes::read(map) {
        return Some(messages);
    }
    if map.has("lc")
        && let Some(Value::Object(kwargs)) = map.member("kwargs")
    {
        let mut inner = kwargs.clone();
        if !inner.has("type")
            && let Some(Value::String(class)) = map.member("id").and_then(Value::as_array).and_then(|path| path.last())
        {
            let _ = inner.insert("type".to_owned(), class.as_str().into());
        }
        return from_object(&inner, direction);
    }
    if let (Some(Value::String(kind)), Some(Value::Object(data))) = (map.member("type"), map.member("data"))
        && role_of_type(kind).is_some()
    {
        let mut inner = data.clone();
        let _ = inner.insert("type".to_owned(), kind.as_str().into());
        return from_object(&inner, direction);
    }
    if let Some(spoken) = under_its_role(map) {
        return from_object(&spoken, direction);
    }
    let role = role_of(map, direction)?;
    Some(build(map, role))
}

/// Reads a message whose only member is named after its role, `{"user": "Hello"}`, `{"assistant": [calls]}`, `{"tools": [calls]}`, or a
/// lone call (Monocle).
fn under_its_role(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    let message = |role: &str, member: &str, value: Value| {
        let role = ("role".to_owned(), Value::from(role));
        Some(Map::from_iter([role, (member.to_owned(), value)]))
    };
    if calls::is_bare(map) {
        return message("assistant", "tool_calls", Value::Array(vec![Value::Object(map.clone())]));
    }
    if calls::is_bare_result(map) {
        let content = ("content".to_owned(), map.member("output").cloned().unwrap_or_default());
        let id = ("tool_call_id".to_owned(), map.member("call_id").cloned().unwrap_or_default());
        return Some(Map::from_iter([("role".to_owned(), Value::from("tool")), id, content]));
    }
    let mut members = map.iter();
    let ((name, value), None) = (members.next()?, members.next()) else {
        return None;
    };
    let is_call = |item: &Value| item.as_object().is_some_and(calls::is_bare);
    let are_calls = value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(is_call));
    match name.as_str() {
        "tools" | "assistant" | "ai" if are_calls => message("assistant", "tool_calls", value.clone()),
        "system" | "user" | "human" | "assistant" | "ai" | "tool" if value.is_string() || value.is_array() => {
            message(name, "content", value.clone())
        }
        // Gemini's role name for the model; alone, it may also be the key of the model's name.
        "model"
            if value
                .as_str()
                .is_some_and(|text| text.contains([' ', '\n']) || text.ends_with(['.', '!', '?'])) =>
        {
            message("assistant", "content", value.clone())
        }
        _ => None,
    }
}

fn role_of(map: &Map<String, Value>, direction: Direction) -> Option<Role> {
    if let Some(Value::String(word)) = map.member("role").or_else(|| map.member("_role")) {
        let role = Role::from_recorded(word);
        return Some(if role == Role::User && is_of_framework(map) {
            Role::System
        } else {
            role
        });
    }
    if let Some(Value::String(kind)) = map.member("type")
        && let Some(role) = role_of_type(kind)
    {
        return Some(role);
    }
    // An item of the Responses API whose client omitted the role.
    if map.member("type").and_then(Value::as_str) == Some("message") && map.member("content").is_some_and(Value::is_array) {
        return Some(direction.role());
    }
    if map.has("tool_call_id") && map.has("content") {
        return Some(Role::Tool);
    }
    if map.has("tool_calls") || map.has("toolCalls") {
        return Some(Role::Assistant);
    }
    if map.member("parts").is_some_and(Value::is_array) {
        return Some(direction.role());
    }
    let typed = map.has("type");
    let says = |content: &Value| content.is_string() || content.is_array();
    let is_said = map.member("content").is_some_and(says) || direction == Direction::Output && is_completion(map);
    (!typed && is_said).then(|| direction.role())
}

/// Whether a message with a user's role says that a framework added it, as context, a memory or a prompt to continue (eve's `"kind":
/// "context.state"`; a person's has `"kind": "user"`).
fn is_of_framework(map: &Map<String, Value>) -> bool {
    let kind = map.member("kind").and_then(Value::as_str);
    let parts = kind.and_then(|kind| kind.split_once('.'));
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    parts.is_some_and(|(of, what)| is_word(of) && is_word(what) && of != "user")
}

/// Whether this is an answer with its text in `completion`, next to a thought or calls (OpenRouter).
fn is_completion(map: &Map<String, Value>) -> bool {
    let is_text = |value: &Value| value.is_string() || value.is_null();
    map.member("completion").is_some_and(is_text) && map.member("reasoning").is_some_and(is_text)
}

fn role_of_type(word: &str) -> Option<Role> {
    match word
        .strip_suffix("MessageChunk")
        .or_else(|| word.strip_suffix("Message"))
        .unwrap_or(word)
    {
        "human" | "Human" | "HumanMessage" | "User" => Some(Role::User),
        "ai" | "AI" | "AIMessageChunk" | "Assistant" => Some(Role::Assistant),
        "system" | "System" => Some(Role::System),
        "tool" | "Tool" => Some(Role::Tool),
        _ => None,
    }
}

/// Whether this is a tool's definition in the form of a message; a client lists these after the messages.
fn is_definition(map: &Map<String, Value>, role: &Role) -> bool {
    let function = || map.member("content")?.as_object()?.member("function")?.as_object();
    *role == Role::Tool && !map.has("tool_call_id") && function().is_some_and(|function| function.has("name") && function.has("parameters"))
}

/// Whether this is a call written as an assistant's text: `{"name": "f", "arguments": "{..}"}`, with its id as the message's (Netra).
pub(super) fn is_written_call(map: &Map<String, Value>) -> bool {
    written_call(map).is_some()
}

fn written_call(map: &Map<String, Value>) -> Option<ToolCall> {
    let words = map.member("content")?.as_str().filter(|words| words.starts_with('{'))?;
    if map.member("role")?.as_str()? != "assistant" || map.has("tool_calls") {
        return None;
    }
    let Ok(Value::Object(call)) = serde_json::from_str(words) else {
        return None;
    };
    let (name, arguments) = (text(&call, &["name"])?, call.member("arguments")?);
    (call.len() == 2 && arguments.is_string()).then(|| arguments::call(text(map, &["tool_call_id"]), name, Some(arguments)))
}

/// Whether an assistant's text may be [`written_turns`].
pub(super) fn may_be_written_turns(words: &str) -> bool {
    words.trim_start().starts_with(['[', '{']) && words.contains("\"role\"") && words.contains("\"tool_calls\"")
}

/// Messages with calls that a client wrote as an assistant's text: `[{"role": "assistant", "content": "", "tool_calls": [..]}]` (Eino, if
/// an answer has no text).
fn written_turns(map: &Map<String, Value>, role: &Role) -> Option<Vec<Message>> {
    let words = map.member("content")?.as_str().filter(|words| may_be_written_turns(words))?;
    if *role != Role::Assistant || map.has("tool_calls") {
        return None;
    }
    let opened: Value = serde_json::from_str(words).ok()?;
    let items = match &opened {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let is_turn = |item: &Value| item.member("role").and_then(Value::as_str) == Some("assistant");
    let asks = |item: &Value| {
        item.member("tool_calls")
            .and_then(Value::as_array)
            .is_some_and(|calls| !calls.is_empty())
    };
    if !items.iter().all(is_turn) || !items.iter().any(asks) {
        return None;
    }
    let read = |item: &Value| from_object(item.as_object()?, Direction::Output);
    Some(items.iter().filter_map(read).flatten().collect())
}

fn build(map: &Map<String, Value>, role: Role) -> Vec<Message> {
    if is_definition(map, &role) {
        return Vec::new();
    }
    if let Some(turns) = written_turns(map, &role) {
        return turns;
    }
    if let Some(call) = written_call(map) {
        let mut builder = Builder::new(role);
        builder.call(call);
        return vec![builder.message];
    }
    let role = if role == Role::Tool && is_decision(map) { Role::User } else { role };
    if let Some(messages) = answer_of_user(map, &role) {
        return messages;
    }
    let mut builder = Builder::new(role);
    builder.message.name = text(map, &["name", "author_name"]);
    builder.message.tool_call_id = text(map, &["tool_call_id", "toolCallId"]);
    if builder.message.role == Role::Tool && builder.message.tool_call_id.is_none() {
        // LlamaIndex stores it in its member for additional arguments.
        builder.message.tool_call_id = map
            .member("additional_kwargs")
            .and_then(Value::as_object)
            .and_then(|more| text(more, &["tool_call_id"]))
            .or_else(|| text(map, &["id"]));
    }
    builder.message.finish_reason = text(map, &["finish_reason", "finishReason", "stop_reason"]).or_else(|| {
        let about = map.member("response_meta")?.as_object()?;
        text(about, &["finish_reason"])
    });
    if map.member("status").and_then(Value::as_str) == Some("error") {
        builder.message.is_error = true;
    }
    let has_words = |value: &Value| value.as_str().is_some_and(|words| !words.trim().is_empty());
    let thought = first(map, &["reasoning_content", "reasoning", "thinking"], has_words);
    if let Some(thought) = thought.and_then(Value::as_str).or_else(|| thought_beside(map)) {
        builder.message.parts.push(Part::Reasoning {
            text: Some(thought.to_owned()),
            opaque: Map::new(),
        });
    }
    // Our own addition to OpenInference: a result that was recorded as a value, with its text in `message.content`.
    if builder.message.role == Role::Tool
        && let Some(result) = text(map, &["result_json"]).and_then(|text| serde_json::from_str(&text).ok())
    {
        builder.message.result = Some(result);
        return vec![builder.message];
    }
    let is_something = |value: &Value| !has_nothing(value);
    // OpenInference: images are in `contents`; text, or any other result of a tool, is in `content`.
    let beside = map
        .member("contents")
        .and_then(|contents| words_beside(contents, map.member("content")?.as_str()?, &builder.message.role));
    let comes_first = builder.message.role != Role::Assistant;
    if let Some(words) = beside.filter(|_| comes_first) {
        builder.text(words);
    }
    if let Some(content) = first(map, &["contents", "parts", "content", "blocks", "_content", "text"], is_something) {
        builder.content(content);
    } else if builder.message.role == Role::Tool
        && let Some(given) = first(map, &["response", "result", "output"], is_something)
    {
        parts::set_result(&mut builder.message, given);
    } else if let Some(words) = text(map, &["completion"]).filter(|_| builder.message.role == Role::Assistant) {
        builder.text(&words);
    }
    if let Some(words) = beside.filter(|_| !comes_first) {
        builder.text(words);
    }
    if builder.message.role == Role::User {
        let pictures = media::beside(map).into_iter().map(|media| Part::Media(media.into()));
        builder.message.parts.extend(pictures);
    }
    if let Some(list) = first(map, &["tool_calls", "toolCalls", "function_calls"], is_something) {
        calls::each(list, |call| builder.call(call));
    }
    if builder.message.tool_calls.is_empty()
        && let Some(list) = map.member("additional_kwargs").and_then(|more| more.member("tool_calls"))
    {
        calls::each(list, |call| builder.call(call));
    }
    if builder.message.tool_calls.is_empty() {
        if let Some(call) = map.member("function_call").and_then(calls::read) {
            builder.call(call);
        } else if let (Some(name), arguments) = (text(map, &["function_call_name"]), map.member("function_call_arguments_json")) {
            builder.call(arguments::call(None, name, arguments));
        }
    }
    // AutoGen and Cohere keep the text next to the calls in a separate member.
    if !builder.message.has_words()
        && let Some(words) = map.member("thought").or_else(|| map.member("tool_plan")).and_then(Value::as_str)
        && !words.trim().is_empty()
    {
        builder.message.parts.push(Part::Text(words.to_owned()));
    }
    if !builder.message.has_words()
        && let Some(Value::Object(audio)) = map.member("audio")
        && let Some(words) = parts::transcript(audio)
    {
        builder.message.parts.push(Part::Text(words));
    }
    if builder.message.is_blank()
        && let Some(refusal) = map.member("refusal").and_then(Value::as_str)
    {
        builder.message.parts.push(Part::Text(refusal.to_owned()));
    }
    let mut out = Vec::new();
    builder.finish(&mut out);
    out
}

/// A tool's result in a user message, as Anthropic and Bedrock expect it: `content` is the result, `contents` the rest.
fn answer_of_user(map: &Map<String, Value>, role: &Role) -> Option<Vec<Message>> {
    let id = text(map, &["tool_call_id"]).filter(|_| *role == Role::User && !map.has("tool_calls"))?;
    let mut rest = map.clone();
    let _ = rest.remove("tool_call_id");
    let answered = rest.remove("content").filter(|content| !has_nothing(content));
    let mut answer = Builder::new(Role::Tool);
    answer.message.tool_call_id = Some(id);
    answer.message.name = text(map, &["name"]);
    if let Some(content) = &answered {
        answer.content(content);
    }
    let mut out = Vec::new();
    answer.finish(&mut out);
    out.extend(build(&rest, Role::User).into_iter().filter(|message| !message.is_blank()));
    Some(out)
}

/// Whether this is a person's decision, which the Vercel AI SDK gives the role tool although it is not a tool's result.
fn is_decision(map: &Map<String, Value>) -> bool {
    let decides = |item: &Value| item.member("type").and_then(Value::as_str) == Some("tool-approval-response");
    let items = map.member("content").and_then(Value::as_array);
    items.is_some_and(|items| !items.is_empty() && items.iter().all(decides))
}

/// A thought that LangChain stores in its member for additional arguments.
fn thought_beside(map: &Map<String, Value>) -> Option<&str> {
    let thought = map.member("additional_kwargs")?.member("reasoning_content")?.as_str()?;
    (!thought.is_empty()).then_some(thought)
}

/// The text next to a message's blocks, if these contain no text or, for a tool, are other blocks.
fn words_beside<'w>(contents: &Value, words: &'w str, role: &Role) -> Option<&'w str> {
    let blocks = contents.as_array().filter(|blocks| !blocks.is_empty())?;
    let is_text = |block: &Value| {
        let kind = block.member("type").or_else(|| block.pointer("/message_content/type"));
        kind.and_then(Value::as_str) == Some("text")
    };
    let lacks = match role {
        Role::Tool => !blocks.iter().all(is_text),
        // The same blocks again, as text.
        _ if words.trim_start().starts_with(['[', '{']) => false,
        _ => !blocks.iter().any(is_text),
    };
    (lacks && !words.trim().is_empty()).then_some(words)
}

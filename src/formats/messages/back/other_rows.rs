//! Converts rows in other forms to rows of messages: ShareGPT's conversations, messages under other keys (SWE-agent's `history`,
//! tau-bench's `traj`) or as JSON text, parts that have their text as `value` (LLaMA-Factory's rows since its
//! version 1), items of the Responses API between messages.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::items;

/// Keys under which a row may have its messages.
const KEYS: [&str; 6] = ["messages", "conversations", "conversation", "history", "traj", "trajectory"];

/// The key that a row has its messages under.
pub(in crate::formats) fn key_of(row: &Map<String, Value>) -> Option<&'static str> {
    let is_said = |first: &Value| {
        let is_shared = first.get("from").is_some() && first.get("value").is_some();
        first.get("role").is_some() || is_shared
    };
    let has_messages = |key: &&str| row.get(*key).and_then(opened).is_some_and(|list| list.first().is_some_and(is_said));
    KEYS.into_iter().find(has_messages)
}

/// A list, or a list as JSON text.
fn opened(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::Array(list) => Some(Cow::Borrowed(list)),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok().map(Cow::Owned),
        _ => None,
    }
}

/// The same row with `messages`; `None` if it has them already, or has no messages at all.
pub(super) fn as_messages(row: &Map<String, Value>) -> Option<Value> {
    let key = key_of(row)?;
    let came = row.get(key)?;
    let list = opened(came)?;
    let has_other_tools = row.get("tools").is_some_and(has_names);
    if key == "messages" && came.is_array() && !has_other_tools && !list.iter().any(is_otherwise) {
        return None;
    }
    let is_shared = list.first().is_some_and(|first| first.get("from").is_some());
    let mut out = Map::new();
    let prompt = row.get("system").filter(|_| is_shared);
    let prompt = prompt.and_then(Value::as_str).filter(|prompt| !prompt.is_empty());
    let prompt = prompt.map(|prompt| json!({"role": "system", "content": prompt}));
    let messages: Vec<Value> = prompt.iter().cloned().chain(list.iter().map(message)).collect();
    out.insert("messages".to_owned(), items::as_messages(messages).into());
    for (name, value) in row {
        match (name.as_str(), value) {
            (name, _) if name == key => {}
            ("system", _) if prompt.is_some() => {}
            // No tools.
            ("tools", Value::String(text)) if text.trim().is_empty() => {}
            ("tools", tools) if is_shared || has_other_tools => {
                out.insert(name.clone(), as_functions(tools));
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    Some(out.into())
}

/// Whether a message is in another form.
fn is_otherwise(message: &Value) -> bool {
    let is_old = renamed(message).is_some() || has_marks(message.get("content"));
    is_old || has_values(message) || items::is_item(message) || other_call_id(message).is_some()
}

/// Members in camel case, as AG-UI's clients keep them.
const RENAMED: [(&str, &str); 2] = [("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")];

/// The same message with the chat API's names.
fn renamed(message: &Value) -> Option<Map<String, Value>> {
    let map = message.as_object()?;
    let camel = || {
        RENAMED
            .into_iter()
            .filter(|(old, new)| map.contains_key(*old) && !map.contains_key(*new))
    };
    camel().next()?;
    let mut out = map.clone();
    for (old, new) in camel() {
        out.extend(map.get(old).map(|value| (new.to_owned(), value.clone())));
        out.remove(old);
    }
    Some(out)
}

/// What marks a call and its result in a text, as Hermes and the models after it write them.
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");
const RESPONSE: (&str, &str) = ("<tool_response>", "</tool_response>");

fn has_marks(content: Option<&Value>) -> bool {
    content
        .and_then(Value::as_str)
        .is_some_and(|text| marked_calls(text).is_some() || marked_result(text).is_some())
}

/// A text without its marked calls, and the calls; `None` if it has none, or one of them is not a call as JSON.
fn marked_calls(text: &str) -> Option<(String, Value)> {
    let (mut words, mut all, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, behind)) = rest.split_once(CALL.0) {
        let (call, after) = behind.split_once(CALL.1)?;
        let Value::Array(mut these) = calls(call.trim())? else {
            return None;
        };
        words.push_str(before);
        all.append(&mut these);
        rest = after;
    }
    words.push_str(rest);
    (!all.is_empty()).then(|| (words.trim().to_owned(), all.into()))
}

/// The result in a text that is nothing but one.
fn marked_result(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix(RESPONSE.0)?.strip_suffix(RESPONSE.1)?;
    Some(inside.trim()).filter(|inside| !inside.contains(RESPONSE.0))
}

/// A message whose calls and results are marked in its text.
fn unmarked(mut message: Map<String, Value>) -> Value {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let (calls, result) = match role {
        "assistant" => (marked_calls(text).filter(|_| !message.contains_key("tool_calls")), None),
        "tool" | "user" => (None, marked_result(text).map(Value::from)),
        _ => (None, None),
    };
    if let Some((words, calls)) = calls {
        message.insert("content".to_owned(), words.into());
        message.insert("tool_calls".to_owned(), calls);
    }
    if let Some(result) = result {
        message.insert("role".to_owned(), "tool".into());
        message.insert("content".to_owned(), result);
    }
    message.into()
}

/// Whether tools are given as names, or as a list of JSON texts, one per definition. Text that does not begin like JSON lists names.
fn has_names(tools: &Value) -> bool {
    match tools {
        Value::Array(list) => list.iter().any(Value::is_string),
        Value::String(text) => {
            let text = text.trim();
            !text.is_empty() && text != "null" && !text.starts_with(['[', '{'])
        }
        _ => false,
    }
}

/// The id of the call that a result answers, under a key that is not the API's.
fn other_call_id(message: &Value) -> Option<&Value> {
    let is_result = message.get("role").and_then(Value::as_str) == Some("tool") && message.get("tool_call_id").is_none_or(Value::is_null);
    if !is_result {
        return None;
    }
    let ids = message.get("tool_call_ids").and_then(Value::as_array);
    let only = ids.and_then(|ids| ids.first().filter(|_| ids.len() == 1));
    only.or_else(|| message.get("id")).filter(|id| id.is_string())
}

fn has_values(message: &Value) -> bool {
    let is_one = |part: &Value| part.get("type").is_some() && part.get("value").is_some_and(Value::is_string);
    let parts = message.get("content").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(is_one))
}

/// Tools in OpenAI's form; ShareGPT's are bare functions, often as JSON text.
fn as_functions(tools: &Value) -> Value {
    let names = |text: &str| {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(Value::from)
            .collect()
    };
    let opened = match tools {
        Value::String(text) if has_names(tools) => Some(names(text)),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let Some(list) = opened.as_ref().unwrap_or(tools).as_array() else {
        return tools.clone();
    };
    let function = |tool: &Value| {
        let opened = tool.as_str().map(|text| match serde_json::from_str::<Value>(text) {
            Ok(opened @ Value::Object(_)) => opened,
            _ => json!({"name": text}),
        });
        let tool = opened.as_ref().unwrap_or(tool);
        match tool.get("function") {
            Some(_) => tool.clone(),
            None => json!({"type": "function", "function": tool}),
        }
    };
    list.iter().map(function).collect()
}

fn message(said: &Value) -> Value {
    let renamed = renamed(said).map(Value::from);
    match in_parts(renamed.as_ref().unwrap_or(said)) {
        Value::Object(message) => unmarked(message),
        other => other,
    }
}

fn in_parts(said: &Value) -> Value {
    match said.as_object() {
        Some(map) if map.contains_key("from") => of_turn(map),
        Some(map) if has_values(said) => of_parts(map),
        Some(map) => match other_call_id(said) {
            Some(id) => {
                let mut out = map.clone();
                out.insert("tool_call_id".to_owned(), id.clone());
                out.into()
            }
            None => said.clone(),
        },
        _ => said.clone(),
    }
}

/// Converts a turn of ShareGPT.
fn of_turn(turn: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    let from = turn.get("from").and_then(Value::as_str).unwrap_or_default();
    let value = turn.get("value").cloned().unwrap_or_default();
    let calls = match from {
        "function_call" | "tool_call" => value.as_str().and_then(calls),
        _ => None,
    };
    let role = match from {
        "human" => "user",
        "gpt" | "chatgpt" | "bing" | "bard" | "model" | "function_call" | "tool_call" => "assistant",
        "observation" | "tool_response" | "function_response" | "function" => "tool",
        other => other,
    };
    out.insert("role".to_owned(), role.into());
    out.insert("content".to_owned(), if calls.is_some() { "".into() } else { value });
    out.extend(calls.map(|calls| ("tool_calls".to_owned(), calls)));
    let others = turn.iter().filter(|(key, _)| !matches!(key.as_str(), "from" | "value"));
    out.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    out.into()
}

/// Converts a message whose parts have text, thoughts and calls as `value`.
fn of_parts(said: &Map<String, Value>) -> Value {
    let mut out = said.clone();
    let (mut parts, mut thoughts, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for part in said.get("content").and_then(Value::as_array).into_iter().flatten() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let value = part.get("value").and_then(Value::as_str);
        match (kind, value, value.and_then(calls)) {
            ("tool_call", _, Some(Value::Array(mut calls))) => asked.append(&mut calls),
            ("reasoning", Some(thought), _) => thoughts.push(thought),
            ("text", Some(text), _) => parts.push(json!({"type": "text", "text": text})),
            ("image_url", Some(url), _) => parts.push(json!({"type": "image_url", "image_url": {"url": url}})),
            _ => parts.push(part.clone()),
        }
    }
    let words = match parts.as_slice() {
        [] => "".into(),
        [only] if only.get("text").is_some() => only.get("text").cloned().unwrap_or_default(),
        _ => Value::from(parts),
    };
    out.insert("content".to_owned(), words);
    if !thoughts.is_empty() {
        out.insert("reasoning_content".to_owned(), thoughts.join("\n\n").into());
    }
    if !asked.is_empty() {
        out.insert("tool_calls".to_owned(), asked.into());
    }
    out.into()
}

/// Parses calls as JSON text: one, or a list.
fn calls(text: &str) -> Option<Value> {
    let opened: Value = serde_json::from_str(text).ok()?;
    let list = match opened {
        Value::Array(list) => list,
        one => vec![one],
    };
    let call = |call: Value| {
        let name = call.get("name")?.as_str()?;
        let arguments = call.get("arguments").cloned().unwrap_or_else(|| json!({}));
        Some(json!({"type": "function", "function": {"name": name, "arguments": arguments}}))
    };
    let calls: Option<Vec<Value>> = list.into_iter().map(call).collect();
    calls.filter(|calls| !calls.is_empty()).map(Value::from)
}

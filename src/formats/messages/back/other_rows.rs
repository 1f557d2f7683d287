//! Rows that say the same in other words: ShareGPT's conversations, and parts that have their text as `value` (LLaMA-Factory's rows since
//! its version 1). They are read as the row of messages that they are.

use serde_json::{Map, Value, json};

/// The same row with messages; `None` where it has them already, or has none.
pub(super) fn as_messages(row: &Map<String, Value>) -> Option<Value> {
    let (key, list) = match row.get("messages") {
        Some(list) => ("messages", list.as_array()?),
        None => ("conversations", row.get("conversations")?.as_array()?),
    };
    if key == "messages" && !list.iter().any(has_values) {
        return None;
    }
    let mut out = Map::new();
    let prompt = row.get("system").filter(|_| key == "conversations");
    let prompt = prompt.and_then(Value::as_str).filter(|prompt| !prompt.is_empty());
    let prompt = prompt.map(|prompt| json!({"role": "system", "content": prompt}));
    let messages: Vec<Value> = prompt.iter().cloned().chain(list.iter().map(message)).collect();
    out.insert("messages".to_owned(), messages.into());
    for (name, value) in row {
        match (name.as_str(), value) {
            ("messages" | "conversations", _) => {}
            ("system", _) if prompt.is_some() => {}
            // No tools.
            ("tools", Value::String(text)) if text.trim().is_empty() => {}
            ("tools", tools) if key == "conversations" => {
                out.insert(name.clone(), as_functions(tools));
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    Some(out.into())
}

fn has_values(message: &Value) -> bool {
    let is_one = |part: &Value| part.get("type").is_some() && part.get("value").is_some_and(Value::is_string);
    let parts = message.get("content").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(is_one))
}

/// Tools in OpenAI's form; ShareGPT's are functions alone, often as JSON text.
fn as_functions(tools: &Value) -> Value {
    let opened = tools.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(list) = opened.as_ref().unwrap_or(tools).as_array() else {
        return tools.clone();
    };
    let function = |tool: &Value| match tool.get("function") {
        Some(_) => tool.clone(),
        None => json!({"type": "function", "function": tool}),
    };
    list.iter().map(function).collect()
}

fn message(said: &Value) -> Value {
    match said.as_object() {
        Some(map) if map.contains_key("from") => of_turn(map),
        Some(map) if has_values(said) => of_parts(map),
        _ => said.clone(),
    }
}

/// A turn of ShareGPT.
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

/// A message with its text, thoughts and calls in parts that have them as `value`.
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

/// Calls as JSON text: one, or a list.
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

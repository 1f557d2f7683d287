//! Streamed responses: one response from the chunks or events that a client or a proxy recorded of it.
//!
//! Chunks and events have the forms of OpenAI's chat and text completions, OpenAI's Responses, Anthropic's Messages, Bedrock's
//! Converse, Gemini's `generateContent` and Ollama. The result is what the same API returns without streaming, so that
//! everything that reads a response reads it.

mod anthropic;
mod bedrock;
mod chat;
mod gemini;
mod ollama;
mod responses;

use serde_json::{Map, Value};

use super::mend::{self, Mended};

/// The response that a list of chunks or events spells; `None` for any other value.
pub(super) fn response(value: &Value) -> Option<Value> {
    let items = value.as_array()?;
    let pieces: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let first = pieces.first()?;
    let assemble = if first.contains_key("choices") {
        chat::assemble
    } else if first.contains_key("candidates") {
        gemini::assemble
    } else if first.contains_key("done") {
        ollama::assemble
    } else if bedrock::is_event(first) {
        bedrock::assemble
    } else if responses::is_event(first) {
        responses::assemble
    } else if anthropic::is_event(first) {
        anthropic::assemble
    } else {
        return None;
    };
    assemble(&pieces).map(Value::Object)
}

/// The response in a text of server-sent events (HTML, section 9.2) or of one JSON object a line.
/// An event that is not whole is left out, and noted as cut.
pub(super) fn response_of_text(text: &str, mended: &mut Mended) -> Option<Value> {
    let start = text.trim_start();
    if start.starts_with('{') {
        return response(&mend::several(text)?);
    }
    if !["data:", "event:", "id:", ":"].iter().any(|field| start.starts_with(field)) {
        return None;
    }
    let (mut events, mut open) = (Vec::new(), String::new());
    let mut is_cut = false;
    // Most events have one line of data. Many proxies leave out the empty line that ends an event.
    for line in start.lines().chain([""]) {
        if line.is_empty() && !open.is_empty() {
            match serde_json::from_str(&open) {
                Ok(event) => events.push(event),
                Err(_) => is_cut = true,
            }
            open.clear();
        }
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            continue;
        };
        match serde_json::from_str(data) {
            Ok(event @ Value::Object(_)) => events.push(event),
            _ if data == "[DONE]" => {}
            _ => {
                open.push_str(data);
                open.push('\n');
            }
        }
    }
    let whole = response(&Value::Array(events))?;
    if is_cut {
        mended.cut = true;
    }
    Some(whole)
}

/// Appends a piece of text to a member.
fn append(to: &mut Map<String, Value>, key: &str, piece: &str) {
    match to.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => {
            let _ = to.insert(key.to_owned(), piece.into());
        }
    }
}

/// Sets the members that a later piece has; its nulls are no values.
fn update(to: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        if !value.is_null() || !to.contains_key(key) {
            let _ = to.insert(key.clone(), value.clone());
        }
    }
}

/// Arguments that came in pieces, as their value if they are whole.
fn arguments(text: &str) -> Value {
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The number of a choice, a block or an item.
fn number(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key).and_then(Value::as_u64)
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}

fn object<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    map.get(key).and_then(Value::as_object)
}

#[cfg(test)]
mod tests;

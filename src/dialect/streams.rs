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
mod piece;
mod responses;

use serde_json::{Map, Value};

use super::mend::{self, Mended};

/// The response that a list of chunks or events spells; `None` for any other value.
pub(super) fn response(value: &Value) -> Option<Value> {
    let items = value.as_array()?;
    let first = items.first()?.as_object()?;
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
    let pieces: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
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

#[cfg(test)]
mod tests;

//! Streamed responses: assembles one response from the recorded chunks or events.
//!
//! Supports chunks and events of OpenAI's chat and text completions, OpenAI's Responses, Anthropic's Messages, Bedrock's Converse, Gemini's
//! `generateContent` and Ollama. The result has the form that the API returns without streaming, so everything that reads responses can
//! read it.

mod anthropic;
mod bedrock;
mod chat;
mod gemini;
mod ollama;
mod piece;
mod responses;

use serde_json::{Map, Value};

use super::mend::{self, Mended};

/// Assembles the response of a list of chunks or events; `None` for any other value.
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

/// Assembles the response of a text of server-sent events (HTML, section 9.2) or of JSON lines. An incomplete event is skipped, and the
/// response noted as cut.
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
    // Most events have one line of data, and many proxies omit the empty line that ends an event.
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

//! What events hold: text, text and images, and a tool's result as text.

use serde_json::{Map, Value, json};

use crate::formats::{calls, facts, io};
use crate::operation::{Failure, Kind, Message, Part};
use crate::run::{Run, Step};

/// A message's content as Invariant has it.
pub(super) struct Content {
    /// Text, null, or a list of text and image parts.
    pub(super) value: Value,
    /// Parts that had to become text, as recorded.
    pub(super) coerced: Vec<Value>,
}

/// Text where there is only text; else parts, those that are neither text nor image as marked text.
pub(super) fn of_message(message: &Message) -> Content {
    if !message.has_media() {
        return Content {
            value: message.chat_content(),
            coerced: Vec::new(),
        };
    }
    let mut coerced = Vec::new();
    let mut parts: Vec<Value> = Vec::new();
    for part in &message.parts {
        let written = match part {
            Part::Text(text) => text_part(text),
            Part::Reasoning { .. } => continue,
            Part::Media(media) => match media.url().filter(|_| media.modality == "image") {
                Some(url) => json!({"type": "image_url", "image_url": {"url": url}}),
                None => {
                    coerced.push(media.raw.clone());
                    text_part(&io::media_mark(media))
                }
            },
            Part::Other(value) => {
                coerced.push(value.clone());
                text_part(&io::part_mark(value))
            }
        };
        parts.push(written);
    }
    Content {
        value: parts.into(),
        coerced,
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The content with the reasoning before it.
pub(super) fn with_reasoning(content: Value, reasoning: &str) -> Value {
    match content {
        Value::String(text) if !text.is_empty() => format!("{reasoning}\n\n{text}").into(),
        Value::Array(mut parts) => {
            parts.insert(0, text_part(reasoning));
            parts.into()
        }
        _ => reasoning.into(),
    }
}

/// A tool's result as text: JSON values compact, a failure without a result as `Error: ...`.
pub(super) fn of_result(result: &Value, failure: Option<&Failure>) -> String {
    let text = match result {
        Value::Null => String::new(),
        other => io::text(other),
    };
    let Some(failure) = failure else { return text };
    let error = calls::error_text(failure);
    if text.trim().is_empty() || text.trim() == error.trim() {
        format!("Error: {error}")
    } else {
        text
    }
}

/// What a step says beside its event's own fields, for the event's metadata.
pub(super) fn metadata(run: &Run, step: &Step) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(span) = step.span_id {
        out.insert("span_id".into(), span.to_string().into());
    }
    let name = &step.operation.name;
    if !name.is_empty() && (step.operation.kind != Kind::Tool || calls::tool_name(run, step) != name) {
        out.insert("span_name".into(), name.as_str().into());
    }
    let mut said = facts::all(run, step);
    said.shift_remove("tool_call_id");
    if let Some(server) = said.shift_remove("mcp_server") {
        out.insert("server".into(), server);
    }
    // The analyzer's users look for text here.
    if let Some(Value::Object(error)) = said.shift_remove("error") {
        for (from, to) in [("message", "error"), ("type", "error_type"), ("stacktrace", "stacktrace")] {
            if let Some(value) = error.get(from) {
                out.insert(to.into(), value.clone());
            }
        }
    }
    out.extend(said);
    if let Some(latency) = step.latency_ms() {
        out.insert("latency_ms".into(), latency.into());
    }
    out
}

//! Converts contents of events: text, text and images, and a tool's result as text.

use crate::document::json::{Json, Object, Text};
use crate::operation::{Failure, Kind, Message, Part};
use crate::run::{Run, Step};
use crate::transcript::{calls, content, facts};

/// A message's content in Invariant's form.
pub(super) struct Content<'a> {
    /// Text, null, or a list of text and image parts.
    pub(super) value: Json<'a>,
    /// Parts that had to become text, as recorded.
    pub(super) coerced: Vec<Json<'a>>,
}

/// Text if there is nothing else; otherwise parts, in which everything but text and images becomes marked text.
pub(super) fn of_message(message: &Message) -> Content<'_> {
    if !message.has_media() {
        return Content {
            value: content::chat_content(message),
            coerced: Vec::new(),
        };
    }
    let mut coerced = Vec::new();
    let mut parts: Vec<Json<'_>> = Vec::new();
    for part in &message.parts {
        let written = match part {
            Part::Text(text) => text_part(text.into()),
            Part::Reasoning { .. } => continue,
            Part::Media(media) => match media.url().filter(|_| media.modality == "image") {
                Some(url) => Object::from([
                    ("type", "image_url".into()),
                    ("image_url", Object::from([("url", url.into())]).into()),
                ])
                .into(),
                None => {
                    coerced.push(Json::from(&media.raw));
                    text_part(content::media_mark(media).into())
                }
            },
            Part::Other(value) => {
                coerced.push(Json::from(value));
                text_part(content::part_mark(value).into())
            }
        };
        parts.push(written);
    }
    Content {
        value: parts.into(),
        coerced,
    }
}

fn text_part(text: Text<'_>) -> Json<'_> {
    Object::from([("type", "text".into()), ("text", text.into())]).into()
}

/// The content, preceded by the reasoning.
pub(super) fn with_reasoning<'a>(content: Json<'a>, reasoning: Text<'a>) -> Json<'a> {
    match content {
        Json::Text(text) if !text.is_empty() => format!("{reasoning}\n\n{text}").into(),
        Json::List(mut parts) => {
            parts.insert(0, text_part(reasoning));
            parts.into()
        }
        _ => reasoning.into(),
    }
}

/// A tool's result as text: JSON values compact, a failure without a result as `Error: ...`.
pub(super) fn of_result<'a>(result: Json<'a>, failure: Option<&Failure>) -> Text<'a> {
    let text = match result {
        Json::Null => Text::default(),
        other => other.into_text(),
    };
    let Some(failure) = failure else { return text };
    if text.trim().is_empty() {
        format!("Error: {}", calls::error_text(failure)).into()
    } else {
        text
    }
}

/// A step's facts without their own field in the event, for the event's metadata.
pub(super) fn metadata<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let mut out = Object::with_capacity(8);
    if let Some(span) = step.span_id {
        out.add("span_id", span.to_string());
    }
    let name = &step.operation.name;
    if !name.is_empty() && (step.operation.kind != Kind::Tool || calls::tool_name(run, step) != name) {
        out.add("span_name", name);
    }
    let mut all = facts::all(run, step);
    if step.operation.kind == Kind::Tool {
        all.remove("tool_call_id");
    }
    if step.operation.kind == Kind::Tool
        && let Some(server) = all.remove("mcp_server")
    {
        out.add("server", server);
    }
    // Users of the analyzer expect text here.
    if let Some(Json::Object(mut error)) = all.remove("error") {
        for (from, to) in [("message", "error"), ("type", "error_type"), ("stacktrace", "stacktrace")] {
            if let Some(value) = error.remove(from) {
                out.add(to, value);
            }
        }
    }
    out.extend(all);
    if let Some(latency) = step.latency_ms() {
        out.insert("latency_ms", latency);
    }
    out
}

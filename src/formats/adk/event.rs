//! Parts of contents, and events of model calls.

use super::document::{Content, Event};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::operation::message::Media;
use crate::operation::{Failure, Message, Part, TokenCount};
use crate::run::Step;
use crate::span::{SpanId, UnixNanos};
use crate::transcript::losses::Losses;
use crate::transcript::{calls, content};

/// A content of these parts.
pub(super) fn content<'a>(role: &'static str, parts: Vec<Object<'a>>) -> Content<'a> {
    Content { role: role.into(), parts }
}

pub(super) fn text<'a>(words: impl Into<Text<'a>>) -> Object<'a> {
    Object::from([("text", words.into().into())])
}

/// The parts of a message, without its calls.
pub(super) fn parts<'a>(message: &'a Message, span: Option<SpanId>, losses: &mut Losses) -> Vec<Object<'a>> {
    let mut out = Vec::new();
    losses.opaque(message, span);
    for part in &message.parts {
        match part {
            Part::Text(words) if words.trim().is_empty() => {}
            Part::Text(words) => out.push(text(words)),
            Part::Reasoning { text: Some(words), .. } if !words.trim().is_empty() => {
                let mut thought = text(words);
                thought.add("thought", true);
                out.push(thought);
            }
            Part::Reasoning { .. } => {}
            Part::Media(media) => out.push(file(media).unwrap_or_else(|| {
                losses.add(span, "content: the bytes of a part", LossReason::Coerced);
                text(content::media_mark(media))
            })),
            Part::Other(value) => {
                losses.add(span, "content: a part of another kind", LossReason::Coerced);
                out.push(text(content::part_mark(value)));
            }
        }
    }
    if let Some(result) = message.result.as_ref().filter(|_| message.parts.is_empty()) {
        out.push(text(content::text(result)));
    }
    out
}

/// A picture, a sound or a file with a URL.
fn file(media: &Media) -> Option<Object<'_>> {
    let uri = media
        .uri
        .as_deref()
        .filter(|uri| !uri.starts_with("data:") && uri.contains("://"))?;
    let mut data = Object::from([("file_uri", uri.into())]);
    data.add_filled("mime_type", media.mime_type.as_deref().filter(|mime| !mime.is_empty()));
    Some(Object::from([("file_data", data.into())]))
}

/// A function call.
pub(super) fn call<'a>(id: Text<'a>, name: &'a str, arguments: Object<'a>) -> Object<'a> {
    let call = Object::from([("id", id.into()), ("name", name.into()), ("args", arguments.into())]);
    Object::from([("function_call", call.into())])
}

/// A function's response, which is an object: ADK itself writes other results as `result`, errors as `error`. The flag is whether
/// the result was wrapped.
pub(super) fn response<'a>(id: Text<'a>, name: &'a str, value: Json<'a>, failure: Option<&'a Failure>) -> (Object<'a>, bool) {
    let (value, wrapped) = match value {
        Json::Object(object) => (object, false),
        Json::Text(words) if failure.is_some() => {
            let error = failure.map(calls::error_text).filter(|error| words.ends_with(error));
            (
                Object::from([("error", error.map_or_else(|| words.clone().into(), Json::from))]),
                true,
            )
        }
        other => (Object::from([("result", other)]), true),
    };
    let response = Object::from([("id", id.into()), ("name", name.into()), ("response", value.into())]);
    (Object::from([("function_response", response.into())]), wrapped)
}

/// An event of a model call, with its counts.
pub(super) fn of_model<'a>(author: Text<'a>, parts: Vec<Object<'a>>, step: Option<&'a Step>) -> Event<'a> {
    let mut event = Event {
        author,
        content: (!parts.is_empty()).then(|| content("model", parts)),
        ..Event::default()
    };
    let Some(operation) = step.map(|step| &step.operation) else {
        return event;
    };
    let usage = &operation.usage;
    let thoughts = thoughts(usage);
    let counts = [
        ("prompt_token_count", usage.input),
        (
            "candidates_token_count",
            usage.output.map(|output| output - thoughts.unwrap_or_default()),
        ),
        ("thoughts_token_count", thoughts),
        ("cached_content_token_count", usage.cache_read),
        ("total_token_count", usage.total),
    ];
    for (key, count) in counts {
        event.usage_metadata.add_filled(key, count.filter(is_readable));
    }
    event.model_version = operation.model.name().into();
    event
}

/// The genai package counts thoughts beside the candidates.
fn thoughts(usage: &TokenCount) -> Option<u64> {
    usage
        .reasoning
        .filter(|thoughts| usage.output.is_some_and(|output| output >= *thoughts))
}

/// The reader's numbers end there.
fn is_readable(count: &u64) -> bool {
    i64::try_from(*count).is_ok()
}

/// Counts that an event has no field for.
pub(super) fn unwritten_counts(usage: &TokenCount) -> impl Iterator<Item = &'static str> {
    let counts = [
        ("usage.input", usage.input, usage.input),
        ("usage.output", usage.output, usage.output),
        ("usage.reasoning", usage.reasoning, thoughts(usage)),
        ("usage.cache_read", usage.cache_read, usage.cache_read),
        ("usage.cache_write", usage.cache_write, None),
        ("usage.total", usage.total, usage.total),
    ];
    let is_written = |written: Option<u64>| written.as_ref().is_some_and(is_readable);
    let unwritten = counts
        .into_iter()
        .filter(move |(_, said, written)| said.is_some() && !is_written(*written));
    unwritten.map(|(name, ..)| name)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds fit")]
pub(super) fn seconds(at: UnixNanos) -> f64 {
    (at.0 / 1_000) as f64 / 1e6
}

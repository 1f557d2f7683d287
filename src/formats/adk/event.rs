//! Parts of contents, and events of model calls.

use super::table::{CALL, CONTENT, EVENT, FILE, PART, RESPONSE, USAGE};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::operation::message::Media;
use crate::operation::{Failure, Field, Message, Operation, Part};
use crate::span::SpanId;
use crate::transcript::losses::Losses;
use crate::transcript::step_record::of_operation;
use crate::transcript::{calls, content};

/// A model's words and calls, or the results of calls.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) author: Text<'a>,
    /// `None` for the model call of the final response.
    pub(super) content: Option<Content<'a>>,
    /// The token counts and the name of the model.
    counts: Object<'a>,
}

/// Parts of one role.
pub(super) struct Content<'a> {
    role: &'static str,
    pub(super) parts: Vec<Object<'a>>,
}

impl<'a> Content<'a> {
    pub(super) fn users(parts: Vec<Object<'a>>) -> Self {
        Self { role: "user", parts }
    }

    pub(super) fn models(parts: Vec<Object<'a>>) -> Self {
        Self { role: "model", parts }
    }

    pub(super) fn record(self) -> Object<'a> {
        CONTENT.given([("role", self.role.into()), ("parts", self.parts.into_iter().collect())])
    }
}

impl<'a> Event<'a> {
    pub(super) fn new(author: Text<'a>, content: Content<'a>) -> Self {
        Self {
            author,
            content: Some(content),
            ..Self::default()
        }
    }

    /// The event of a model call.
    pub(super) fn of_model(author: Text<'a>, parts: Vec<Object<'a>>, operation: Option<&'a Operation>) -> Self {
        Self {
            author,
            content: (!parts.is_empty()).then(|| Content::models(parts)),
            counts: operation.map(counts).unwrap_or_default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_none() && self.counts.is_empty()
    }

    pub(super) fn record(self) -> Object<'a> {
        let content = self.content.map(Content::record);
        let mut out = EVENT.given([("author", self.author.into()), ("content", content.into())]);
        out.extend(self.counts);
        out
    }
}

pub(super) fn text<'a>(words: impl Into<Text<'a>>) -> Object<'a> {
    PART.given([("text", words.into().into())])
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

/// A picture, sound or file that has a URL.
fn file(media: &Media) -> Option<Object<'_>> {
    let uri = media
        .uri
        .as_deref()
        .filter(|uri| !uri.starts_with("data:") && uri.contains("://"))?;
    let mime_type = media.mime_type.as_deref().filter(|mime| !mime.is_empty());
    let data = FILE.given([("file_uri", uri.into()), ("mime_type", mime_type.into())]);
    Some(PART.given([("file_data", data.into())]))
}

/// A function call.
pub(super) fn call<'a>(id: Text<'a>, name: &'a str, arguments: Object<'a>) -> Object<'a> {
    let call = CALL.given([("id", id.into()), ("name", name.into()), ("args", arguments.into())]);
    PART.given([("function_call", call.into())])
}

/// A function's response, which must be an object: like ADK, wraps any other result in `result`, an error in `error`. The flag says
/// whether the result was wrapped.
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
    let response = RESPONSE.given([("id", id.into()), ("name", name.into()), ("response", value.into())]);
    (PART.given([("function_response", response.into())]), wrapped)
}

/// The token counts and model of a call. The reader's numbers have 63 bits, and it counts thoughts separately from candidates.
fn counts(operation: &Operation) -> Object<'_> {
    let mut out = of_operation(&EVENT, operation);
    if let Some(Json::Object(usage)) = out.get_mut(USAGE_METADATA) {
        let (said, thought) = (operation.usage.output, operation.usage.reasoning);
        let is_part = said.is_some_and(|said| thought.is_some_and(|thought| thought <= said));
        let is_readable = |count: &Json<'_>| matches!(count, Json::Number(count) if count.is_i64());
        usage.retain(|key, count| is_readable(count) && (key != "thoughts_token_count" || is_part));
        if usage.is_empty() {
            out.remove(USAGE_METADATA);
        }
    }
    out
}

const USAGE_METADATA: &str = "usage_metadata";

/// Token counts for which an event has no field.
pub(super) fn unwritten_counts(operation: &Operation) -> impl Iterator<Item = &'static str> {
    let written = counts(operation);
    let is_written = move |field: Field| {
        let usage = written.get(USAGE_METADATA);
        USAGE
            .field_of(field)
            .is_some_and(|to| usage.is_some_and(|usage| usage.as_object().is_some_and(|usage| usage.contains_key(to.name))))
    };
    let unwritten = COUNTS
        .into_iter()
        .filter(move |field| field.value(operation).is_some() && !is_written(*field));
    unwritten.filter_map(Field::path)
}

const COUNTS: [Field; 6] = [
    Field::UsageInput,
    Field::UsageOutput,
    Field::UsageReasoning,
    Field::UsageCacheRead,
    Field::UsageCacheWrite,
    Field::UsageTotal,
];

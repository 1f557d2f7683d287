//! Messages, their contents, and failures.

use crate::document::json::{Json, Object, Text};
use crate::operation::message::Media;
use crate::operation::{Failure, Message, Part, Role};
use crate::run::Run;
use crate::transcript::ExchangeKind;
use crate::transcript::thread::{Node, Thread, Words};
use crate::transcript::{calls, chat, facts};

/// A node of a thread as a chat message.
pub(super) fn of_node<'a>(run: &'a Run, thread: &Thread<'a>, node: &Node<'a>, id: Text<'a>) -> Object<'a> {
    let item = node.item.and_then(|item| thread.items.get(item));
    let step = item.and_then(|item| item.exchange.step?.of(run));
    let mut more = Object::new();
    let mut message = match &node.words {
        Words::Input(source) | Words::Turn(source) => {
            let is_turn = matches!(node.words, Words::Turn(_));
            let role = if is_turn { &Role::Assistant } else { &source.role };
            more.add_filled("name", source.name.as_deref());
            of_message(source, role, id, &mut more)
        }
        Words::OfOperation { is_user, text } => {
            let role = if *is_user { "user" } else { "assistant" };
            more.add_filled("span_id", step.map(|step| step.id.as_str()));
            Object::from([("id", id.into()), ("role", role.into()), ("content", text.clone().into())])
        }
        Words::Result { call, text, failure } => {
            let mut message = Object::from([("id", id.into()), ("role", "tool".into()), ("content", text.clone().into())]);
            if let Some((asked, id)) = thread.asked(node, *call) {
                message.add("tool_call_id", id.clone());
                message.add_filled("function", chat::known_name(run, asked));
            }
            message.add_filled("error", failure.map(tool_error));
            message
        }
    };
    if let Words::Turn(_) = node.words {
        message.add("source", "generate");
        message.add_filled("model", step.and_then(|step| step.operation.model.name()));
    }
    if let (Words::Input(_) | Words::Turn(_), Some(item)) = (&node.words, item) {
        let is_said = matches!(item.exchange.kind, ExchangeKind::Message(_) | ExchangeKind::Turn(_));
        for (asked, id) in item.exchange.calls.iter().zip(&item.ids).filter(|_| is_said) {
            let arguments = chat::arguments(run, asked).0;
            let name = chat::name(run, asked).into();
            let call = [("id", id.clone().into()), ("function", name), ("arguments", arguments.into())];
            message.push("tool_calls", Object::from(call));
        }
    }
    if item.is_some_and(|item| item.exchange.branch) && node.item.is_some() && !matches!(node.words, Words::Result { .. }) {
        more.add("branch", true);
    }
    message.add_filled("metadata", more);
    message
}

/// Any message but the first of a model call's output.
pub(super) fn of_choice<'a>(source: &'a Message) -> Object<'a> {
    let mut more = Object::new();
    let mut message = of_message(source, &Role::Assistant, Text::default(), &mut more);
    let _ = message.remove("id");
    for call in &source.tool_calls {
        let id = call.id.as_deref().unwrap_or_default();
        let arguments = calls::arguments_object(call.arguments.as_ref()).0;
        let call = [
            ("id", id.into()),
            ("function", (&call.name).into()),
            ("arguments", arguments.into()),
        ];
        message.push("tool_calls", Object::from(call));
    }
    message.add_filled("metadata", more);
    message
}

fn of_message<'a>(source: &'a Message, role: &'a Role, id: Text<'a>, more: &mut Object<'a>) -> Object<'a> {
    let word = match role {
        Role::System | Role::Developer => "system",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::User | Role::Other(_) => "user",
    };
    if let Role::Developer | Role::Other(_) = role {
        more.add("role", role.name());
    }
    let mut message = Object::from([("id", id.into()), ("role", word.into()), ("content", content(source))]);
    if word == "tool" {
        message.add_filled("tool_call_id", source.tool_call_id.as_deref());
    }
    message
}

/// Text, or a list of parts if there is more than text.
fn content(message: &Message) -> Json<'_> {
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    if message.parts.iter().all(is_text) {
        return chat::content(message).0.into();
    }
    message.parts.iter().map(part).collect()
}

fn part(part: &Part) -> Object<'_> {
    match part {
        Part::Text(text) => Object::from([("type", "text".into()), ("text", text.into())]),
        Part::Reasoning { text, opaque } => {
            let words = text.as_deref().unwrap_or_default();
            let mut out = Object::from([("type", "reasoning".into()), ("reasoning", words.into())]);
            out.add_filled("signature", opaque.get("signature").and_then(|signature| signature.as_str()));
            if words.is_empty() {
                out.add("redacted", true);
            }
            out.add_filled("internal", opaque);
            out
        }
        Part::Media(media) => of_media(media),
        Part::Other(value) => Object::from([("type", "data".into()), ("data", Object::from([("part", value.into())]).into())]),
    }
}

/// A picture, sound, video or file. Without a URL or bytes, or of another type, it is kept as recorded.
fn of_media(media: &Media) -> Object<'_> {
    let url = media.url();
    let mime = media.mime_type.as_deref().unwrap_or_default();
    let ending = mime.rsplit('/').next().unwrap_or_default();
    let format = match ending {
        "wav" | "x-wav" | "wave" => Some("wav"),
        "mp3" | "mpeg" if media.modality == "audio" => Some("mp3"),
        "mp4" | "mpeg" if media.modality == "video" => Some(if ending == "mp4" { "mp4" } else { "mpeg" }),
        "quicktime" | "mov" => Some("mov"),
        _ => None,
    };
    match (media.modality.as_str(), url, format) {
        ("image", Some(url), _) => Object::from([("type", "image".into()), ("image", url.into())]),
        ("audio", Some(url), Some(format @ ("wav" | "mp3"))) => {
            Object::from([("type", "audio".into()), ("audio", url.into()), ("format", format.into())])
        }
        ("video", Some(url), Some(format @ ("mp4" | "mpeg" | "mov"))) => {
            Object::from([("type", "video".into()), ("video", url.into()), ("format", format.into())])
        }
        (modality, url, _) => {
            let mut data = Object::from([("modality", modality.into())]);
            data.add_filled("mime_type", media.mime_type.as_deref());
            data.add_filled("uri", url);
            data.add_filled("part", &media.raw);
            Object::from([("type", "data".into()), ("data", data.into())])
        }
    }
}

/// Why a tool failed, as one of Inspect's own kinds.
pub(super) fn tool_error(failure: &Failure) -> Object<'_> {
    let name = failure.error_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    let kinds = [
        ("timeout", "timeout"),
        ("permission", "permission"),
        ("filenotfound", "file_not_found"),
        ("isadirectory", "is_a_directory"),
        ("unicodedecode", "unicode_decode"),
        ("cancel", "cancelled"),
    ];
    let kind = kinds
        .iter()
        .find(|(part, _)| name.contains(part))
        .map_or(if failure.is_cancellation() { "cancelled" } else { "unknown" }, |(_, kind)| kind);
    Object::from([("type", kind.into()), ("message", calls::error_text(failure).into())])
}

/// Why a run or a model call failed.
pub(super) fn eval_error(failure: &Failure) -> Object<'_> {
    let stack = failure.stacktrace.as_deref().unwrap_or_default();
    let message = match (&failure.error_type, calls::error_text(failure)) {
        (Some(kind), text) if !kind.is_empty() && kind != text => Text::from(format!("{kind}: {text}")),
        (_, text) => text.into(),
    };
    Object::from([
        ("message", message.into()),
        ("traceback", stack.into()),
        ("traceback_ansi", stack.into()),
    ])
}

/// An evaluation as a score; `None` if it has neither a number nor a word.
pub(super) fn score(evaluation: &crate::operation::Evaluation) -> Option<Object<'_>> {
    let value = match (evaluation.score.filter(|score| score.is_finite()), &evaluation.label) {
        (Some(score), _) => Json::from(score),
        (None, Some(label)) => label.into(),
        (None, None) => return None,
    };
    let mut out = Object::from([("value", value)]);
    out.add_filled("explanation", evaluation.explanation.as_deref());
    let about = [
        ("label", evaluation.label.as_deref().into()),
        ("annotator_kind", evaluation.annotator_kind.as_deref().into()),
    ];
    out.add_filled("metadata", facts::filled(about));
    Some(out)
}

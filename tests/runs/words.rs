//! Values on one line.

use serde_json::{Map, Value};
use spanbridge::operation::{Failure, Message, Part, ToolCall};

/// Longer texts are cut here; the number of characters follows.
const CUT: usize = 160;

/// In quotes, without line breaks, cut after [`CUT`] characters.
pub(crate) fn quoted(text: &str) -> String {
    let length = text.chars().count();
    if length <= CUT {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(CUT).collect();
    format!("{start:?}.. ({length} characters)")
}

/// As it is, cut after `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{start}.. ({length} characters)")
}

/// A text in quotes, any other value as JSON; cut after [`CUT`] characters.
pub(crate) fn value(value: &Value) -> String {
    if let Value::String(text) = value {
        return quoted(text);
    }
    cut(&value.to_string(), CUT)
}

pub(crate) fn map(map: &Map<String, Value>) -> String {
    value(&Value::Object(map.clone()))
}

pub(crate) fn failure(failure: &Failure) -> String {
    let Failure {
        message,
        error_type,
        stacktrace,
    } = failure;
    let lines = stacktrace.as_ref().map(|trace| format!("stack of {} lines", trace.lines().count()));
    let said = [error_type.clone(), message.as_deref().map(quoted), lines];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn call(call: &ToolCall) -> String {
    let ToolCall {
        id,
        name,
        arguments,
        arguments_text,
        answered,
    } = call;
    let mut out = format!("call {name}");
    if let Some(id) = id {
        out += &format!(" #{id}");
    }
    match (arguments, arguments_text) {
        (Some(arguments), _) => out += &format!(" {}", value(arguments)),
        (None, Some(text)) => out += &format!(" text {}", quoted(text)),
        (None, None) => {}
    }
    if let Some(answer) = answered {
        out += &format!(", answered: {}", parts(answer).join("; "));
    }
    out
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => quoted(text),
        Part::Reasoning { text, opaque } => {
            let mut out = "reasoning".to_owned();
            if let Some(text) = text {
                out += &format!(" {}", quoted(text));
            }
            if !opaque.is_empty() {
                out += &format!(" opaque {}", map(opaque));
            }
            out
        }
        Part::Media(media) => {
            let bytes = media.base64.as_ref().map_or(0, String::len);
            let (kind, uri) = (media.mime_type.as_deref().unwrap_or(""), media.uri.as_deref().unwrap_or(""));
            format!("{} {kind} {uri} {bytes} characters of base64", media.modality)
        }
        Part::Other(other) => format!("other {}", value(other)),
    }
}

/// The role is the caller's to say.
pub(crate) fn parts(message: &Message) -> Vec<String> {
    let Message {
        role: _,
        parts,
        tool_calls,
        tool_call_id,
        name,
        result,
        is_error,
        finish_reason,
        choice,
    } = message;
    let mut out: Vec<String> = parts.iter().map(part).chain(tool_calls.iter().map(call)).collect();
    let mut note = |label: &str, text: Option<String>| out.extend(text.map(|text| format!("{label}{text}")));
    note("#", tool_call_id.clone());
    note("name ", name.clone());
    note("result ", result.as_deref().map(value));
    note("error", is_error.then(String::new));
    note("finished: ", finish_reason.clone());
    note("choice ", (*choice > 0).then(|| choice.to_string()));
    out
}

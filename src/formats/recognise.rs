//! Recognises the format of a document by its content.

use serde_json::Value;

use super::any::AnyFormat;
use super::back::DisassembleError;
use super::registry::by_id;
use crate::json_tokens::{Kind, Tokens};

/// The documents in a value: the value itself, or the members of a list of documents.
pub(in crate::formats) fn documents(value: &Value, path: String) -> Vec<(String, &Value)> {
    match value.as_array() {
        Some(list) if list.first().is_some_and(is_whole) => {
            let place = |(index, value)| (format!("{path}[{index}]"), value);
            list.iter().enumerate().map(place).collect()
        }
        _ => match runs_of(value) {
            Some(list) => {
                let place = |(index, value)| (format!("{path}.{RUNS}[{index}]"), value);
                list.iter().enumerate().map(place).collect()
            }
            None => vec![(path, value)],
        },
    }
}

/// Key under which tau2's results hold their runs.
pub(in crate::formats) const RUNS: &str = "simulations";

/// The runs of a results file.
fn runs_of(value: &Value) -> Option<&Vec<Value>> {
    let list = value.get(RUNS)?.as_array()?;
    list.first().is_some_and(is_whole).then_some(list)
}

/// Whether a list member is a whole document, not a part of one.
fn is_whole(value: &Value) -> bool {
    value.is_array() || of_object(value).is_some()
}

fn of_object(value: &Value) -> Option<&'static str> {
    let has = |key: &str| value.get(key).is_some();
    let list = |key: &str| value.get(key).is_some_and(Value::is_array);
    // A list under such a key belongs to the format if it is empty or its first member has one of the format's marks.
    let listed = |key: &str, marks: &[&str]| {
        let list = value.get(key).and_then(Value::as_array);
        list.is_some_and(|list| list.first().is_none_or(|first| marks.iter().any(|mark| first.get(*mark).is_some())))
    };
    let version = value.get("schema_version").and_then(Value::as_str);
    if version.is_some_and(|version| version.starts_with("ATIF-")) {
        Some("atif")
    } else if listed("nodes", &["name"]) {
        Some("reflex")
    } else if has("session_time_steps") || has("event_history") || has("markov_blanket_message_history") {
        Some("synth")
    } else if listed("steps", &["step_type", "step_id"]) || has("run_id") && has("started_at") {
        Some("contextforge")
    } else if listed("blocks", &["sub_type", "block_type", "payload"]) {
        Some("openreward")
    } else if has("eval_cases") || has("evalCases") || is_session_of_adk(value) {
        Some("adk")
    } else if value.get("eval").is_some_and(Value::is_object) && (has("samples") || has("plan") || has("stats")) {
        Some("inspect")
    } else if list("traces") && value.get("task").is_some_and(Value::is_object) {
        Some("verifiers")
    } else if has("input") && (has("actual_output") || has("actualOutput"))
        || has("scenario") && (list("turns") || is_list_as_text(value.get("turns")))
    {
        Some("deepeval")
    } else if list("prompt") && list("completion") || is_chat_row(value) || is_other_row(value) {
        Some("messages")
    } else if list("messages") {
        Some("invariant")
    } else {
        None
    }
}

/// Whether an object holds only messages: Invariant's rows and push requests have further keys.
fn is_chat_row(value: &Value) -> bool {
    const OF_INVARIANT: [&str; 4] = ["annotations", "metadata", "dataset", "index"];
    let first = value.get("messages").and_then(|messages| messages.get(0));
    first.is_some_and(|first| first.get("role").is_some()) && OF_INVARIANT.iter().all(|key| value.get(*key).is_none())
}

/// Whether a list is a chat with an answer and not an Invariant trace, where arguments are objects and events have metadata.
fn is_chat(list: &[Value]) -> bool {
    // Gradio's histories: Invariant's events have metadata, or do not.
    let has_null = list.iter().any(|message| message.get("metadata").is_some_and(Value::is_null));
    let is_invariants = |message: &Value| {
        let mut calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        let has_object = |call: &Value| call.pointer("/function/arguments").is_some_and(Value::is_object);
        message.get("role").is_none() || message.get("metadata").is_some() || calls.any(has_object)
    };
    let answers = |message: &Value| message.get("role").and_then(Value::as_str) == Some("assistant");
    list.iter().any(answers) && (has_null || !list.iter().any(is_invariants))
}

/// Whether an object is a session of ADK.
fn is_session_of_adk(value: &Value) -> bool {
    let has = |snake: &str, camel: &str| value.get(snake).or_else(|| value.get(camel)).is_some_and(Value::is_string);
    has("app_name", "appName") && has("user_id", "userId") && value.get("events").is_some_and(Value::is_array)
}

/// Whether an object is a row whose messages are under another key, in ShareGPT form, or JSON text. A row with a choice of answers
/// is a preference row instead.
fn is_other_row(value: &Value) -> bool {
    let row = value.as_object().filter(|row| !row.contains_key("chosen"));
    let key = row.and_then(super::messages::back::key_of);
    key.is_some_and(|key| key != "messages" || value.get(key).is_some_and(Value::is_string))
}

/// Whether an object is a single message, not a row of messages.
pub(in crate::formats) fn is_message(value: &Value) -> bool {
    let has_words = || ["content", "tool_calls", "parts"].iter().any(|key| value.get(*key).is_some());
    let is_message = value.get("role").is_some_and(Value::is_string) && has_words();
    is_message && of_object(value).is_none()
}

/// Joins messages written one after the other, as programs log them during a conversation, to the text of one list.
pub(in crate::formats) fn list_of_lines(text: &str) -> serde_json::Result<String> {
    let lines = serde_json::Deserializer::from_str(text).into_iter::<&serde_json::value::RawValue>();
    let lines: serde_json::Result<Vec<&str>> = lines.map(|line| line.map(serde_json::value::RawValue::get)).collect();
    Ok(format!("[{}]", lines?.join(",\n")))
}

/// Whether a list is written as JSON text, as in a table cell.
fn is_list_as_text(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_str)
        .is_some_and(|text| text.trim_start().starts_with("[{"))
}

/// Whether messages have blocks that Invariant lacks: those of Anthropic's API, which clients store as a list.
fn has_blocks_of_others(messages: &[Value]) -> bool {
    let is_of_others = |block: &Value| {
        let kind = block.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| !matches!(kind, "text" | "image_url"))
    };
    // Lists written by Cline, and Responses items.
    let is_other = |message: &Value| message.get("ts").is_some() || message.get("role").is_none() && is_of_others(message);
    let blocks = |message: &Value| {
        message
            .get("content")
            .and_then(Value::as_array)
            .is_some_and(|blocks| blocks.iter().any(is_of_others))
    };
    messages.iter().any(|message| is_other(message) || blocks(message))
}

/// Whether a list is in ADK's first form: one case as its invocations, or cases with their invocations in `data`.
fn is_old_adk(list: &[Value]) -> bool {
    let is_invocation = |value: &Value| value.get("query").is_some() && value.get("expected_tool_use").is_some();
    let of_case = |value: &Value| {
        value
            .get("data")
            .and_then(Value::as_array)
            .is_some_and(|data| data.iter().any(is_invocation))
    };
    list.iter().any(|value| is_invocation(value) || of_case(value))
}

/// Whether a value is the data set metadata that Explorer writes before its rows, not a document.
pub(in crate::formats) fn is_about_rows(value: &Value) -> bool {
    value.get("metadata").is_some_and(Value::is_object) && of_object(value).is_none() && value.get("messages").is_none()
}

/// Recognises the format of a JSON text from its first document, which is parsed for this.
#[must_use]
pub fn recognised(text: &[u8]) -> Option<&'static AnyFormat> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let mut value = values.next()?.ok()?;
    #[cfg(feature = "server")]
    if super::in_forms::is_of_one(&value) {
        return by_id("messages");
    }
    if is_about_rows(&value) {
        value = values.next()?.ok()?;
        if of_object(&value) != Some("invariant") && !value.is_array() {
            return None;
        }
    }
    if is_message(&value) {
        return by_id("messages");
    }
    let (_, first) = documents(&value, String::new()).into_iter().next()?;
    format_of(first).ok()
}

/// Whether a JSON text, or the first member of its list, is an export request. Reads no further than its key.
#[must_use]
pub fn is_export_request(text: &[u8]) -> bool {
    let mut tokens = Tokens::of(text).peekable();
    let _ = tokens.next_if(|token| token.kind == Kind::List);
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        match token.kind {
            Kind::Object | Kind::List => depth += 1,
            Kind::End => depth = depth.saturating_sub(1),
            Kind::Text if depth == 1 && tokens.peek().is_some_and(|next| next.kind == Kind::Colon) => {
                let key = text.get(token.content()).unwrap_or_default();
                if OF_REQUESTS.iter().any(|known| known.as_bytes() == key) {
                    return true;
                }
            }
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// The keys of export requests.
const OF_REQUESTS: [&str; 6] = [
    "resourceSpans",
    "resourceLogs",
    "resourceMetrics",
    "resource_spans",
    "resource_logs",
    "resource_metrics",
];

/// Recognises a document's format.
pub(in crate::formats) fn format_of(value: &Value) -> Result<&'static AnyFormat, DisassembleError> {
    let unrecognised = |detail: &str| DisassembleError::Unrecognised { detail: detail.to_owned() };
    let id = match value {
        Value::Array(list) => match list.first() {
            None => return Err(unrecognised("an empty list can be of any format")),
            Some(first) if first.get("sub_type").is_some() || first.get("block_type").is_some() => Some("openreward"),
            Some(first) if first.get("role").is_some() && has_blocks_of_others(list) => Some("messages"),
            Some(first) if first.get("role").is_some() && is_chat(list) => Some("messages"),
            Some(first) if first.get("role").is_some() || first.get("function").is_some() => Some("invariant"),
            Some(first) if first.get("tools").is_some_and(Value::is_array) => Some("invariant"),
            Some(_) if is_old_adk(list) => Some("adk"),
            Some(_) => None,
        },
        Value::Object(_) => of_object(value),
        _ => None,
    };
    id.and_then(by_id).ok_or_else(|| unrecognised("its keys belong to no known format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_row_is() {
        for (text, wanted) in [
            (
                r#"{"conversations": [{"from": "human", "value": "hi"}], "tools": "[]"}"#,
                Some("messages"),
            ),
            (
                r#"[{"conversations": [{"from": "human", "value": "hi"}], "tools": "[]"}]"#,
                Some("messages"),
            ),
            // Of preferences, which a form reads.
            (
                r#"{"conversations": [{"from": "human", "value": "hi"}], "chosen": {}, "rejected": {}}"#,
                Some("messages"),
            ),
            // Tools as text are not offered in an event: a form reads questions with calls.
            (r#"[{"query": "hi", "tools": "[]", "answers": "[]"}]"#, Some("messages")),
            (
                r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]"#,
                Some("messages"),
            ),
            (
                r#"[{"role": "user", "content": "hi", "metadata": {}}, {"role": "assistant", "content": "Hello."}]"#,
                Some("invariant"),
            ),
            (
                r#"[{"tools": [{"name": "look"}]}, {"role": "user", "content": "hi"}]"#,
                Some("invariant"),
            ),
            (r#"{"scenario": "s", "turns": "[{\"role\": \"user\"}]"}"#, Some("deepeval")),
            (r#"{"scenario": "s", "turns": "none"}"#, None),
            (r#"{"id": "s", "appName": "a", "userId": "u", "events": []}"#, Some("adk")),
        ] {
            assert_eq!(recognised(text.as_bytes()).map(|format| format.id), wanted, "{text}");
        }
    }

    #[test]
    fn the_top_keys_alone_tell_export_requests() {
        for document in [
            r#"[{"role": "user", "content": "hi", "metadata": {"resourceSpans": []}}]"#,
            r#"{"run_id": "r", "started_at": "2026-01-01T00:00:00Z", "metadata": {"resourceSpans": []}}"#,
            r#"[{"role": "user", "content": "what is \"resourceSpans\"?"}]"#,
        ] {
            assert!(!is_export_request(document.as_bytes()), "{document}");
            assert!(recognised(document.as_bytes()).is_some(), "{document}");
        }
        for request in [
            r#"{"resourceSpans": []}"#,
            r#"{"steps": [], "resource_logs": []}"#,
            r#"[{"resourceMetrics": []}]"#,
            r#"{"resourceSpans": [cut"#,
        ] {
            assert!(is_export_request(request.as_bytes()), "{request}");
        }
    }
}

//! Reads messages that cross a boundary, for content that is in no event; and the times of messages and events.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::document::shape::kind_of;
use crate::formats::back::{At, Result, TraceBuilder, seconds};
use crate::operation::{Kind, Operation, ToolUse};
use crate::span::UnixNanos;

/// The sender of a message, in either vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Agent,
    Action,
    Result,
    Other,
}

/// One message.
#[derive(Debug)]
struct ReadMessage {
    speaker: Speaker,
    /// The payload if there is one, else the text.
    value: Value,
    call_id: Option<String>,
    id_is_derived: bool,
    at: Option<UnixNanos>,
    place: String,
}

/// All messages of a session.
#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<ReadMessage>,
    /// The called tool and its arguments, by call id.
    actions: HashMap<String, Value>,
}

/// Content of the events: words, and calls by id.
#[derive(Debug, Default)]
pub(super) struct EventWords {
    pub(super) words: HashSet<String>,
    pub(super) calls: HashSet<String>,
    /// Calls requested by a model; an event may contain their results.
    pub(super) asked: HashSet<String>,
    /// Ids of calls that were not recorded by a span.
    pub(super) derived_ids: HashSet<String>,
}

impl Messages {
    /// The arguments of a call.
    pub(super) fn arguments(&self, call_id: &str) -> Option<&Value> {
        let action = self.actions.get(call_id)?;
        action.get("arguments").or_else(|| action.get("input"))
    }
}

pub(super) fn read(at: &At<'_>) -> Result<Messages> {
    let mut out = Messages::default();
    for message in at.items_of("markov_blanket_message_history")? {
        message.object()?;
        let metadata = message.object_of("metadata")?;
        let kind = message.text_of("message_type")?.unwrap_or_default();
        let named = metadata.get("boundary_type").and_then(Value::as_str).unwrap_or(kind);
        let speaker = match named {
            "user_input" | "user" => Speaker::User,
            "agent_response" | "assistant" => Speaker::Agent,
            "action" | "tool_use" => Speaker::Action,
            "result" | "tool_result" => Speaker::Result,
            _ => Speaker::Other,
        };
        let read = ReadMessage {
            speaker,
            value: content(&message)?,
            call_id: metadata.get("call_id").and_then(Value::as_str).map(str::to_owned),
            id_is_derived: metadata.get("call_id_derived") == Some(&Value::Bool(true)),
            at: event_time(&message)?,
            place: message.own.clone(),
        };
        if let (Speaker::Action, Some(id)) = (speaker, &read.call_id) {
            out.actions.entry(id.clone()).or_insert_with(|| read.value.clone());
        }
        out.list.push(read);
    }
    Ok(out)
}

/// A payload as a value, else the text.
fn content(message: &At<'_>) -> Result<Value> {
    let Some(content) = message.some("content") else {
        return Ok(Value::Null);
    };
    if let Some(text) = content.value.as_str() {
        return Ok(text.into());
    }
    content.object()?;
    if let Some(payload) = content.some("json_payload") {
        let text = payload.text()?;
        return serde_json::from_str(text).map_err(|error| payload.refuse(format!("`json_payload` is not JSON text: {error}")));
    }
    Ok(content.text_of("text")?.map(Value::from).unwrap_or_default())
}

/// Whether events contain everything about a call: for a call without a result, the model's event is enough.
fn is_call_known(id: Option<&str>, results: &HashMap<&str, &ReadMessage>, event_words: &EventWords) -> bool {
    id.is_some_and(|id| event_words.calls.contains(id) || event_words.asked.contains(id) && !results.contains_key(id))
}

/// Adds messages that are in no event as separate operations.
pub(super) fn unwritten(messages: &Messages, event_words: &EventWords, builder: &mut TraceBuilder) {
    let results: HashMap<&str, &ReadMessage> = messages
        .list
        .iter()
        .filter(|message| message.speaker == Speaker::Result)
        .filter_map(|message| Some((message.call_id.as_deref()?, message)))
        .collect();
    for message in &messages.list {
        let words = message.value.as_str().map(str::trim);
        let is_written = words.is_some_and(|words| words.is_empty() || event_words.words.contains(words)) || message.value.is_null();
        let mut operation = Operation::default();
        let mut end = message.at;
        match message.speaker {
            Speaker::User if !is_written => {
                operation.kind = Kind::UserInput;
                "input".clone_into(&mut operation.name);
                operation.input = message.value.clone().into();
            }
            Speaker::Agent if !is_written => {
                operation.kind = Kind::FinalOutput;
                "output".clone_into(&mut operation.name);
                operation.output = message.value.clone().into();
            }
            Speaker::Action if !is_call_known(message.call_id.as_deref(), &results, event_words) => {
                let text = |key: &str| message.value.get(key).and_then(Value::as_str).map(str::to_owned);
                let result = message.call_id.as_deref().and_then(|id| results.get(id));
                operation.kind = Kind::Tool;
                operation.name = text("name").or_else(|| text("tool")).unwrap_or_else(|| "action".to_owned());
                let arguments = message.value.get("arguments").or_else(|| message.value.get("input"));
                operation.tool = Some(Box::new(ToolUse {
                    name: Some(operation.name.clone()),
                    call_id: message.call_id.clone().filter(|_| !message.id_is_derived),
                    arguments: arguments.or(Some(&message.value)).cloned(),
                    result: result.map(|result| result.value.clone()),
                    ..ToolUse::default()
                }));
                end = result.and_then(|result| result.at).max(message.at);
            }
            _ => continue,
        }
        let id = builder.id(None, &message.place);
        let index = builder.add(id, 0, operation);
        builder.times(index, message.at, end);
    }
}

/// Exact times, as written by this program.
pub(super) fn exact(metadata: &mut Map<String, Value>) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let mut nanos = |key: &str| {
        let value = metadata.shift_remove(key)?;
        value.as_str()?.parse().ok().map(UnixNanos)
    };
    (nanos("spanbridge.started_at_unix_nano"), nanos("spanbridge.ended_at_unix_nano"))
}

/// The time in `time_record.event_time`, in seconds since 1970, to the microsecond; 0 means that there is none.
pub(super) fn event_time(at: &At<'_>) -> Result<Option<UnixNanos>> {
    let Some(time) = at.some("time_record").and_then(|record| record.some("event_time")) else {
        return Ok(None);
    };
    let number = time.value.as_f64();
    let number = number.ok_or_else(|| time.refuse(format!("a number of seconds is wanted, found {}", kind_of(time.value))))?;
    let at = seconds(number).ok_or_else(|| time.refuse("no time in seconds since 1970"))?;
    Ok((number > 0.0).then_some(at))
}

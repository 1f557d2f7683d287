//! Converts messages with their parts to events.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::events::{Call, Compaction, Event, Prompt, Thread, ToolResult, fact, ids};
use crate::operation::message::Media;
use crate::operation::{Cost, Message, Part, Role, TokenCount};
use crate::sessions::{get, parts};
use crate::span::UnixNanos;

/// One session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) agent: Option<String>,
    /// Milliseconds since 1970.
    pub(super) created: i64,
    pub(super) messages: Vec<(Value, Vec<Value>)>,
}

impl Session {
    /// A session from its document.
    pub(super) fn of(info: &Value) -> Self {
        Self {
            id: get::owned(info, "/id").unwrap_or_default(),
            parent: get::owned(info, "/parentID"),
            title: get::owned(info, "/title"),
            version: get::owned(info, "/version"),
            directory: get::owned(info, "/directory"),
            created: info.pointer("/time/created").and_then(Value::as_i64).unwrap_or_default(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, message: Value, parts: Vec<Value>) {
        self.agent = self.agent.take().or_else(|| get::owned(&message, "/agent"));
        self.messages.push((message, parts));
    }
}

/// The tool calls that started sessions, by the session.
pub(super) fn agents(sessions: &[Session]) -> HashMap<String, String> {
    let parts = sessions.iter().flat_map(|session| &session.messages).flat_map(|(_, parts)| parts);
    let started = |part: &Value| Some((get::owned(part, "/state/metadata/sessionId")?, get::owned(part, "/callID")?));
    parts.filter_map(started).collect()
}

/// The events of a session. `seen`: the prompts of older sessions; a turn that begins with one of them is a copy and is dropped.
pub(super) fn events(session: Session, thread: &mut Thread, seen: &mut HashSet<String>) {
    let mut is_copy = false;
    let mut facts = Map::new();
    fact(&mut facts, "cwd", session.directory);
    fact(&mut facts, "title", session.title);
    let mut facts = Some(facts);
    for (message, parts) in session.messages {
        match get::text(&message, "/role").unwrap_or_default() {
            "user" => match user(&message, &parts) {
                Event::Prompt(mut prompt) => {
                    is_copy = thread.under.is_none() && !seen.insert(prompt.id.clone());
                    if let Some(facts) = facts.take() {
                        prompt.facts.extend(facts);
                    }
                    if !is_copy {
                        let beside = client_additions(&mut prompt.message, &parts);
                        thread.events.push(Event::Prompt(prompt));
                        thread.events.extend(beside.map(Event::Input));
                    }
                }
                event if !is_copy => thread.events.push(event),
                _ => {}
            },
            "assistant" if !is_copy => assistant(&message, &parts, thread),
            "assistant" => {}
            role => thread.unknown.count(&format!("message/{role}")),
        }
    }
}

/// Takes the client's additions, such as the content of mentioned files, out of a person's message.
fn client_additions(said: &mut Message, list: &[Value]) -> Option<Message> {
    let texts = list.iter().filter(|part| get::text(part, "/type") == Some("text"));
    let written: HashSet<&str> = texts
        .filter(|part| get::flag(part, "/synthetic"))
        .filter_map(|part| get::text(part, "/text"))
        .collect();
    let is_written = |part: &Part| matches!(part, Part::Text(text) if written.contains(text.as_str()));
    let (beside, own): (Vec<Part>, Vec<Part>) = std::mem::take(&mut said.parts).into_iter().partition(is_written);
    said.parts = own;
    (!beside.is_empty()).then(|| Message {
        role: Role::System,
        parts: beside,
        ..Message::default()
    })
}

/// A prompt, or a text of the client in the user's name.
fn user(message: &Value, list: &[Value]) -> Event {
    let mut said = Message::default();
    let mut synthetic = true;
    let mut compaction = None;
    for part in list {
        match get::text(part, "/type").unwrap_or_default() {
            "text" => {
                synthetic &= get::flag(part, "/synthetic");
                parts::add(&mut said, part);
            }
            "file" => {
                said.parts.push(Part::from(file(part)));
                synthetic = false;
            }
            // A command that a separate agent carries out.
            "subtask" => {
                said.parts.extend(get::owned(part, "/prompt").map(Part::Text));
                synthetic = false;
            }
            "compaction" => compaction = Some(part),
            _ => {}
        }
    }
    let at = get::millis(message, "/time/created");
    if let Some(part) = compaction {
        let mut facts = Map::new();
        fact(&mut facts, "compaction", Some(part.clone()));
        return Event::Facts(facts);
    }
    if synthetic && !said.parts.is_empty() {
        let role = Role::System;
        return Event::Input(Message { role, ..said });
    }
    // A fork copies messages under new ids, but with the same time and content.
    let stamp = at.map_or(0, |at| at.0 / 1_000_000);
    let mut prompt = Prompt {
        id: format!("{stamp} {}", ids::of_text(&said.content())),
        at,
        message: said,
        ..Prompt::default()
    };
    fact(&mut prompt.facts, "agent", get::text(message, "/agent"));
    fact(&mut prompt.facts, "message_id", get::text(message, "/id"));
    Event::Prompt(Box::new(prompt))
}

fn file(part: &Value) -> Media {
    let mime_type = get::owned(part, "/mime");
    let modality = mime_type.as_deref().and_then(|mime| mime.split('/').next()).unwrap_or("file");
    Media {
        modality: modality.to_owned(),
        uri: get::owned(part, "/url"),
        base64: None,
        raw: part.clone(),
        mime_type,
    }
}

fn usage(message: &Value) -> TokenCount {
    let count = |pointer| get::count(message, pointer);
    let (read, write) = (count("/tokens/cache/read"), count("/tokens/cache/write"));
    let reasoning = count("/tokens/reasoning");
    TokenCount {
        input: count("/tokens/input").map(|input| {
            input
                .saturating_add(read.unwrap_or_default())
                .saturating_add(write.unwrap_or_default())
        }),
        output: count("/tokens/output").map(|output| output.saturating_add(reasoning.unwrap_or_default())),
        total: count("/tokens/total"),
        cache_read: read,
        cache_write: write,
        reasoning,
    }
}

fn assistant(message: &Value, list: &[Value], thread: &mut Thread) {
    let start = get::millis(message, "/time/created");
    let completed = get::millis(message, "/time/completed");
    let mut output = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    let mut end: Option<UnixNanos> = None;
    let mut results = Vec::new();
    for part in list {
        match get::text(part, "/type").unwrap_or_default() {
            "text" => {
                parts::add(&mut output, part);
                end = end.max(get::millis(part, "/time/end"));
            }
            "reasoning" => {
                output.parts.push(Part::Reasoning {
                    text: get::owned(part, "/text"),
                    opaque: get::some(part, "/metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
                });
                end = end.max(get::millis(part, "/time/end"));
            }
            "tool" => {
                let input = get::some(part, "/state/input").cloned();
                output
                    .tool_calls
                    .push(parts::tool_call(get::text(part, "/callID"), get::text(part, "/tool"), input));
                results.extend(result(part));
            }
            "step-start" | "step-finish" | "patch" | "snapshot" | "retry" | "file" | "agent" | "subtask" | "compaction" => {}
            kind => thread.unknown.count(&format!("part/{kind}")),
        }
    }
    if end.is_none() {
        end = results.iter().filter_map(|result| result.start).min();
    }
    let cost = Cost {
        total: get::number(message, "/cost"),
        ..Cost::default()
    };
    let stamp = start.map_or(0, |at| at.0 / 1_000_000);
    let id = format!("{stamp} {}", get::text(message, "/modelID").unwrap_or_default());
    if get::flag(message, "/summary") || get::text(message, "/mode") == Some("compaction") {
        thread.events.push(Event::Compacted(Box::new(Compaction {
            id,
            at: end.or(completed).or(start),
            summary: Some(Message {
                role: Role::User,
                ..output
            }),
            usage: usage(message),
            cost,
            ..Compaction::default()
        })));
        return;
    }
    let error = get::some(message, "/error").map(|error| {
        let text = get::text(error, "/data/message").or_else(|| get::text(error, "/name"));
        text.map_or_else(|| error.to_string(), str::to_owned)
    });
    if let Some(error) = &error
        && output.is_blank()
    {
        // No messages: the turn failed.
        thread.events.push(Event::Failed(error.clone(), completed.or(start)));
        return;
    }
    let mut call = Call {
        id,
        start,
        end: end.or(completed),
        requested_model: get::owned(message, "/modelID"),
        response_model: get::owned(message, "/modelID"),
        provider: get::owned(message, "/providerID"),
        finish_reason: get::owned(message, "/finish"),
        output: Some(output),
        usage: usage(message),
        cost,
        failure: error,
        ..Call::default()
    };
    fact(&mut call.facts, "message_id", get::text(message, "/id"));
    fact(&mut call.facts, "mode", get::text(message, "/mode"));
    thread.events.push(Event::Call(Box::new(call)));
    thread.events.extend(results.into_iter().map(Box::new).map(Event::Result));
}

fn result(part: &Value) -> Option<ToolResult> {
    let status = get::text(part, "/state/status")?;
    let text = match status {
        "completed" => part.pointer("/state/output").and_then(Value::as_str)?,
        "error" => part.pointer("/state/error").and_then(Value::as_str)?,
        // It has not ended.
        _ => return None,
    };
    let mut out = ToolResult {
        call_id: get::owned(part, "/callID")?,
        start: get::millis(part, "/state/time/start"),
        end: get::millis(part, "/state/time/end"),
        message: Some(Message::text(Role::Tool, text)),
        // The client counts a command with a non-zero exit code as completed, and does not report an error to the model.
        is_error: status == "error",
        ..ToolResult::default()
    };
    for block in get::list(part, "/state/attachments") {
        if let Some(message) = out.message.as_mut() {
            message.parts.push(Part::from(file(block)));
        }
    }
    fact(&mut out.facts, "exit_code", get::some(part, "/state/metadata/exit").cloned());
    fact(&mut out.facts, "session_id", get::text(part, "/state/metadata/sessionId"));
    fact(&mut out.facts, "patch", get::text(part, "/state/metadata/diff"));
    Some(out)
}

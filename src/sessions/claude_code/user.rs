//! Lines of type `user`: prompts, results of tools, and text of the client in the user's name.

use serde_json::{Map, Value};

use super::agents::Agents;
use super::reader::AgentReader;
use crate::events::{Compaction, Event, Prompt, ToolResult, fact};
use crate::operation::{Message, Part, Role};
use crate::sessions::{get, parts};

pub(super) fn line(reader: &mut AgentReader, line: &Value, agents: &mut Agents) {
    let content = line.pointer("/message/content").unwrap_or(&Value::Null);
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let (results, others): (Vec<&Value>, Vec<&Value>) = blocks.iter().partition(|block| get::text(block, "/type") == Some("tool_result"));
    if !results.is_empty() {
        for block in &results {
            result(reader, line, block, agents);
        }
        let mut beside = Message {
            role: Role::System,
            ..Message::default()
        };
        others.iter().for_each(|block| parts::add(&mut beside, block));
        if !beside.parts.is_empty() {
            reader.thread.events.push(Event::Input(beside));
        }
        return;
    }
    let mut message = parts::message(Role::User, content);
    let is_meta = get::flag(line, "/isMeta");
    let reminders = if is_meta { Message::default() } else { reminders(&mut message) };
    let text = message.content();
    if get::flag(line, "/isCompactSummary") {
        reader.sent.begin();
        let mut compaction = announced(reader, line).unwrap_or_else(|| {
            Box::new(Compaction {
                id: format!("{} summary", get::text(line, "/uuid").unwrap_or_default()),
                at: get::time(line, "/timestamp"),
                ..Compaction::default()
            })
        });
        compaction.summary = Some(message);
        reader.thread.events.push(Event::Compacted(compaction));
    } else if line.get("interruptedMessageId").is_some() || !is_meta && text.starts_with("[Request interrupted by user") {
        reader.facts("interrupted", text);
    } else if is_meta {
        meta(reader, message);
    } else if text.trim_start().starts_with("<local-command-stdout>") || text.trim_start().starts_with("<local-command-stderr>") {
        reader.end_command();
        reader.facts("local_commands", text);
    } else if text.starts_with("<bash-") {
        // A command that a person ran, with its output: the model receives both with the next prompt.
        let role = Role::System;
        reader.thread.events.push(Event::Input(Message { role, ..message }));
    } else {
        prompt(reader, line, message, &text);
    }
    if !reminders.parts.is_empty() {
        reader.thread.events.push(Event::Input(reminders));
    }
}

/// The compaction announced by the previous line, if this line has its summary. Its event moves here.
fn announced(reader: &mut AgentReader, line: &Value) -> Option<Box<Compaction>> {
    let (id, place) = reader.boundary.take()?;
    let follows = place + 1 == reader.thread.events.len();
    let event = reader.thread.events.get_mut(place)?;
    if !follows && get::text(line, "/parentUuid") != Some(&id) {
        return None;
    }
    match std::mem::replace(event, Event::Facts(Map::new())) {
        Event::Compacted(compaction) => Some(compaction),
        other => {
            *event = other;
            None
        }
    }
}

/// Takes the client's reminders, which are separate blocks, out of a user message.
fn reminders(message: &mut Message) -> Message {
    let is_reminder = |part: &Part| matches!(part, Part::Text(text) if text.trim_start().starts_with("<system-reminder>"));
    let mut out = Message {
        role: Role::System,
        ..Message::default()
    };
    if message.parts.iter().any(|part| !is_reminder(part)) {
        let (reminders, said) = std::mem::take(&mut message.parts).into_iter().partition(is_reminder);
        (out.parts, message.parts) = (reminders, said);
    }
    out
}

/// Handles text that the client adds: of a command or a skill, or a notice.
fn meta(reader: &mut AgentReader, message: Message) {
    if std::mem::take(&mut reader.command)
        && let Some(Event::Prompt(prompt)) = reader.prompt.and_then(|prompt| reader.thread.events.get_mut(prompt))
    {
        prompt.received = Some(message);
        return;
    }
    let role = Role::System;
    reader.thread.events.push(Event::Input(Message { role, ..message }));
}

fn prompt(reader: &mut AgentReader, line: &Value, mut message: Message, text: &str) {
    reader.is_told(text, false);
    let id = get::text(line, "/promptId");
    let is_notice = text.trim_start().starts_with("<task-notification>");
    let is_command = text.trim_start().starts_with("<command-");
    // Text typed while the agent works belongs to the turn.
    if id.is_some() && id == reader.prompt_id.as_deref() && !is_notice && reader.thread.under.is_none() {
        reader.thread.events.push(Event::Input(message));
        return;
    }
    reader.end_command();
    reader.prompt_id = id.map(str::to_owned);
    reader.command = is_command;
    if is_command && let Some(typed) = typed(text) {
        message = Message::text(Role::User, typed);
    }
    let mut prompt = Prompt {
        id: get::owned(line, "/uuid").unwrap_or_default(),
        // `/branch` copies the lines before it.
        session: get::owned(line, "/forkedFrom/sessionId").filter(|original| *original != reader.thread.session),
        at: get::time(line, "/timestamp"),
        received: is_command.then(|| Message::text(Role::User, text)),
        reports: between(text, "<tool-use-id>", "</tool-use-id>")
            .filter(|_| is_notice)
            .map(str::to_owned),
        message,
        ..Prompt::default()
    };
    for (key, pointer) in [
        ("prompt_id", "/promptId"),
        ("prompt_source", "/promptSource"),
        ("turn_origin", "/turnOrigin"),
        ("permission_mode", "/permissionMode"),
        ("entrypoint", "/entrypoint"),
        ("cwd", "/cwd"),
        ("git_branch", "/gitBranch"),
    ] {
        fact(&mut prompt.facts, key, get::text(line, pointer));
    }
    reader.prompt = Some(reader.thread.events.len());
    reader.thread.events.push(Event::Prompt(Box::new(prompt)));
}

/// A command as typed.
pub(super) fn typed(text: &str) -> Option<String> {
    let name = between(text, "<command-name>", "</command-name>")?;
    let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
    Some(format!("{name} {arguments}").trim().to_owned())
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside)
}

fn result(reader: &mut AgentReader, line: &Value, block: &Value, agents: &mut Agents) {
    let Some(call_id) = get::text(block, "/tool_use_id") else { return };
    let about = line.get("toolUseResult").unwrap_or(&Value::Null);
    agents.note(call_id, about);
    reader.asked.remove(call_id);
    let mut result = ToolResult {
        call_id: call_id.to_owned(),
        end: get::time(line, "/timestamp"),
        message: Some(parts::message(Role::Tool, block.get("content").unwrap_or(&Value::Null))),
        is_error: get::flag(block, "/is_error"),
        ..ToolResult::default()
    };
    let facts = &mut result.facts;
    fact(facts, "permission", get::some(line, "/permissionDecision").cloned());
    fact(facts, "denial", get::text(line, "/toolDenialKind"));
    for (key, pointer) in [
        ("patch", "/structuredPatch"),
        ("interrupted", "/interrupted"),
        ("stderr", "/stderr"),
        ("status", "/status"),
        ("agent_id", "/agentId"),
        ("run_id", "/runId"),
        ("persisted_output", "/persistedOutputPath"),
    ] {
        let value = get::some(about, pointer).filter(|value| **value != Value::Bool(false) && value.as_str() != Some(""));
        fact(facts, key, value.cloned());
    }
    reader.thread.events.push(Event::Result(Box::new(result)));
}

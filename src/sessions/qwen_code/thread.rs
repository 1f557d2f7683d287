//! Converts the lines of one file to events.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::telemetry::{Noted, Telemetry};
use crate::events::{Call, Compaction, Event, Prompt, Thread, ToolResult, Under, fact};
use crate::operation::{Message, Role, TokenCount};
use crate::sessions::{get, parts};
use crate::span::UnixNanos;

/// Reads one file.
#[derive(Default)]
pub(super) struct LineReader {
    pub(super) thread: Thread,
    seen: HashSet<String>,
    /// A hash of the last line's parts: a repeated line is a copy.
    last: Option<u64>,
    /// The last model call, while no other line follows: its tools may be on a separate line.
    open: Option<usize>,
}

impl LineReader {
    pub(super) fn line(&mut self, line: &Value, telemetry: &mut Telemetry) {
        if let Some(uuid) = get::text(line, "/uuid")
            && !self.seen.insert(uuid.to_owned())
        {
            return self.more(uuid, line);
        }
        self.last = line.pointer("/message/parts").map(|parts| crate::hash::of_text(&parts.to_string()));
        let thread = &mut self.thread;
        if thread.session.is_empty()
            && let Some(session) = get::text(line, "/sessionId")
        {
            session.clone_into(&mut thread.session);
            session.clone_into(&mut thread.id);
        }
        thread.version = get::owned(line, "/version").or(thread.version.take());
        if get::flag(line, "/isSidechain") && thread.under.is_none() {
            thread.id = get::owned(line, "/agentId").unwrap_or_default();
            thread.name = get::owned(line, "/agentName");
            // `<name>-<call>`
            let call = thread
                .name
                .as_ref()
                .and_then(|name| thread.id.strip_prefix(name)?.strip_prefix('-'));
            thread.under = Some(call.map_or(Under::Unknown, |call| Under::Call(call.to_owned())));
        }
        let at = get::time(line, "/timestamp");
        let parts = line.pointer("/message/parts").unwrap_or(&Value::Null);
        match get::text(line, "/type").unwrap_or_default() {
            "user" => self.user(line, parts, at),
            "assistant" => self.assistant(line, parts, at),
            "tool_result" => self.results(line, parts, at),
            "system" => self.system(line, at, telemetry),
            kind => thread.unknown.count(if kind.is_empty() { "no type" } else { kind }),
        }
    }

    /// Handles a line with a known id: more of the current answer, or a copy.
    fn more(&mut self, uuid: &str, line: &Value) {
        let Some(parts) = line.pointer("/message/parts") else { return };
        let hash = Some(crate::hash::of_text(&parts.to_string()));
        if hash == self.last || get::text(line, "/type") != Some("assistant") {
            return;
        }
        let open = self.open.and_then(|index| self.thread.events.get_mut(index));
        let Some(Event::Call(call)) = open else { return };
        let Some(output) = call.output.as_mut().filter(|_| call.id == uuid) else {
            return;
        };
        self.last = hash;
        let message = parts::of_gemini(Role::Assistant, parts);
        if !message.tool_calls.is_empty() {
            call.finish_reason = Some("tool_calls".to_owned());
        }
        output.parts.extend(message.parts);
        output.tool_calls.extend(message.tool_calls);
        call.end = get::time(line, "/timestamp").or(call.end);
        let model = get::owned(line, "/model");
        call.requested_model = call.requested_model.take().or_else(|| model.clone());
        call.response_model = call.response_model.take().or(model);
        if let Some(tokens) = get::some(line, "/usageMetadata") {
            call.usage = usage(tokens);
        }
    }

    fn user(&mut self, line: &Value, said: &Value, at: Option<UnixNanos>) {
        self.open = None;
        let message = parts::of_gemini(Role::User, said);
        let text = message.content();
        let is_notice = get::text(line, "/subtype") == Some("notification");
        let reports = text
            .split_once("<tool-use-id>")
            .and_then(|(_, rest)| rest.split_once("</tool-use-id>"))
            .map(|(id, _)| id.to_owned());
        let mut prompt = Prompt {
            id: get::owned(line, "/uuid").unwrap_or_default(),
            at,
            message,
            reports: reports.filter(|_| is_notice),
            ..Prompt::default()
        };
        for (key, pointer) in [("cwd", "/cwd"), ("git_branch", "/gitBranch"), ("turn_origin", "/subtype")] {
            fact(&mut prompt.facts, key, get::text(line, pointer));
        }
        self.thread.events.push(Event::Prompt(Box::new(prompt)));
    }

    fn assistant(&mut self, line: &Value, said: &Value, at: Option<UnixNanos>) {
        let message = parts::of_gemini(Role::Assistant, said);
        let tokens = get::some(line, "/usageMetadata");
        let open = self.open.take();
        if tokens.is_none()
            && let Some(index) = open
            && let Some(Event::Call(call)) = self.thread.events.get_mut(index)
            && let Some(output) = call.output.as_mut()
        {
            call.finish_reason = Some("tool_calls".to_owned());
            output.parts.extend(message.parts);
            output.tool_calls.extend(message.tool_calls);
            self.open = open;
            return;
        }
        let tokens = tokens.unwrap_or(&Value::Null);
        let model = get::owned(line, "/model");
        let asks = !message.tool_calls.is_empty();
        let call = Call {
            id: get::owned(line, "/uuid").unwrap_or_default(),
            end: at,
            requested_model: model.clone(),
            response_model: model,
            finish_reason: Some(if asks { "tool_calls" } else { "stop" }.to_owned()),
            usage: usage(tokens),
            output: Some(message),
            ..Call::default()
        };
        self.open = Some(self.thread.events.len());
        self.thread.events.push(Event::Call(Box::new(call)));
    }

    fn results(&mut self, line: &Value, said: &Value, at: Option<UnixNanos>) {
        self.open = None;
        let about = line.get("toolCallResult").unwrap_or(&Value::Null);
        let list = said.as_array().map_or(&[][..], Vec::as_slice);
        for response in list.iter().filter_map(|part| part.get("functionResponse")) {
            let (mut message, failed) = parts::of_function_response(response);
            let beside = parts::of_gemini(Role::Tool, said);
            message.parts.extend(beside.parts);
            let mut result = ToolResult {
                call_id: get::owned(response, "/id")
                    .or_else(|| get::owned(about, "/callId"))
                    .unwrap_or_default(),
                name: get::owned(response, "/name"),
                end: at,
                message: Some(message),
                is_error: failed || get::text(about, "/status") == Some("error"),
                ..ToolResult::default()
            };
            fact(&mut result.facts, "status", get::text(about, "/status"));
            fact(&mut result.facts, "exit_code", get::some(about, "/resultDisplay/exitCode").cloned());
            fact(&mut result.facts, "patch", get::text(about, "/resultDisplay/fileDiff"));
            self.thread.events.push(Event::Result(Box::new(result)));
        }
    }

    fn system(&mut self, line: &Value, at: Option<UnixNanos>, telemetry: &mut Telemetry) {
        let payload = line.get("systemPayload").unwrap_or(&Value::Null);
        match get::text(line, "/subtype").unwrap_or_default() {
            "ui_telemetry" => match payload.get("uiEvent").and_then(|event| telemetry.note(event)) {
                None => {}
                Some(Noted::Failed(message)) => self.thread.events.push(Event::Failed(message, at)),
                Some(Noted::Other(name)) => self.thread.unknown.count(&format!("ui_telemetry/{name}")),
            },
            "chat_compression" => {
                self.open = None;
                let kept = get::list(payload, "/compressedHistory");
                let texts: Vec<String> = kept.iter().map(|message| of_content(message).content()).collect();
                let summary = (!texts.is_empty()).then(|| Message::text(Role::User, texts.join("\n\n")));
                let mut compaction = Compaction {
                    id: get::owned(line, "/uuid").unwrap_or_default(),
                    at,
                    summary,
                    ..Compaction::default()
                };
                fact(&mut compaction.facts, "compaction", get::some(payload, "/info").cloned());
                self.thread.events.push(Event::Compacted(Box::new(compaction)));
            }
            "attribution_snapshot" | "slash_command" | "at_command" | "file_history_snapshot" => {}
            kind => {
                self.thread.unknown.count(&format!("system/{kind}"));
                let facts = Map::new();
                self.thread.events.push(Event::Facts(facts));
            }
        }
    }
}

fn of_content(message: &Value) -> Message {
    parts::of_gemini(Role::User, message.get("parts").unwrap_or(&Value::Null))
}

fn usage(tokens: &Value) -> TokenCount {
    TokenCount {
        input: get::count(tokens, "/promptTokenCount"),
        output: get::count(tokens, "/candidatesTokenCount"),
        total: get::count(tokens, "/totalTokenCount"),
        cache_read: get::count(tokens, "/cachedContentTokenCount"),
        cache_write: None,
        reasoning: get::count(tokens, "/thoughtsTokenCount"),
    }
}

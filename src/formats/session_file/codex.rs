//! Codex's records.
//!
//! | run | records |
//! |---|---|
//! | session, sub-agent | `session_meta` with the first system message as `base_instructions`; a sub-agent names its parent |
//! | turn | `task_started` with the trace's id, `turn_context` with the model |
//! | tools offered to a model call | `additional_tools` |
//! | other system messages | `message` of the role `developer` |
//! | a user's message | `message` of the role `user`, and `item_completed` |
//! | model's turn | `reasoning`, `message`, `function_call`, then `token_usage_record` with the response's id |
//! | result of a tool | `function_call_output`, preceded by `item_completed` if it failed or started a sub-agent |

use serde_json::{Map, Value, json};

use super::records::{Records, ToolOutput, ToolRequest, text_of, uuid};
use crate::operation::{Message, Operation, Part, TokenCount};
use crate::run::{Run, Step};
use crate::span::UnixNanos;

/// The client version written for runs of other clients.
const VERSION: &str = "0.169.0";

/// The records of a session or a sub-agent under construction.
#[derive(Debug)]
pub(super) struct CodexRecords {
    list: Vec<Value>,
    /// The ids of the session and of this thread.
    session: String,
    thread: String,
    version: String,
    cwd: String,
    turn: String,
    model: Option<String>,
    /// Whether the turn's start has not been written: records before its prompt do not belong to it.
    begins: bool,
    /// Where the turn's context goes once its model is known.
    context: Option<usize>,
}

impl Records for CodexRecords {
    const PLACED: &'static [&'static str] = &["model", "response_id", "tool_call_id", "tool_definitions", "usage"];
    const HAS_STARTS: bool = false;

    /// A turn has only one model: the requested one.
    fn contains(fact: &str, call: &Operation) -> bool {
        fact != "model" || call.model.requested.is_none() || call.model.requested.as_deref() == call.model.name()
    }

    fn unwritten_counts(_: &TokenCount) -> impl Iterator<Item = &'static str> {
        std::iter::empty()
    }

    fn new(run: &Run, agent: Option<String>) -> Self {
        let session = super::records::session_id(run);
        let of_client = run.resource.get("service.name").and_then(Value::as_str) == Some("codex");
        let version = run.resource.get("service.version").and_then(Value::as_str).filter(|_| of_client);
        Self {
            list: Vec::new(),
            thread: agent.unwrap_or_else(|| session.clone()),
            session,
            version: version.unwrap_or(VERSION).to_owned(),
            cwd: super::records::cwd(run),
            turn: String::new(),
            model: None,
            begins: false,
            context: None,
        }
    }

    fn begin(&mut self, run: &Run) {
        if self.list.is_empty() {
            let mut meta = json!({
                "session_id": self.session, "id": self.thread, "timestamp": run.started_at.rfc3339(), "cwd": self.cwd,
                "originator": "spanbridge", "cli_version": self.version, "source": "exec",
            });
            if self.thread != self.session
                && let Some(meta) = meta.as_object_mut()
            {
                meta.insert("parent_thread_id".to_owned(), self.session.clone().into());
                let spawn = json!({ "subagent": { "thread_spawn": { "parent_thread_id": self.session } } });
                meta.insert("source".to_owned(), spawn);
            }
            self.add(run.started_at, "session_meta", meta);
        }
        self.turn = uuid(&format!("{} {} turn", run.trace_id, self.thread));
        self.begins = true;
    }

    fn summary(&mut self, run: &Run, at: UnixNanos, message: &Message) {
        self.start(run);
        self.add(at, "compacted", json!({ "message": message.content() }));
    }

    fn system_prompt(&mut self, _: &Run, at: UnixNanos, text: &str) {
        let instructions = self.list.first_mut().and_then(|meta| meta.get_mut("payload")?.as_object_mut());
        match instructions.filter(|meta| {
            meta.get("base_instructions")
                .is_none_or(|known| known.get("text") == Some(&text.into()))
        }) {
            Some(meta) => {
                meta.insert("base_instructions".to_owned(), json!({ "text": text }));
            }
            None => self.message(at, "developer", "input_text", text),
        }
    }

    fn user(&mut self, run: &Run, at: UnixNanos, message: &Message, is_meta: bool) {
        if is_meta {
            return self.message(at, "developer", "input_text", &message.content());
        }
        self.start(run);
        let content: Vec<Value> = message.parts.iter().map(part).collect();
        self.add(
            at,
            "response_item",
            json!({ "type": "message", "role": "user", "content": content }),
        );
        let text = json!([{ "type": "text", "text": message.content(), "text_elements": [] }]);
        let item = json!({ "type": "UserMessage", "id": uuid(&format!("{} {}", self.thread, self.list.len())), "content": text });
        self.completed(at, item);
    }

    fn assistant(&mut self, run: &Run, at: UnixNanos, message: Option<&Message>, call: Option<&Step>, calls: Vec<ToolRequest>) {
        let call = call.map(|call| &*call.operation);
        self.start(run);
        if let Some(call) = call.filter(|call| !call.tool_definitions.is_empty()) {
            let tools = call.tool_definitions.iter().map(
                |tool| json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters }),
            );
            let tools: Vec<Value> = tools.collect();
            self.add(at, "response_item", json!({ "type": "additional_tools", "tools": tools }));
        }
        let model = call.and_then(|call| call.model.requested.as_deref().or(call.model.response.as_deref()));
        if let Some(model) = model.filter(|model| self.model.as_deref() != Some(*model)) {
            self.model = Some(model.to_owned());
            let context = json!({
                "turn_id": self.turn, "cwd": self.cwd, "approval_policy": "never", "sandbox_policy": { "type": "danger-full-access" },
                "model": model, "summary": "auto",
            });
            let place = self.context.take().unwrap_or(self.list.len()).min(self.list.len());
            let record = record(at, "turn_context", context);
            self.list.insert(place, record);
        }
        for part in message.map_or(&[][..], |message| &message.parts) {
            match part {
                Part::Reasoning { text, opaque } => {
                    let summary: Vec<Value> = text.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
                    let mut item = Map::from_iter([("type".to_owned(), "reasoning".into()), ("summary".to_owned(), summary.into())]);
                    item.extend(opaque.clone());
                    self.add(at, "response_item", item.into());
                }
                Part::Text(text) => self.message(at, "assistant", "output_text", text),
                other => self.message(at, "assistant", "output_text", &super::records::block_text(other)),
            }
        }
        for asked in calls {
            let arguments = asked.arguments.to_string();
            let item = json!({ "type": "function_call", "name": asked.name, "arguments": arguments, "call_id": asked.id });
            self.add(at, "response_item", item);
        }
        let own = || format!("resp_{}", uuid(&format!("{} {} {}", run.trace_id, self.thread, self.list.len())));
        let response = call.and_then(|call| call.response_id.clone()).unwrap_or_else(own);
        let usage = usage(call.map(|call| &call.usage));
        let record =
            json!({ "thread_id": self.thread, "turn_id": self.turn, "session_id": self.session, "response_id": response, "usage": usage });
        self.add(at, "token_usage_record", record);
    }

    fn result(&mut self, _: &Run, given: ToolOutput) {
        if let Some(agent) = given.agent {
            let item = json!({ "type": "CollabAgentToolCall", "id": given.call_id, "tool": "spawn_agent", "receiver_thread_ids": [agent] });
            self.completed(given.at, item);
        }
        if given.is_error {
            let item = json!({ "type": "CommandExecution", "id": given.call_id, "status": "failed" });
            self.completed(given.at, item);
        }
        let output = match given.value {
            Value::Array(blocks) => blocks.into(),
            other => Value::from(text_of(&other)),
        };
        let item = json!({ "type": "function_call_output", "call_id": given.call_id, "output": output });
        self.add(given.at, "response_item", item);
    }

    fn finish(self) -> Vec<Value> {
        // A lone `session_meta` record is not a session.
        if self.list.len() > 1 { self.list } else { Vec::new() }
    }
}

impl CodexRecords {
    /// Writes the start of the turn, once.
    fn start(&mut self, run: &Run) {
        if !std::mem::take(&mut self.begins) {
            return;
        }
        let started = json!({ "type": "task_started", "turn_id": self.turn, "trace_id": run.trace_id.to_string() });
        self.add(run.started_at, "event_msg", started);
        self.context = Some(self.list.len());
    }

    fn add(&mut self, at: UnixNanos, kind: &str, payload: Value) {
        self.list.push(record(at, kind, payload));
    }

    fn message(&mut self, at: UnixNanos, role: &str, kind: &str, text: &str) {
        let item = json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
        self.add(at, "response_item", item);
    }

    fn completed(&mut self, at: UnixNanos, item: Value) {
        let event = json!({ "type": "item_completed", "thread_id": self.thread, "turn_id": self.turn, "item": item });
        self.add(at, "event_msg", event);
    }
}

fn record(at: UnixNanos, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": at.rfc3339(), "type": kind, "payload": payload })
}

/// A part of a user's message.
fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "input_text", "text": text }),
        Part::Media(media) => match (&media.base64, &media.uri) {
            (Some(data), _) => {
                let mime = media.mime_type.as_deref().unwrap_or("image/png");
                json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") })
            }
            (None, Some(uri)) => json!({ "type": "input_image", "image_url": uri }),
            (None, None) => media.raw.clone(),
        },
        other => json!({ "type": "input_text", "text": super::records::block_text(other) }),
    }
}

fn usage(usage: Option<&TokenCount>) -> Value {
    let Some(usage) = usage else { return json!({}) };
    let mut out = Map::new();
    for (key, count) in [
        ("input_tokens", usage.input),
        ("cached_input_tokens", usage.cache_read),
        ("cache_write_input_tokens", usage.cache_write),
        ("output_tokens", usage.output),
        ("reasoning_output_tokens", usage.reasoning),
        ("total_tokens", usage.total),
    ] {
        out.extend(count.map(|count| (key.to_owned(), count.into())));
    }
    out.into()
}

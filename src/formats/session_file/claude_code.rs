//! Claude Code's records, chained by their ids.
//!
//! | run | records |
//! |---|---|
//! | the first system message of a conversation, offered tools | `api-request-shape` |
//! | start and parameters of a model call | `api-request` |
//! | other system messages | `user` with `isMeta` |
//! | a user's message | `user`, with a `promptId` for the turn |
//! | model's turn | `assistant`, one per content block: `thinking`, `text`, `tool_use`; each has the message's id, model and usage
//! |
//! | result of a tool | `user` with a `tool_result` block |
//! | sub-agent | `isSidechain` and `agentId`; the result of its tool call refers to it in `toolUseResult` |
//!
//! Ids of records are derived from the trace, the agent and their position.

use serde_json::{Map, Value, json};

use super::records::{Records, ToolOutput, ToolRequest, uuid};
use crate::operation::{Message, Operation, Part, TokenCount, ToolDefinition};
use crate::run::{Run, Step};
use crate::span::{TIMES_UNKNOWN, UnixNanos};

/// The client version written for runs of other clients.
const VERSION: &str = "2.1.332";

/// The records of a session or a sub-agent under construction.
#[derive(Debug)]
pub(super) struct ClaudeRecords {
    list: Vec<Value>,
    session: String,
    /// The sub-agent's id.
    agent: Option<String>,
    version: String,
    cwd: String,
    prompt: String,
    last: Option<String>,
    /// The shape of requests: the system prompt, and the tools of the turn.
    system: String,
    tools: Vec<ToolDefinition>,
    /// The hash of the last shape written; `None` if the shape may have changed.
    shape: Option<String>,
}

impl Records for ClaudeRecords {
    const PLACED: &'static [&'static str] = &[
        "finish_reason",
        "model",
        "parameters",
        "requested_model",
        "response_id",
        "tool_call_id",
        "tool_definitions",
        "usage",
    ];
    const HAS_STARTS: bool = true;

    fn contains(_: &str, _: &Operation) -> bool {
        true
    }

    fn unwritten_counts(usage: &TokenCount) -> impl Iterator<Item = &'static str> {
        usage.total.map(|_| "usage.total").into_iter()
    }

    fn summary(&mut self, run: &Run, at: UnixNanos, message: &Message) {
        let boundary = json!({
            "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": { "trigger": "auto" },
        });
        self.last = None;
        self.add(run, at, boundary);
        let message = json!({ "role": "user", "content": content(message) });
        let record = json!({ "type": "user", "message": message, "promptId": self.prompt, "isCompactSummary": true });
        self.add(run, at, record);
    }

    fn new(run: &Run, agent: Option<String>) -> Self {
        let of_client = run.resource.get("service.name").and_then(Value::as_str) == Some("claude-code");
        let version = run.resource.get("service.version").and_then(Value::as_str).filter(|_| of_client);
        Self {
            list: Vec::new(),
            session: super::records::session_id(run),
            agent,
            version: version.unwrap_or(VERSION).to_owned(),
            cwd: super::records::cwd(run),
            prompt: String::new(),
            last: None,
            system: String::new(),
            tools: Vec::new(),
            shape: None,
        }
    }

    fn finish(self) -> Vec<Value> {
        self.list
    }

    fn begin(&mut self, run: &Run) {
        self.prompt = uuid(&format!("{} prompt", run.trace_id));
    }

    fn system_prompt(&mut self, _: &Run, _: UnixNanos, text: &str) {
        self.system = text.to_owned();
        self.shape = None;
    }

    /// A user's message, or one added by the client.
    fn user(&mut self, run: &Run, at: UnixNanos, message: &Message, is_meta: bool) {
        let message = json!({ "role": "user", "content": content(message) });
        let mut record = json!({ "type": "user", "message": message, "promptId": self.prompt });
        if is_meta && let Some(record) = record.as_object_mut() {
            record.insert("isMeta".to_owned(), true.into());
        }
        self.add(run, at, record);
    }

    /// A model's turn, with one record per block.
    fn assistant(&mut self, run: &Run, at: UnixNanos, message: Option<&Message>, call: Option<&Step>, calls: Vec<ToolRequest>) {
        let started = call
            .map(|call| call.started_at)
            .filter(|_| call.is_some_and(|call| !call.operation.unmapped.contains_key(TIMES_UNKNOWN)));
        let call = call.map(|call| &*call.operation);
        let mut blocks: Vec<Value> = message.map_or(&[][..], |message| &message.parts).iter().map(block).collect();
        blocks.extend(
            calls
                .into_iter()
                .map(|asked| json!({ "type": "tool_use", "id": asked.id, "name": asked.name, "input": asked.arguments })),
        );
        let own = || uuid(&format!("{} message {}", run.trace_id, self.list.len()));
        let id = call
            .and_then(|call| call.response_id.clone())
            .unwrap_or_else(|| format!("msg_{}", own()));
        let model = call.and_then(|call| call.model.response.as_deref().or(call.model.requested.as_deref()));
        let finish = call.and_then(|call| call.finish_reason.as_deref());
        let asks = blocks.iter().any(|block| block.get("type").is_some_and(|kind| kind == "tool_use"));
        let stop = finish.map_or(if asks { "tool_use" } else { "end_turn" }, stop_reason);
        let request = call.map(|call| self.request(run, started, call));
        let contents = if blocks.is_empty() {
            vec![json!([])]
        } else {
            blocks.into_iter().map(|block| json!([block])).collect()
        };
        for content in contents {
            let mut record = json!({ "type": "assistant", "message": {
                "id": id, "type": "message", "role": "assistant", "model": model.unwrap_or("unknown"), "content": content,
                "stop_reason": stop, "stop_sequence": null, "usage": usage(call.map(|call| &call.usage)),
            } });
            let id = call.and_then(|call| call.unmapped.get("spanbridge.session.request_id")).cloned();
            let is_cut = call.and_then(|call| call.failure.as_ref()).is_some();
            if let Some(record) = record.as_object_mut() {
                record.extend(id.map(|id| ("requestId".to_owned(), id)));
                record.extend(request.clone().map(|id| ("requestRef".to_owned(), id.into())));
                record.extend(is_cut.then(|| ("isAbortedMidStream".to_owned(), true.into())));
            }
            self.add(run, at, record);
        }
    }

    /// A tool's result.
    fn result(&mut self, run: &Run, given: ToolOutput) {
        let content: Value = match given.value {
            Value::Array(blocks) => blocks.into(),
            other => super::records::text_of(&other).into(),
        };
        let mut block = json!({ "tool_use_id": given.call_id, "type": "tool_result", "content": content });
        if given.is_error
            && let Some(block) = block.as_object_mut()
        {
            block.insert("is_error".to_owned(), true.into());
        }
        let mut record = json!({ "type": "user", "message": { "role": "user", "content": [block] }, "promptId": self.prompt });
        if let Some(record) = record.as_object_mut() {
            record.extend(
                given
                    .agent
                    .map(|agent| ("toolUseResult".to_owned(), json!({ "status": "completed", "agentId": agent }))),
            );
        }
        self.add(run, given.at, record);
    }
}

impl ClaudeRecords {
    /// Writes a request with its start and parameters, preceded by its shape if that has changed. Returns its id.
    fn request(&mut self, run: &Run, started: Option<UnixNanos>, call: &Operation) -> String {
        if !call.tool_definitions.is_empty() && call.tool_definitions != self.tools {
            self.tools.clone_from(&call.tool_definitions);
            self.shape = None;
        }
        let hash = match self.shape.clone() {
            Some(known) => known,
            None => self.write_shape(),
        };
        let own = uuid(&format!("{} {:?} request {}", run.trace_id, self.agent, self.list.len()));
        let mut params: Map<String, Value> = call.parameters.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let model = call.model.requested.as_deref().or(call.model.response.as_deref());
        params.insert("model".to_owned(), model.into());
        let mut record = json!({ "type": "api-request", "sessionId": self.session, "id": own, "shapeHash": hash, "params": params });
        if let (Some(at), Some(record)) = (started, record.as_object_mut()) {
            record.insert("timestamp".to_owned(), at.rfc3339().into());
        }
        self.list.push(record);
        own
    }

    /// Writes the shape before the first request that has it; returns its hash.
    fn write_shape(&mut self) -> String {
        let tools = self
            .tools
            .iter()
            .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }));
        let system: Vec<Value> = if self.system.is_empty() {
            Vec::new()
        } else {
            vec![json!({ "type": "text", "text": self.system })]
        };
        let shape = json!({ "system": system, "tools": tools.collect::<Vec<_>>() });
        let hash = uuid(&shape.to_string());
        self.list
            .push(json!({ "type": "api-request-shape", "sessionId": self.session, "shapeHash": hash, "shape": shape }));
        self.shape = Some(hash.clone());
        hash
    }

    /// Adds a record: the fields that all records have, and these.
    fn add(&mut self, run: &Run, at: UnixNanos, record: Value) {
        let agent = self.agent.as_deref().unwrap_or_default();
        let own = uuid(&format!("{} {agent} {}", run.trace_id, self.list.len()));
        let mut out = Map::from_iter([
            ("parentUuid".to_owned(), self.last.clone().into()),
            ("isSidechain".to_owned(), self.agent.is_some().into()),
        ]);
        if let Some(agent) = &self.agent {
            out.insert("agentId".to_owned(), agent.clone().into());
        }
        if let Value::Object(record) = record {
            out.extend(record);
        }
        for (key, value) in [
            ("uuid", own.as_str()),
            ("timestamp", &at.rfc3339()),
            ("userType", "external"),
            ("entrypoint", "cli"),
            ("cwd", &self.cwd),
            ("sessionId", &self.session),
            ("version", &self.version),
            ("gitBranch", ""),
        ] {
            out.insert(key.to_owned(), value.into());
        }
        self.last = Some(own);
        self.list.push(Value::Object(out));
    }
}

/// Token counts as in the API: the input without cached tokens.
fn usage(usage: Option<&TokenCount>) -> Value {
    let Some(usage) = usage else { return json!({}) };
    let cached = usage
        .cache_read
        .unwrap_or_default()
        .saturating_add(usage.cache_write.unwrap_or_default());
    let mut out = Map::new();
    for (key, count) in [
        ("input_tokens", usage.input.map(|input| input.saturating_sub(cached))),
        ("cache_creation_input_tokens", usage.cache_write),
        ("cache_read_input_tokens", usage.cache_read),
        ("output_tokens", usage.output),
    ] {
        out.extend(count.map(|count| (key.to_owned(), count.into())));
    }
    if let Some(count) = usage.reasoning {
        out.insert("output_tokens_details".to_owned(), json!({ "thinking_tokens": count }));
    }
    out.into()
}

/// Anthropic's name for a stop reason.
fn stop_reason(word: &str) -> &str {
    match word {
        "stop" | "completed" => "end_turn",
        "tool_call" | "tool_calls" | "function_call" => "tool_use",
        "length" => "max_tokens",
        other => other,
    }
}

/// A part as a content block.
fn block(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Reasoning { text, opaque } => {
            let mut out = Map::from_iter([
                ("type".to_owned(), "thinking".into()),
                ("thinking".to_owned(), text.clone().unwrap_or_default().into()),
            ]);
            out.extend(opaque.clone());
            out.into()
        }
        Part::Media(media) => match (&media.base64, &media.uri) {
            (Some(data), _) => {
                json!({ "type": kind(&media.modality), "source": { "type": "base64", "media_type": media.mime_type, "data": data } })
            }
            (None, Some(uri)) => json!({ "type": kind(&media.modality), "source": { "type": "url", "url": uri } }),
            (None, None) => media.raw.clone(),
        },
        Part::Other(value) => value.clone(),
    }
}

fn kind(modality: &str) -> &str {
    if modality == "image" { "image" } else { "document" }
}

/// A message's content: its text, or its blocks if there is more than text.
fn content(message: &Message) -> Value {
    match message.parts.as_slice() {
        [Part::Text(text)] => text.clone().into(),
        parts => parts.iter().map(block).collect(),
    }
}

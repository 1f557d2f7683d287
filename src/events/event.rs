//! Threads and what happened in them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::unknown::Unknown;
use crate::operation::{Cost, Message, TokenCount, ToolDefinition};
use crate::span::{TraceId, UnixNanos};

/// Why a call or a turn failed that a person interrupted.
pub(crate) const INTERRUPTION: &str = "interrupted by the user";

/// One agent: the main one of a session, or a sub-agent.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    /// The session that it belongs to.
    pub(crate) session: String,
    /// The agent's own id.
    pub(crate) id: String,
    /// What asked for it; `None` for the main agent.
    pub(crate) under: Option<Under>,
    /// The prompt id of the turn that a sub-agent worked in, where its file has it.
    pub(crate) prompt_id: Option<String>,
    /// The agent's name, where it has one.
    pub(crate) name: Option<String>,
    /// What the agent is for.
    pub(crate) description: Option<String>,
    /// The version of the client.
    pub(crate) version: Option<String>,
    /// Whether its file has copies of another session's lines: those are the other session's.
    pub(crate) forked: bool,
    /// What happened, in order.
    pub(crate) events: Vec<Event>,
    /// What the reader does not know.
    pub(crate) unknown: Unknown,
}

/// What asked for a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Under {
    /// A tool call.
    Call(String),
    /// The files do not tell: the tool call that has the agent's prompt in its arguments, else the turn, by its trace.
    Turn(TraceId),
    /// The same, and the turn by the prompt id that the agent's file has.
    Unknown,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A prompt. In a main agent it begins a turn.
    Prompt(Box<Prompt>),
    /// A message that the model is given with its next call and that nobody typed.
    Heard(Message),
    /// A model call.
    Call(Box<Call>),
    /// A tool gave its result.
    Result(Box<ToolResult>),
    /// The conversation so far was replaced by a summary.
    Compacted(Box<Compaction>),
    /// Facts of the turn.
    Facts(Map<String, Value>),
    /// The turn failed: the client gave up.
    Failed(String, Option<UnixNanos>),
}

/// What a person or a client wants of the agent.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    /// An id that no other prompt of the client has, and that copies keep.
    pub(crate) id: String,
    /// The session that it was typed in, where it is a copy.
    pub(crate) session: Option<String>,
    /// The trace, where the client has one.
    pub(crate) trace: Option<TraceId>,
    pub(crate) at: Option<UnixNanos>,
    pub(crate) message: Message,
    /// What the model is given in its place, where that differs.
    pub(crate) heard: Option<Message>,
    /// What the client puts before it and after it, in the same message.
    pub(crate) around: [Option<Message>; 2],
    /// The tool call whose work it reports.
    pub(crate) reports: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// A model call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// An id that no other call of the turn has, and that copies keep.
    pub(crate) id: String,
    pub(crate) start: Option<UnixNanos>,
    pub(crate) end: Option<UnixNanos>,
    pub(crate) requested_model: Option<String>,
    pub(crate) response_model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) parameters: Map<String, Value>,
    /// The system prompt, where it is known.
    pub(crate) system: Option<Arc<str>>,
    /// The tools, where they are known.
    pub(crate) tools: Arc<[ToolDefinition]>,
    /// What this call was given that no call before it was, as the client sent it; `None`: what was heard since then.
    pub(crate) exact: Option<Vec<Message>>,
    /// The file should have the former, and does not have all of it.
    pub(crate) is_approximate: bool,
    /// The model's output; `None` if there is none.
    pub(crate) output: Option<Message>,
    pub(crate) usage: TokenCount,
    pub(crate) cost: Cost,
    /// Seconds.
    pub(crate) time_to_first_token: Option<f64>,
    /// Why it failed, or that it was cut off.
    pub(crate) failure: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// The result of a tool.
#[derive(Debug, Default)]
pub(crate) struct ToolResult {
    pub(crate) call_id: String,
    /// The tool's name, where the call is not in the file.
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<Value>,
    pub(crate) start: Option<UnixNanos>,
    pub(crate) end: Option<UnixNanos>,
    /// What the model is given of it; `None`: the tool did its work inside another one.
    pub(crate) message: Option<Message>,
    /// The tool that it worked inside of, by its call.
    pub(crate) inside: Option<String>,
    /// It gave a result that is not recorded.
    pub(crate) content_unknown: bool,
    pub(crate) is_error: bool,
    /// Why it failed, where that is not what the model was given.
    pub(crate) error: Option<String>,
    pub(crate) mcp_server: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// A conversation was replaced by its summary.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    pub(crate) id: String,
    /// When the client began it, where that is known.
    pub(crate) start: Option<UnixNanos>,
    pub(crate) at: Option<UnixNanos>,
    /// What replaces the conversation in the model's input; `None` if only the fact is known.
    pub(crate) summary: Option<Message>,
    /// The model call that wrote it.
    pub(crate) response_id: Option<String>,
    pub(crate) usage: TokenCount,
    pub(crate) cost: Cost,
    pub(crate) facts: Map<String, Value>,
}

/// Adds a fact that is not null.
pub(crate) fn fact(facts: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value.map(Into::into).filter(|value| !value.is_null()) {
        facts.insert(key.to_owned(), value);
    }
}

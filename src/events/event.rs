//! Threads and their events.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::unknown::Unknown;
use crate::operation::{Cost, Message, TokenCount, ToolDefinition};
use crate::span::{TraceId, UnixNanos};

/// The failure of a call or a turn that a person interrupted.
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
    /// The prompt id of the turn that a sub-agent worked in, if its file has it.
    pub(crate) prompt_id: Option<String>,
    /// The agent's name, if any.
    pub(crate) name: Option<String>,
    /// What the agent is for.
    pub(crate) description: Option<String>,
    /// The version of the client.
    pub(crate) version: Option<String>,
    /// Whether its file has copies of another session's lines, which belong to that session.
    pub(crate) forked: bool,
    /// The events in order.
    pub(crate) events: Vec<Event>,
    /// Records that the reader does not know.
    pub(crate) unknown: Unknown,
}

/// What asked for a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Under {
    /// A tool call.
    Call(String),
    /// Not recorded: the tool call with the agent's prompt in its arguments, else the turn with this trace.
    Turn(TraceId),
    /// Not recorded either, but the turn is found by the prompt id in the agent's file.
    Unknown,
}

/// An event of a thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// A prompt. In a main agent it begins a turn.
    Prompt(Box<Prompt>),
    /// A message to the model with its next call that is not a prompt.
    Input(Message),
    /// A model call.
    Call(Box<Call>),
    /// The result of a tool.
    Result(Box<ToolResult>),
    /// The conversation so far was replaced by a summary.
    Compacted(Box<Compaction>),
    /// Facts of the turn.
    Facts(Map<String, Value>),
    /// The turn failed: the client gave up.
    Failed(String, Option<UnixNanos>),
}

/// A request of a person or a client to the agent.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    /// An id that is unique among the client's prompts and that copies keep.
    pub(crate) id: String,
    /// The session that it was typed in, if it is a copy.
    pub(crate) session: Option<String>,
    /// The trace, if the client records one.
    pub(crate) trace: Option<TraceId>,
    pub(crate) at: Option<UnixNanos>,
    pub(crate) message: Message,
    /// What the model received instead, if different.
    pub(crate) received: Option<Message>,
    /// Messages that the client adds before and after it.
    pub(crate) around: [Option<Message>; 2],
    /// The tool call whose work it reports on.
    pub(crate) reports: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// A model call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// An id that is unique among the turn's calls and that copies keep.
    pub(crate) id: String,
    pub(crate) start: Option<UnixNanos>,
    pub(crate) end: Option<UnixNanos>,
    pub(crate) requested_model: Option<String>,
    pub(crate) response_model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) parameters: Map<String, Value>,
    /// The system prompt, if known.
    pub(crate) system: Option<Arc<str>>,
    /// The tools, if known.
    pub(crate) tools: Arc<[ToolDefinition]>,
    /// The new messages of its input, as the client sent them; `None`: those since the previous call.
    pub(crate) exact: Option<Vec<Message>>,
    /// Whether `exact` should be in the file but is incomplete.
    pub(crate) is_approximate: bool,
    /// The model's output, if any.
    pub(crate) output: Option<Message>,
    pub(crate) usage: TokenCount,
    pub(crate) cost: Cost,
    /// Seconds.
    pub(crate) time_to_first_token: Option<f64>,
    /// Why it failed or was cut off.
    pub(crate) failure: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// The result of a tool.
#[derive(Debug, Default)]
pub(crate) struct ToolResult {
    pub(crate) call_id: String,
    /// The tool's name, if the call is not in the file.
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<Value>,
    pub(crate) start: Option<UnixNanos>,
    pub(crate) end: Option<UnixNanos>,
    /// The result as the model receives it; `None` if the tool ran inside another one.
    pub(crate) message: Option<Message>,
    /// The call of the tool that it ran inside.
    pub(crate) inside: Option<String>,
    /// Whether it had a result that is not recorded.
    pub(crate) content_unknown: bool,
    pub(crate) is_error: bool,
    /// Why it failed, if the model received something else.
    pub(crate) error: Option<String>,
    pub(crate) mcp_server: Option<String>,
    pub(crate) facts: Map<String, Value>,
}

/// A conversation was replaced by its summary.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    pub(crate) id: String,
    /// When the client began it, if known.
    pub(crate) start: Option<UnixNanos>,
    pub(crate) at: Option<UnixNanos>,
    /// The message that replaces the conversation in the model's input; `None` if it is not recorded.
    pub(crate) summary: Option<Message>,
    /// The response id of the model call that wrote it.
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

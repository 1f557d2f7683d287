//! What a session file has, free of its client's form.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::lines::Left;
use super::note::{Note, Unknown};
use crate::operation::{Cost, Message, TokenCount, ToolDefinition};
use crate::span::{TraceId, UnixNanos};

/// What a reader gives of the files of one session.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) threads: Vec<Thread>,
    /// What was left out, by file.
    pub(super) left: Vec<(PathBuf, Left)>,
    /// What else the spans do not have.
    pub(super) notes: Vec<Note>,
}

/// One agent: the main one of a session, or a sub-agent.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// The session that it belongs to.
    pub(super) session: String,
    /// The agent's own id.
    pub(super) id: String,
    /// What asked for it; `None` for the main agent.
    pub(super) under: Option<Under>,
    /// The prompt id of the turn that a sub-agent worked in, where its file has it.
    pub(super) prompt_id: Option<String>,
    /// The agent's name, where it has one.
    pub(super) name: Option<String>,
    /// What the agent is for.
    pub(super) description: Option<String>,
    /// The version of the client.
    pub(super) version: Option<String>,
    /// Whether its file has copies of another session's lines: those are the other session's.
    pub(super) forked: bool,
    /// What happened, in order.
    pub(super) events: Vec<Event>,
    /// What the reader does not know.
    pub(super) unknown: Unknown,
}

/// What asked for a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Under {
    /// A tool call.
    Call(String),
    /// The files do not tell: the tool call that has the agent's prompt in its arguments, else the turn, by its trace.
    Turn(TraceId),
    /// The same, and the turn by the prompt id that the agent's file has.
    Unknown,
}

/// One thing that happened.
#[derive(Debug)]
pub(super) enum Event {
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
pub(super) struct Prompt {
    /// An id that no other prompt of the client has, and that copies keep.
    pub(super) id: String,
    /// The session that it was typed in, where it is a copy.
    pub(super) session: Option<String>,
    /// The trace, where the client has one.
    pub(super) trace: Option<TraceId>,
    pub(super) at: Option<UnixNanos>,
    pub(super) message: Message,
    /// What the model is given in its place, where that differs.
    pub(super) heard: Option<Message>,
    /// What the client puts before it and after it, in the same message.
    pub(super) around: [Option<Message>; 2],
    /// The tool call whose work it reports.
    pub(super) reports: Option<String>,
    pub(super) facts: Map<String, Value>,
}

/// A model call.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// An id that no other call of the turn has, and that copies keep.
    pub(super) id: String,
    pub(super) start: Option<UnixNanos>,
    pub(super) end: Option<UnixNanos>,
    pub(super) requested_model: Option<String>,
    pub(super) response_model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) finish_reason: Option<String>,
    pub(super) parameters: Map<String, Value>,
    /// The system prompt, where it is known.
    pub(super) system: Option<Arc<str>>,
    /// The tools, where they are known.
    pub(super) tools: Arc<[ToolDefinition]>,
    /// What this call was given that no call before it was, as the client sent it; `None`: what was heard since then.
    pub(super) exact: Option<Vec<Message>>,
    /// The file should have the former, and does not have all of it.
    pub(super) is_approximate: bool,
    /// The model's output; `None` if there is none.
    pub(super) output: Option<Message>,
    pub(super) usage: TokenCount,
    pub(super) cost: Cost,
    /// Seconds.
    pub(super) time_to_first_token: Option<f64>,
    /// Why it failed, or that it was cut off.
    pub(super) failure: Option<String>,
    pub(super) facts: Map<String, Value>,
}

/// The result of a tool.
#[derive(Debug, Default)]
pub(super) struct ToolResult {
    pub(super) call_id: String,
    /// The tool's name, where the call is not in the file.
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
    pub(super) start: Option<UnixNanos>,
    pub(super) end: Option<UnixNanos>,
    /// What the model is given of it; `None`: the tool did its work inside another one.
    pub(super) message: Option<Message>,
    /// The tool that it worked inside of, by its call.
    pub(super) inside: Option<String>,
    /// It gave a result that is not recorded.
    pub(super) content_unknown: bool,
    pub(super) is_error: bool,
    /// Why it failed, where that is not what the model was given.
    pub(super) error: Option<String>,
    pub(super) mcp_server: Option<String>,
    pub(super) facts: Map<String, Value>,
}

/// A conversation was replaced by its summary.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    pub(super) id: String,
    /// When the client began it, where that is known.
    pub(super) start: Option<UnixNanos>,
    pub(super) at: Option<UnixNanos>,
    /// What replaces the conversation in the model's input; `None` if only the fact is known.
    pub(super) summary: Option<Message>,
    /// The model call that wrote it.
    pub(super) response_id: Option<String>,
    pub(super) usage: TokenCount,
    pub(super) cost: Cost,
    pub(super) facts: Map<String, Value>,
}

/// Adds a fact that is not null.
pub(super) fn fact(facts: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value.map(Into::into).filter(|value| !value.is_null()) {
        facts.insert(key.to_owned(), value);
    }
}

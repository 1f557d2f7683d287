//! Facts in a span about operations other than its own.

use serde_json::Value;

use super::continuation::Continuation;
use crate::span::UnixNanos;

/// A tool's result recorded on a span other than the tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    /// The name of the tool.
    pub tool: String,
    /// The result, unless the tool failed.
    pub result: Option<Value>,
    /// The error's text, if the tool failed.
    pub error: Option<String>,
    /// When it was recorded.
    pub at: UnixNanos,
}

/// Facts in a span about operations other than its own.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Results of tools below this span that are recorded on it (adk-rust).
    pub child_results: Vec<ChildResult>,
    /// Whether the client sums the tokens of all calls on an agent's span (Spring AI 1.1).
    pub sums_usage: bool,
    /// Input tokens of each message of an agent, recorded on the agent's span (Azure).
    pub turn_input: Vec<u64>,
    /// Output tokens of the same messages.
    pub turn_output: Vec<u64>,
    /// The model call that requested this tool, by response id or span id (Claude Code, Monocle).
    pub asked_by: Option<String>,
    /// The model call whose conversation this span continues; its own input messages are only the new ones.
    pub continues: Option<Continuation>,
    /// Whether the client says that the answer ended by itself, although it requests tools.
    pub ended_by_itself: bool,
    /// A value shared by all spans of this operation, each of which records one event (BeeAI).
    pub event_group: Option<String>,
}

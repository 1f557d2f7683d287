//! Facts in a span about other operations than its own.

use serde_json::Value;

use super::continuation::Continuation;
use crate::span::UnixNanos;

/// A tool's result on another span than the tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    /// The tool's name.
    pub tool: String,
    /// The result, if the tool did not fail.
    pub result: Option<Value>,
    /// The error's text, if it did.
    pub error: Option<String>,
    /// When it was recorded.
    pub at: UnixNanos,
}

/// Facts in a span about other operations than its own.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Results of tools below this span that are on this span (adk-rust).
    pub child_results: Vec<ChildResult>,
    /// Whether the client sums tokens up over the calls of an agent (Spring AI 1.1).
    pub sums_usage: bool,
    /// Tokens that each message of an agent has on the agent's span: what went into the model for it (Azure).
    pub turn_input: Vec<u64>,
    /// The same, what came out.
    pub turn_output: Vec<u64>,
    /// The model call that asked for this tool: its response id, or the id of its span (Claude Code, Monocle).
    pub asked_by: Option<String>,
    /// The model call whose conversation goes on: the input messages of this span are what is new.
    pub continues: Option<Continuation>,
    /// Whether the answer ended by itself, as the client says, though it asks for tools.
    pub ended_by_itself: bool,
    /// The value that all spans of this operation have in common, each recording one event of it (BeeAI).
    pub event_group: Option<String>,
}

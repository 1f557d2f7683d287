//! Reflex's own types: a trace and its nodes. Every key of a node is written, as the package writes them.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// A complete record of one agent run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct AgentTrace<'a> {
    /// What happened, in execution order; the tree is in `parent_id`.
    pub(crate) nodes: Vec<TraceNode<'a>>,
    /// The reference output.
    pub(crate) ideal: Option<Text<'a>>,
    /// What is known of the trace as a whole.
    pub(crate) metadata: Object<'a>,
}

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TraceNode<'a> {
    /// For people; need not be unique.
    pub(crate) name: Text<'a>,
    /// What went in.
    pub(crate) input: Json<'a>,
    /// What came out.
    pub(crate) output: Json<'a>,
    /// Unique; empty: the reader counts `n0`, `n1`, ...
    pub(crate) id: Text<'a>,
    /// The node around it; null for a root.
    pub(crate) parent_id: Option<Text<'a>>,
    /// What it did.
    pub(crate) kind: NodeKind,
    /// Identity of the prompt; several nodes may share one.
    pub(crate) prompt_id: Option<Text<'a>>,
    /// Index in a plan-act loop.
    pub(crate) step: Option<i64>,
    /// Whether the prompt is a target of optimisation.
    pub(crate) optimize: bool,
    /// Prompt and completion; 0 for all but model calls.
    pub(crate) tokens: u64,
    /// Unix seconds.
    pub(crate) started_at: Option<f64>,
    /// Unix seconds.
    pub(crate) ended_at: Option<f64>,
    /// Why it failed; null on success.
    pub(crate) error: Option<Text<'a>>,
    /// What else is known: `mcp_server`, `tool_call_id`, `error_code`, `latency_ms` and the producer's own.
    pub(crate) metadata: Object<'a>,
}

/// What a node did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeKind {
    /// A model reasoned or planned.
    Reason,
    /// A tool ran, native or by MCP.
    Tool,
    /// Documents or memories were looked up.
    Retrieve,
    /// An agent, or a sub-agent.
    Agent,
    /// Anything else.
    #[default]
    Other,
}

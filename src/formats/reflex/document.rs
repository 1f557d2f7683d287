//! Reflex's own types: a trace and its nodes. Every key of a node is written, as the package writes them.

use serde::{Deserialize, Deserializer, Serialize};

use crate::document::json::{Json, Object, Text};

/// A complete record of one agent run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentTrace<'a> {
    /// What happened, in execution order; the tree is in `parent_id`.
    pub nodes: Vec<TraceNode<'a>>,
    /// The reference output.
    #[serde(default)]
    pub ideal: Option<Text<'a>>,
    /// What is known of the trace as a whole.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: Object<'a>,
    /// The package writes the sum of the nodes' tokens here, its schema forbids it: accepted and not written.
    #[serde(default, skip_serializing)]
    pub tokens: Option<Json<'a>>,
}

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceNode<'a> {
    /// For people; need not be unique.
    pub name: Text<'a>,
    /// What went in.
    #[serde(default)]
    pub input: Json<'a>,
    /// What came out.
    #[serde(default)]
    pub output: Json<'a>,
    /// Unique; empty: the reader counts `n0`, `n1`, ...
    #[serde(default)]
    pub id: Text<'a>,
    /// The node around it; null for a root.
    #[serde(default)]
    pub parent_id: Option<Text<'a>>,
    /// What it did.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: NodeKind,
    /// Identity of the prompt; several nodes may share one.
    #[serde(default)]
    pub prompt_id: Option<Text<'a>>,
    /// Index in a plan-act loop.
    #[serde(default)]
    pub step: Option<i64>,
    /// Whether the prompt is a target of optimisation.
    #[serde(default, deserialize_with = "null_is_default")]
    pub optimize: bool,
    /// Prompt and completion; 0 for all but model calls.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tokens: u64,
    /// Unix seconds.
    #[serde(default)]
    pub started_at: Option<f64>,
    /// Unix seconds.
    #[serde(default)]
    pub ended_at: Option<f64>,
    /// Why it failed; null on success.
    #[serde(default)]
    pub error: Option<Text<'a>>,
    /// What else is known: `mcp_server`, `tool_call_id`, `error_code`, `latency_ms` and the producer's own.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: Object<'a>,
    /// Keys that the schema does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// What a node did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
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
    #[serde(other)]
    Other,
}

fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

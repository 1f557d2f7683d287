//! ContextForge's own types: a run, its steps, and their contents.
//!
//! Field names, order and optional fields are the page's.

use crate::document::json::{Json, Object, Text};
use serde::Serialize;

/// One agent run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TraceRun<'a> {
    /// UUID v4.
    pub(crate) run_id: Text<'a>,
    /// ISO 8601.
    pub(crate) started_at: Text<'a>,
    /// ISO 8601; absent while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Text<'a>>,
    /// Who ran.
    pub(crate) agent_info: AgentInfo<'a>,
    /// What was to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task_info: Option<TaskInfo<'a>>,
    /// What happened, ordered by timestamp.
    pub(crate) steps: Vec<Step<'a>>,
    /// What else is known of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Object<'a>>,
}

/// Who ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct AgentInfo<'a> {
    /// The agent's name.
    pub(crate) name: Text<'a>,
    /// The agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Text<'a>>,
    /// `langchain`, `crewai`, `custom`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) framework: Option<Text<'a>>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) framework_version: Option<Text<'a>>,
}

/// What was to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TaskInfo<'a> {
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Text<'a>>,
    /// What counts as success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<Text<'a>>,
    /// Structured input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Object<'a>>,
}

/// One step: what all steps have, and a body by `step_type`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step<'a> {
    /// Unique in the run.
    pub(crate) step_id: Text<'a>,
    /// ISO 8601.
    pub(crate) timestamp: Text<'a>,
    /// The step that caused this one.
    pub(crate) parent_step_id: Option<Text<'a>>,
    /// What happened.
    pub(crate) body: Body<'a>,
    /// What else is known.
    pub(crate) metadata: Option<Object<'a>>,
}

/// What happened, by `step_type`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Body<'a> {
    /// `user_input`
    UserInput(UserInput<'a>),
    /// `llm_call`
    LlmCall(Box<LlmCall<'a>>),
    /// `tool_call`
    ToolCall(Box<ToolCall<'a>>),
    /// `retrieval`
    Retrieval(Retrieval<'a>),
    /// `memory_read`
    MemoryRead(MemoryRead<'a>),
    /// `memory_write`
    MemoryWrite(Box<MemoryWrite<'a>>),
    /// `state_change`
    StateChange(StateChange<'a>),
    /// `interrupt`
    Interrupt(Interrupt<'a>),
    /// `final_output`
    FinalOutput(FinalOutput<'a>),
}

/// A person's words.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct UserInput<'a> {
    /// The words.
    pub(crate) content: Text<'a>,
    /// `text`, `file`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_type: Option<Text<'a>>,
}

/// A call of a language model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct LlmCall<'a> {
    /// The model's name.
    pub(crate) model: Text<'a>,
    /// Text, or a list of message objects.
    pub(crate) input: Json<'a>,
    /// Text, or an object.
    pub(crate) output: Json<'a>,
    /// Tokens that went in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_in: Option<u64>,
    /// Tokens that came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_out: Option<u64>,
    /// Both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_total: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_estimate: Option<f64>,
    /// `openai`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<Text<'a>>,
}

/// The execution of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ToolCall<'a> {
    /// The tool's name.
    pub(crate) tool_name: Text<'a>,
    /// What it was called with.
    pub(crate) arguments: Object<'a>,
    /// What it gave back. The page requires the key, so we always write it; the package leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Json<'a>>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<u64>,
    /// Whether it did what it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) success: Option<bool>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Text<'a>>,
    /// What it used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_impact: Option<ResourceImpact<'a>>,
}

/// What a tool used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ResourceImpact<'a> {
    /// How much.
    pub(crate) amount: f64,
    /// Of what.
    pub(crate) unit: Text<'a>,
    /// By part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) breakdown: Option<Object<'a>>,
}

/// A search for documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Retrieval<'a> {
    /// What was looked for.
    pub(crate) query: Text<'a>,
    /// What was found.
    pub(crate) results: Vec<RetrievalResult<'a>>,
    /// How many were found.
    pub(crate) match_count: u64,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<u64>,
}

/// A document that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RetrievalResult<'a> {
    /// Its text.
    pub(crate) content: Text<'a>,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// What else is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Object<'a>>,
}

/// A read of an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct MemoryRead<'a> {
    /// Text or an object.
    pub(crate) query: Json<'a>,
    /// What was found.
    pub(crate) results: Vec<Json<'a>>,
    /// How many were found.
    pub(crate) match_count: u64,
    /// One score a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) relevance_scores: Option<Vec<f64>>,
    /// How many records there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_available: Option<i64>,
}

/// A write of an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct MemoryWrite<'a> {
    /// For example `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entity_type: Option<Text<'a>>,
    /// Which entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entity_id: Option<Text<'a>>,
    /// The store's name space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<Vec<Text<'a>>>,
    /// The key in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Text<'a>>,
    /// `add`, `update`, `delete` or `put`.
    pub(crate) operation: Text<'a>,
    /// What was written.
    pub(crate) data: Object<'a>,
    /// Old and new values by path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<FieldChange<'a>>>,
    /// The step that made it necessary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) triggered_by_step_id: Option<Text<'a>>,
}

/// One changed value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct FieldChange<'a> {
    /// JSON path.
    pub(crate) path: Text<'a>,
    /// Before; absent or null: there was none.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) old_value: Json<'a>,
    /// After; absent or null: deleted.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) new_value: Json<'a>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub(crate) extra: Object<'a>,
}

/// A value of the agent's state changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct StateChange<'a> {
    /// Which value.
    pub(crate) state_key: Text<'a>,
    /// Before.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) old_value: Json<'a>,
    /// After.
    pub(crate) new_value: Json<'a>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Text<'a>>,
}

/// A person was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Interrupt<'a> {
    /// What was asked.
    pub(crate) prompt: Text<'a>,
    /// Text or an object.
    pub(crate) response: Json<'a>,
    /// How long the agent waited.
    pub(crate) wait_duration_ms: u64,
}

/// The run's answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct FinalOutput<'a> {
    /// The answer, never null.
    pub(crate) content: Json<'a>,
    /// `text`, `json`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<Text<'a>>,
}

impl Body<'_> {
    /// The word in `step_type`.
    #[must_use]
    pub(crate) fn step_type(&self) -> &'static str {
        match self {
            Self::UserInput(_) => "user_input",
            Self::LlmCall(_) => "llm_call",
            Self::ToolCall(_) => "tool_call",
            Self::Retrieval(_) => "retrieval",
            Self::MemoryRead(_) => "memory_read",
            Self::MemoryWrite(_) => "memory_write",
            Self::StateChange(_) => "state_change",
            Self::Interrupt(_) => "interrupt",
            Self::FinalOutput(_) => "final_output",
        }
    }
}

/// The page's aliases for OpenTelemetry data: key, then the field.
pub(super) const ALIASES: [(&str, &str); 4] = [
    ("openinference.span.kind", "step_type"),
    ("llm.model_name", "model"),
    ("llm.token_count.prompt", "tokens_in"),
    ("llm.token_count.completion", "tokens_out"),
];

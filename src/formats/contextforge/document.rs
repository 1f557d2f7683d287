//! ContextForge's own types: a run, its steps, and what stands in them.
//!
//! Field names, order and optional fields are the page's. Keys that the page does not know are kept in `extra`.

use super::deserialize;
use crate::document::json::{Json, Object, Text};
use serde::{Deserialize, Serialize};

/// One agent run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceRun<'a> {
    /// UUID v4.
    pub run_id: Text<'a>,
    /// ISO 8601.
    pub started_at: Text<'a>,
    /// ISO 8601; absent while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Text<'a>>,
    /// Who ran.
    pub agent_info: AgentInfo<'a>,
    /// What was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_info: Option<TaskInfo<'a>>,
    /// What happened, ordered by timestamp.
    pub steps: Vec<Step<'a>>,
    /// What else is known of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// Who ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentInfo<'a> {
    /// The agent's name.
    pub name: Text<'a>,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text<'a>>,
    /// `langchain`, `crewai`, `custom`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<Text<'a>>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_version: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// What was to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskInfo<'a> {
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<'a>>,
    /// What counts as success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Text<'a>>,
    /// Structured input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Object<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// One step: what all steps have, and a body by `step_type`.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<'a> {
    /// Unique in the run.
    pub step_id: Text<'a>,
    /// ISO 8601.
    pub timestamp: Text<'a>,
    /// The step that caused this one.
    pub parent_step_id: Option<Text<'a>>,
    /// What happened.
    pub body: Body<'a>,
    /// What else is known.
    pub metadata: Option<Object<'a>>,
}

/// What happened, by `step_type`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Body<'a> {
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
    /// A type that nobody knows: readers pass over it, and we never make one.
    Unknown {
        /// The word.
        #[serde(skip)]
        step_type: Text<'a>,
        /// Everything else that stands in the step.
        #[serde(flatten)]
        fields: Object<'a>,
    },
}

/// A person's words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserInput<'a> {
    /// The words.
    pub content: Text<'a>,
    /// `text`, `file`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_type: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A call of a language model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmCall<'a> {
    /// The model's name.
    pub model: Text<'a>,
    /// Text, or a list of message objects.
    pub input: Json<'a>,
    /// Text, or an object.
    pub output: Json<'a>,
    /// Tokens that went in.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that came out.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Both.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub tokens_total: Option<u64>,
    /// How long it took.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_estimate: Option<f64>,
    /// `openai`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// The execution of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub tool_name: Text<'a>,
    /// What it was called with.
    pub arguments: Object<'a>,
    /// What it gave back. The page requires the key, so we always write it; the package leaves it out.
    #[serde(default, deserialize_with = "deserialize::present", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json<'a>>,
    /// How long it took.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Whether it did what it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text<'a>>,
    /// What it used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_impact: Option<ResourceImpact<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// What a tool used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceImpact<'a> {
    /// How much.
    pub amount: f64,
    /// Of what.
    pub unit: Text<'a>,
    /// By part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Object<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A search for documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Retrieval<'a> {
    /// What was looked for.
    pub query: Text<'a>,
    /// What was found.
    pub results: Vec<RetrievalResult<'a>>,
    /// How many were found.
    #[serde(deserialize_with = "deserialize::whole_required")]
    pub match_count: u64,
    /// How long it took.
    #[serde(default, deserialize_with = "deserialize::whole", skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A document that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievalResult<'a> {
    /// Its text.
    pub content: Text<'a>,
    /// 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What else is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A read of an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryRead<'a> {
    /// Text or an object.
    pub query: Json<'a>,
    /// What was found.
    pub results: Vec<Json<'a>>,
    /// How many were found.
    #[serde(deserialize_with = "deserialize::whole_required")]
    pub match_count: u64,
    /// One score a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance_scores: Option<Vec<f64>>,
    /// How many records there are in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_available: Option<i64>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A write of an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryWrite<'a> {
    /// For example `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_type: Option<Text<'a>>,
    /// Which entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<Text<'a>>,
    /// The store's name space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Vec<Text<'a>>>,
    /// The key in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<'a>>,
    /// `add`, `update`, `delete` or `put`.
    pub operation: Text<'a>,
    /// What was written.
    pub data: Object<'a>,
    /// Old and new values by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<FieldChange<'a>>>,
    /// The step that made it necessary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggered_by_step_id: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// One changed value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldChange<'a> {
    /// JSON path.
    pub path: Text<'a>,
    /// Before; absent or null: there was none.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub old_value: Json<'a>,
    /// After; absent or null: deleted.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub new_value: Json<'a>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A value of the agent's state changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StateChange<'a> {
    /// Which value.
    pub state_key: Text<'a>,
    /// Before.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub old_value: Json<'a>,
    /// After.
    pub new_value: Json<'a>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A person was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interrupt<'a> {
    /// What was asked.
    pub prompt: Text<'a>,
    /// Text or an object.
    pub response: Json<'a>,
    /// How long the agent waited.
    #[serde(deserialize_with = "deserialize::whole_required")]
    pub wait_duration_ms: u64,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// The run's answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalOutput<'a> {
    /// The answer, never null.
    pub content: Json<'a>,
    /// `text`, `json`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

impl Body<'_> {
    /// The word in `step_type`.
    #[must_use]
    pub fn step_type(&self) -> &str {
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
            Self::Unknown { step_type, .. } => step_type,
        }
    }
}

/// The page's aliases for OpenTelemetry data: key, then the field that it stands for.
pub(super) const ALIASES: [(&str, &str); 4] = [
    ("openinference.span.kind", "step_type"),
    ("llm.model_name", "model"),
    ("llm.token_count.prompt", "tokens_in"),
    ("llm.token_count.completion", "tokens_out"),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

    use serde_json::json;

    use super::*;

    #[test]
    fn reads_aliases_and_passes_over_unknown_steps() {
        let text = r#"{"run_id":"r","started_at":"2026-01-01T10:00:00Z","agent_info":{"name":"a"},"steps":[
        {"step_id":"1","timestamp":"2026-01-01T10:00:00Z","openinference.span.kind":"LLM","llm.model_name":"m",
         "llm.token_count.prompt":3.0,"llm.token_count.completion":4,"input":"x","output":"y","more":1},
        {"step_id":"2","timestamp":"2026-01-01T10:00:00Z","step_type":"thought","text":"hm"}]}"#;
        let run: TraceRun = serde_json::from_str(text).unwrap();
        let written = serde_json::to_value(&run).unwrap();
        let call = &written["steps"][0];
        assert_eq!((&call["step_type"], &call["model"]), (&json!("llm_call"), &json!("m")));
        assert_eq!(
            (&call["tokens_in"], &call["tokens_out"], &call["more"]),
            (&json!(3), &json!(4), &json!(1))
        );
        assert_eq!(written["steps"][1]["step_type"], "thought");
        let error = serde_json::from_str::<TraceRun>(&text.replace("3.0", "3.5")).unwrap_err();
        assert!(error.to_string().contains("3.5 is no whole number"), "{error}");
    }
}

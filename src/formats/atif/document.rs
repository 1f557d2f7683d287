//! ATIF's own types. Unknown values are left out: readers refuse nulls.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// The version that every reader takes.
pub(super) const VERSION: &str = "ATIF-v1.7";

/// The version of a trajectory with sounds.
pub(super) const VERSION_WITH_SOUND: &str = "ATIF-v1.8";

/// What one agent did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Trajectory<'a> {
    /// Stands in embedded trajectories, too.
    pub(crate) schema_version: Text<'a>,
    /// The session.
    pub(crate) session_id: Text<'a>,
    /// Unique among trajectories of a trace.
    pub(crate) trajectory_id: Text<'a>,
    /// `name`, `version`, `model_name`, `tool_definitions`, `extra`.
    pub(crate) agent: Object<'a>,
    /// At least one.
    pub(crate) steps: Vec<Step<'a>>,
    /// Sums.
    pub(crate) final_metrics: Object<'a>,
    /// Agents that tools of this one called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subagent_trajectories: Vec<Trajectory<'a>>,
    /// What else is known of the run.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) extra: Object<'a>,
}

/// A message, or a model call with its results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Step<'a> {
    /// 1, 2, 3 without a gap.
    pub(crate) step_id: usize,
    /// With six digits after the second: older Pythons refuse more. Absent where no time was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp: Option<Text<'a>>,
    /// `system`, `user` or `agent`.
    pub(crate) source: Text<'a>,
    /// Text, or a list of parts where an image or a sound can be loaded.
    pub(crate) message: Json<'a>,
    /// What the model thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<Text<'a>>,
    /// How much the model was to think: a word or a number.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) reasoning_effort: Json<'a>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model_name: Option<Text<'a>>,
    /// `tool_call_id`, `function_name`, `arguments`, `extra`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Object<'a>>,
    /// `results`: `source_call_id`, `content`, `subagent_trajectory_ref`, `extra`.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) observation: Object<'a>,
    /// Tokens and money; empty for a model call without counts, which readers take for one by this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Object<'a>>,
    /// The agent's words from before the run: no target of training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_copied_context: Option<bool>,
    /// 1 for a model call, 0 for work that no model asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) llm_call_count: Option<u32>,
    /// What else is known.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) extra: Object<'a>,
}

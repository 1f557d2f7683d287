//! Inspect's own types. A value that is not known has no key.

use serde::{Deserialize, Serialize};

use crate::document::json::{Json, Object, Text};

/// The version of logs that readers know.
pub(super) const VERSION: u32 = 2;

/// The log of one run. Readers want its fields in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalLog<'a> {
    /// 2.
    pub version: u32,
    /// `started` while the run goes on, `success` or `error`.
    pub status: Text<'a>,
    /// What ran: `eval_id`, `run_id`, `created`, `task`, `dataset`, `model`, `config`, `metadata`.
    pub eval: Object<'a>,
    /// `name`, `steps`, `config`.
    pub plan: Object<'a>,
    /// `started_at`, `completed_at`, `model_usage`.
    pub stats: Object<'a>,
    /// `message`, `traceback`, `traceback_ansi`.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub error: Object<'a>,
    /// One.
    pub samples: Vec<EvalSample<'a>>,
}

/// What one run did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalSample<'a> {
    /// The trace.
    pub id: Text<'a>,
    /// 1.
    pub epoch: u32,
    /// Text, or the messages before the first turn.
    pub input: Json<'a>,
    /// What was to come out, else an empty text.
    pub target: Text<'a>,
    /// The conversation as it was at the end.
    pub messages: Vec<Object<'a>>,
    /// What the last model call said.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub output: Object<'a>,
    /// Judgements, by name.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub scores: Object<'a>,
    /// What else is known of the run.
    pub metadata: Object<'a>,
    /// What happened, in causal order.
    pub events: Vec<Object<'a>>,
    /// Tokens and money, by model.
    pub model_usage: Object<'a>,
    /// When the run began.
    pub started_at: Text<'a>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Text<'a>>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_time: Option<f64>,
    /// The trace.
    pub uuid: Text<'a>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub error: Object<'a>,
    /// `messages`: those that `input_refs` of model events name by their place. `calls`: none.
    pub events_data: Object<'a>,
}

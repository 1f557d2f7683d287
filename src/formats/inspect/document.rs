//! Inspect's own types. Unknown values are left out.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// The version of logs that readers know.
pub(super) const VERSION: u32 = 2;

/// The log of one run. Readers want its fields in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct EvalLog<'a> {
    /// 2.
    pub(crate) version: u32,
    /// `started` while the run goes on, `success` or `error`.
    pub(crate) status: Text<'a>,
    /// What ran: `eval_id`, `run_id`, `created`, `task`, `dataset`, `model`, `config`, `metadata`.
    pub(crate) eval: Object<'a>,
    /// `name`, `steps`, `config`.
    pub(crate) plan: Object<'a>,
    /// `started_at`, `completed_at`, `model_usage`.
    pub(crate) stats: Object<'a>,
    /// `message`, `traceback`, `traceback_ansi`.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) error: Object<'a>,
    /// One.
    pub(crate) samples: Vec<EvalSample<'a>>,
}

/// What one run did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct EvalSample<'a> {
    /// The trace.
    pub(crate) id: Text<'a>,
    /// 1.
    pub(crate) epoch: u32,
    /// Text, or the messages before the first turn.
    pub(crate) input: Json<'a>,
    /// What was to come out, else an empty text.
    pub(crate) target: Text<'a>,
    /// The conversation as it was at the end.
    pub(crate) messages: Vec<Object<'a>>,
    /// The output of the last model call.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) output: Object<'a>,
    /// Judgements, by name.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) scores: Object<'a>,
    /// What else is known of the run.
    pub(crate) metadata: Object<'a>,
    /// What happened, in causal order.
    pub(crate) events: Vec<Object<'a>>,
    /// Tokens and money, by model.
    pub(crate) model_usage: Object<'a>,
    /// When the run began.
    pub(crate) started_at: Text<'a>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed_at: Option<Text<'a>>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_time: Option<f64>,
    /// The trace.
    pub(crate) uuid: Text<'a>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) error: Object<'a>,
    /// `messages`: those that `input_refs` of model events name by their place. `calls`: none.
    pub(crate) events_data: Object<'a>,
}

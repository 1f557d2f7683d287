//! Types of verifiers' own records. Unknown values are left out.

use serde::Serialize;

use crate::document::json::{Object, Text};

/// The version of the package that wrote and read the records that these follow.
pub(super) const VERIFIERS: &str = "0.4.0";

/// A line of `traces.jsonl`: what one run did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Episode<'a> {
    /// The trace.
    pub(crate) id: Text<'a>,
    /// `id`: the agent.
    pub(crate) env: Object<'a>,
    /// `type`, `data`.
    pub(crate) task: Object<'a>,
    /// Whether it ended without an error.
    pub(crate) ok: bool,
    /// `type`, `message`, `traceback`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<Object<'a>>,
    /// One.
    pub(crate) traces: Vec<Trace<'a>>,
}

/// The message graph of a run, and what is known of its model calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Trace<'a> {
    /// 1.
    pub(crate) version: u32,
    /// The trace.
    pub(crate) id: Text<'a>,
    /// `version` of the package.
    pub(crate) verifiers: Object<'a>,
    /// As in the episode.
    pub(crate) task: Object<'a>,
    /// `config`, `name`.
    pub(crate) agent: Object<'a>,
    /// Tools that model calls were offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<Object<'a>>,
    /// Messages.
    pub(crate) nodes: Vec<MessageNode<'a>>,
    /// `node`, `model`, `sampling`, `finish_reason`, `usage`, `time`, `error`.
    pub(crate) calls: Vec<Object<'a>>,
    /// `score` and `weight`, by name.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) rewards: Object<'a>,
    /// Numbers, by name.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) metrics: Object<'a>,
    /// What else is known.
    pub(crate) info: Object<'a>,
    /// What the outermost agent answered, if the graph contains other agents too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) root_reply: Option<Text<'a>>,
    /// Whether it ended.
    pub(crate) is_completed: bool,
    /// Whether it ended without an error.
    pub(crate) ok: bool,
    /// As in the episode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<Object<'a>>,
    /// Seconds since 1970: `start`, `agent`.
    pub(crate) timing: Object<'a>,
}

/// A message, after the one that it follows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct MessageNode<'a> {
    /// The message that it follows; none at a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<usize>,
    /// At a root: the tools that model calls after it were offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<Object<'a>>,
    /// `node`, `type`: the last message of an agent whose answer this is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) semantic_parents: Vec<Object<'a>>,
    /// The message.
    pub(crate) message: Object<'a>,
    /// Whether a model call of this run wrote it.
    pub(crate) sampled: bool,
    /// Seconds since 1970.
    pub(crate) timestamp: f64,
    /// The tokens that it adds: of a turn also those of the messages before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) token_ids: Vec<i64>,
    /// For each token whether the model made it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mask: Vec<bool>,
    /// For each token that the model made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logprobs: Vec<f64>,
}

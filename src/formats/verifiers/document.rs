//! Types of verifiers' own records. A value that is not known has no key.

use serde::{Deserialize, Serialize};

use crate::document::json::{Object, Text};

/// The version of the package that wrote and read the records that these follow.
pub(super) const VERIFIERS: &str = "0.4.0";

/// A line of `traces.jsonl`: what one run did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode<'a> {
    /// The trace.
    pub id: Text<'a>,
    /// `id`: the agent.
    pub env: Object<'a>,
    /// `type`, `data`.
    pub task: Object<'a>,
    /// Whether it ended without an error.
    pub ok: bool,
    /// `type`, `message`, `traceback`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Object<'a>>,
    /// One.
    pub traces: Vec<Trace<'a>>,
}

/// The message graph of a run, and what is known of its model calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace<'a> {
    /// 1.
    pub version: u32,
    /// The trace.
    pub id: Text<'a>,
    /// `version` of the package.
    pub verifiers: Object<'a>,
    /// As in the episode.
    pub task: Object<'a>,
    /// `config`, `name`.
    pub agent: Object<'a>,
    /// Tools that model calls were offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Object<'a>>,
    /// Messages.
    pub nodes: Vec<MessageNode<'a>>,
    /// `node`, `model`, `sampling`, `finish_reason`, `usage`, `time`, `error`.
    pub calls: Vec<Object<'a>>,
    /// `score` and `weight`, by name.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub rewards: Object<'a>,
    /// Numbers, by name.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metrics: Object<'a>,
    /// What else is known.
    pub info: Object<'a>,
    /// What the outermost agent answered, where the graph holds other agents too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_reply: Option<Text<'a>>,
    /// Whether it ended.
    pub is_completed: bool,
    /// Whether it ended without an error.
    pub ok: bool,
    /// As in the episode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Object<'a>>,
    /// Seconds since 1970: `start`, `agent`.
    pub timing: Object<'a>,
}

/// A message, after the one that it follows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageNode<'a> {
    /// The message that it follows; none at a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// At a root: the tools that model calls after it were offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Object<'a>>,
    /// `node`, `type`: the last message of an agent whose answer this is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub semantic_parents: Vec<Object<'a>>,
    /// The message.
    pub message: Object<'a>,
    /// Whether a model call of this run said it.
    pub sampled: bool,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The tokens that it adds: of a turn also those of the messages before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_ids: Vec<i64>,
    /// For each token whether the model made it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mask: Vec<bool>,
    /// For each token that the model made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<f64>,
}

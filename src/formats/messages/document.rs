//! A row of training data: messages, and the tools that were offered.

use serde::Serialize;

use crate::document::choice::Options;
use crate::document::json::{Json, Text};

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Row<'a> {
    /// In the order in which a trainer renders them; the last one is the assistant's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<ChatMessage<'a>>,
    /// With `messages.split=completion`: all but the last message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompt: Vec<ChatMessage<'a>>,
    /// With `messages.split=completion`: the last message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) completion: Vec<ChatMessage<'a>>,
    /// The offered tools: a list in OpenAI's function form, or its JSON text.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) tools: Json<'a>,
    /// Where the row comes from.
    #[serde(flatten)]
    pub(crate) origin: Origin,
}

/// The trace of a row and its agent's span, in hex as in OTLP/JSON. Both are absent with `messages.origin=none`, the span also
/// if the agent has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Origin {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<String>,
}

impl Origin {
    /// Whether rows include it. `OpenAI` rejects unknown keys.
    pub(super) fn is_written(options: &Options) -> bool {
        match options.get("messages.origin") {
            Some("ids") => true,
            Some("none") => false,
            _ => !options.is("messages.flavour", "openai"),
        }
    }
}

/// One message. Its content is never null, because several trainers fail on that.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ChatMessage<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub(crate) role: Text<'a>,
    /// Text; empty if the model only called tools.
    pub(crate) content: Text<'a>,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<Text<'a>>,
    /// The model's calls in OpenAI's form; arguments are an object or its JSON text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Json<'a>>,
    /// The agent whose turn this is. In that agent's row it is a training target.
    #[serde(skip)]
    pub(crate) agent: Option<&'a str>,
    /// The call that a tool's message answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<Text<'a>>,
    /// The tool of a tool's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Text<'a>>,
    /// 0 excludes the message from training (OpenAI, Mistral).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<u32>,
    /// False excludes the message from training (Axolotl).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) training: Option<bool>,
    /// False excludes the message from training (Tinker).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trainable: Option<bool>,
}

/// The key that excludes a message from training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mark {
    /// No key: every assistant message is a target.
    #[default]
    None,
    Weight,
    Training,
    Trainable,
}

impl Mark {
    pub(super) fn of(options: &Options) -> Self {
        match options.get("messages.mark") {
            Some("weight") => Self::Weight,
            Some("training") => Self::Training,
            Some("trainable") => Self::Trainable,
            Some("none") => Self::None,
            _ if options.is("messages.flavour", "openai") => Self::Weight,
            // Messages of earlier runs are not targets.
            _ if options.is("messages.rows", "session") => Self::Training,
            _ => Self::None,
        }
    }
}

impl ChatMessage<'_> {
    pub(super) fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::None => {}
            Mark::Weight => self.weight = Some(0),
            Mark::Training => self.training = Some(false),
            Mark::Trainable => self.trainable = Some(false),
        }
    }

    pub(super) fn unmark(&mut self) {
        (self.weight, self.training, self.trainable) = (None, None, None);
    }

    /// Replaces the id of a call and its result.
    pub(super) fn rename_call(&mut self, id: &str, new: &str) {
        let of_calls = self.tool_calls.iter_mut().filter_map(|call| match call {
            Json::Object(call) => call.get_mut("id"),
            _ => None,
        });
        for own in of_calls.filter(|own| own.as_str() == Some(id)) {
            *own = new.to_owned().into();
        }
        if self.tool_call_id.as_deref() == Some(id) {
            self.tool_call_id = Some(new.to_owned().into());
        }
    }

    pub(super) fn is_marked(&self) -> bool {
        self.weight.is_some() || self.training.is_some() || self.trainable.is_some()
    }
}

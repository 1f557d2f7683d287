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
    /// Where the row is from.
    #[serde(flatten)]
    pub(crate) origin: Origin,
}

/// The trace that a row is from, and its agent's span, in hex as OTLP/JSON has them; absent with `messages.origin=none`, and the span
/// also if the agent has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Origin {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<String>,
}

impl Origin {
    /// Whether rows have it. `OpenAI` refuses keys that it does not know.
    pub(super) fn is_written(options: &Options) -> bool {
        match options.get("messages.origin") {
            Some("ids") => true,
            Some("none") => false,
            _ => !options.is("messages.flavour", "openai"),
        }
    }
}

/// One message. Its content is never null: several trainers fail there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ChatMessage<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub(crate) role: Text<'a>,
    /// Words; empty where the model only called tools.
    pub(crate) content: Text<'a>,
    /// What the model thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<Text<'a>>,
    /// What the model asked for, in OpenAI's shape; the arguments are an object or its JSON text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Json<'a>>,
    /// The agent whose turn it is, and a target of training in the row of that agent.
    #[serde(skip)]
    pub(crate) agent: Option<&'a str>,
    /// Of a tool's message: the call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<Text<'a>>,
    /// Of a tool's message: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Text<'a>>,
    /// 0: no target of training, in OpenAI's and Mistral's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<u32>,
    /// False: no target of training, in Axolotl's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) training: Option<bool>,
    /// False: no target of training, in Tinker's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trainable: Option<bool>,
}

/// The key that excludes a message from training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mark {
    /// None: every message of the assistant is a target.
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
            // What was said in earlier runs is no target there.
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

    /// Gives a call and its result another id.
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

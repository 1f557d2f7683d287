//! A row of training data: messages, and the tools that were offered.

use serde::{Deserialize, Serialize};

use crate::formats::json::{Json, Text};

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row<'a> {
    /// In the order in which a trainer renders them; the last one is the assistant's.
    pub messages: Vec<ChatMessage<'a>>,
    /// The offered tools: a list in OpenAI's function form, or its JSON text.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub tools: Json<'a>,
}

/// One message. Its content is never null: several trainers fail there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: Text<'a>,
    /// Words; empty where the model only called tools.
    pub content: Text<'a>,
    /// What the model thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<Text<'a>>,
    /// What the model asked for, in OpenAI's shape; the arguments are an object or its JSON text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Json<'a>>,
    /// Of a tool's message: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Text<'a>>,
    /// Of a tool's message: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
    /// 0: the assistant said this before; it is no target of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

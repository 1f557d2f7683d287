//! ADK's own types, in snake case. Contents, parts and calls are those of the `google-genai` package.

use serde::{Deserialize, Serialize};

use crate::document::json::{Json, Object, Text};

/// A file of cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalSet<'a> {
    /// Letters, digits and `_`.
    pub eval_set_id: Text<'a>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
    /// In the order in which they began.
    pub eval_cases: Vec<EvalCase<'a>>,
    /// Seconds since 1970.
    pub creation_timestamp: f64,
}

/// An agent's conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalCase<'a> {
    /// Each once in a set.
    pub eval_id: Text<'a>,
    /// In order.
    pub conversation: Vec<Invocation<'a>>,
    /// `app_name`, `user_id`, `state`.
    pub session_input: Object<'a>,
    /// Seconds since 1970.
    pub creation_timestamp: f64,
    /// The state at the end, as far as changes were recorded.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub final_session_state: Object<'a>,
}

/// A person's words and what followed. Unknown keys are refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Invocation<'a> {
    /// The first operation's.
    pub invocation_id: Text<'a>,
    /// `role`, `parts`.
    pub user_content: Content<'a>,
    /// `role`, `parts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_response: Option<Content<'a>>,
    /// What stood between.
    pub intermediate_data: Intermediate<'a>,
    /// Seconds since 1970.
    pub creation_timestamp: f64,
    /// `agent_details`: instructions and tools by the agent's name.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub app_details: Object<'a>,
}

/// What stood between question and answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Intermediate<'a> {
    /// `InvocationEvents`.
    Events {
        /// In order.
        invocation_events: Vec<Event<'a>>,
    },
    /// `IntermediateData`.
    Lists {
        /// `id`, `name`, `args`.
        tool_uses: Vec<Object<'a>>,
        /// `id`, `name`, `response`.
        tool_responses: Vec<Object<'a>>,
        /// Author and parts.
        intermediate_responses: Vec<(Text<'a>, Vec<Object<'a>>)>,
    },
}

impl Default for Intermediate<'_> {
    fn default() -> Self {
        Self::Events {
            invocation_events: Vec::new(),
        }
    }
}

/// A model's words and calls, or the results of calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event<'a> {
    /// The agent.
    pub author: Text<'a>,
    /// None for the model call of the final response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content<'a>>,
    /// Tokens of a model call.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub usage_metadata: Object<'a>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub model_version: Json<'a>,
}

/// `google.genai.types.Content`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Content<'a> {
    /// `user` or `model`.
    pub role: Text<'a>,
    /// Each with `text`, `file_data`, `function_call` or `function_response`.
    pub parts: Vec<Object<'a>>,
}

//! ADK's own types, in snake case. Contents, parts and calls are those of the `google-genai` package.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// A file of cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct EvalSet<'a> {
    /// Letters, digits and `_`.
    pub(crate) eval_set_id: Text<'a>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Text<'a>>,
    /// In the order in which they began.
    pub(crate) eval_cases: Vec<EvalCase<'a>>,
    /// Seconds since 1970.
    pub(crate) creation_timestamp: f64,
}

/// An agent's conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct EvalCase<'a> {
    /// Each once in a set.
    pub(crate) eval_id: Text<'a>,
    /// In order.
    pub(crate) conversation: Vec<Invocation<'a>>,
    /// `app_name`, `user_id`, `state`.
    pub(crate) session_input: Object<'a>,
    /// Seconds since 1970.
    pub(crate) creation_timestamp: f64,
    /// The state at the end, as far as changes were recorded.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) final_session_state: Object<'a>,
}

/// A person's words and what followed. Unknown keys are refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Invocation<'a> {
    /// The first operation's.
    pub(crate) invocation_id: Text<'a>,
    /// `role`, `parts`.
    pub(crate) user_content: Content<'a>,
    /// `role`, `parts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) final_response: Option<Content<'a>>,
    /// What happened in between.
    pub(crate) intermediate_data: Intermediate<'a>,
    /// Seconds since 1970.
    pub(crate) creation_timestamp: f64,
    /// `agent_details`: instructions and tools by the agent's name.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) app_details: Object<'a>,
}

/// What happened between question and answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Intermediate<'a> {
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Event<'a> {
    /// The agent.
    pub(crate) author: Text<'a>,
    /// None for the model call of the final response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Content<'a>>,
    /// Tokens of a model call.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) usage_metadata: Object<'a>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) model_version: Json<'a>,
}

/// `google.genai.types.Content`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Content<'a> {
    /// `user` or `model`.
    pub(crate) role: Text<'a>,
    /// Each with `text`, `file_data`, `function_call` or `function_response`.
    pub(crate) parts: Vec<Object<'a>>,
}

//! DeepEval's own types, under the names that its dataset readers accept by default.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Case<'a> {
    /// Several turns.
    Conversation(Conversation<'a>),
    /// A question and its answer.
    Single(Single<'a>),
}

/// `LLMTestCase`, or a `Golden` with an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Single<'a> {
    /// Each once in a run.
    pub(crate) name: Text<'a>,
    /// What was asked. Readers refuse null.
    pub(crate) input: Text<'a>,
    /// What was answered at last. The key is always there: the JSON reader refuses a case without it.
    pub(crate) actual_output: Option<Text<'a>>,
    /// What was to be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_output: Option<Text<'a>>,
    /// `name`, `input_parameters`, `output`, `reasoning`.
    pub(crate) tools_called: Vec<Object<'a>>,
    /// The calls that were to be made, as in `tools_called`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) expected_tools: Vec<Object<'a>>,
    /// What was retrieved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) retrieval_context: Vec<Text<'a>>,
    /// Of all its model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_token_count: Option<u64>,
    /// Of all its model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_token_count: Option<u64>,
    /// In US dollars.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) token_cost: Json<'a>,
    /// Seconds from the first operation's start to the last one's end.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) completion_time: Json<'a>,
    /// What else is known.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) additional_metadata: Object<'a>,
}

/// `ConversationalTestCase`, or a `ConversationalGolden` with turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Conversation<'a> {
    /// Each once in a run.
    pub(crate) name: Text<'a>,
    /// What the conversation is about, never empty: readers use it to distinguish a conversation from a single case.
    pub(crate) scenario: Text<'a>,
    /// In order.
    pub(crate) turns: Vec<Turn<'a>>,
    /// What else is known.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) additional_metadata: Object<'a>,
}

/// The words of one side.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Turn<'a> {
    /// `user` or `assistant`.
    pub(crate) role: Text<'a>,
    /// Words; empty if there were none. Readers refuse null.
    pub(crate) content: Text<'a>,
    /// Calls before the words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools_called: Vec<Object<'a>>,
    /// What was retrieved before the words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) retrieval_context: Vec<Text<'a>>,
    /// What else is known.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub(crate) additional_metadata: Object<'a>,
}

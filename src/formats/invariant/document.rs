//! Invariant's own types: events, tool calls, annotations, and the containers of a list of events.

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// One trace, or several, in the container that Explorer takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Document<'a> {
    /// A plain array of events.
    Trace(Vec<Event<'a>>),
    /// The body of `POST /api/v1/push/trace`.
    Push(Push<'a>),
    /// A line of Explorer's annotated JSONL.
    Row(Row<'a>),
}

/// The body of a push request: lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Push<'a> {
    /// One list of events a trace.
    pub(crate) messages: Vec<Vec<Event<'a>>>,
    /// One list of annotations a trace.
    pub(crate) annotations: Option<Vec<Vec<Annotation<'a>>>>,
    /// The data set to add to.
    pub(crate) dataset: Option<Text<'a>>,
    /// One object a trace.
    pub(crate) metadata: Option<Vec<Object<'a>>>,
}

/// A line of annotated JSONL: one trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Row<'a> {
    /// The events.
    pub(crate) messages: Vec<Event<'a>>,
    /// Judgements of parts of them.
    pub(crate) annotations: Vec<Annotation<'a>>,
    /// What is known of the trace.
    pub(crate) metadata: Object<'a>,
}

/// A judgement of a part of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Annotation<'a> {
    /// In words.
    pub(crate) content: Text<'a>,
    /// The part: `messages[2].tool_calls[0]`.
    pub(crate) address: Text<'a>,
    /// What else is known.
    pub(crate) extra_metadata: Option<Object<'a>>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Event<'a> {
    /// A message or a tool's output.
    Message(Box<Message<'a>>),
    /// The tools that were offered.
    Tools(Tools<'a>),
}

/// A message or, with the role `tool`, a tool's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Message<'a> {
    /// `system`, `developer`, `user`, `assistant`, `tool` or another word.
    pub(crate) role: Text<'a>,
    /// Of a tool's output: the call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<Text<'a>>,
    /// Text, null or a list of parts (text, `image_url`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Json<'a>>,
    /// Calls that the message asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall<'a>>>,
    /// What else is known; never null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Object<'a>>,
    /// ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp: Option<Text<'a>>,
    /// The speaker's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Text<'a>>,
}

/// A request to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ToolCall<'a> {
    /// Unique in the list.
    pub(crate) id: Text<'a>,
    /// `function`
    #[serde(rename = "type")]
    pub(crate) kind: Text<'a>,
    /// Which tool, with what.
    pub(crate) function: Function<'a>,
}

/// Which tool, with what.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Function<'a> {
    /// The tool's name.
    pub(crate) name: Text<'a>,
    /// Read from JSON text, too.
    pub(crate) arguments: Object<'a>,
}

/// The tools that were offered, in the shape of MCP's `tools/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Tools<'a> {
    /// One object a tool: `name`, `description`, `inputSchema`.
    pub(crate) tools: Vec<Object<'a>>,
}

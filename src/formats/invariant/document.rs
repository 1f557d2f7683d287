//! Invariant's own types: events, tool calls, annotations, and the containers that hold a list of events.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::document::json::{Json, Object, Text};

/// One trace, or several, in the container that Explorer takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Document<'a> {
    /// A plain array of events.
    Trace(Vec<Event<'a>>),
    /// The body of `POST /api/v1/push/trace`.
    Push(Push<'a>),
    /// A line of Explorer's annotated JSONL.
    Row(Row<'a>),
}

/// The body of a push request: lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Push<'a> {
    /// One list of events a trace.
    pub messages: Vec<Vec<Event<'a>>>,
    /// One list of annotations a trace.
    #[serde(default)]
    pub annotations: Option<Vec<Vec<Annotation<'a>>>>,
    /// The data set to add to.
    #[serde(default)]
    pub dataset: Option<Text<'a>>,
    /// One object a trace.
    #[serde(default)]
    pub metadata: Option<Vec<Object<'a>>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A line of annotated JSONL: one trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row<'a> {
    /// The events.
    pub messages: Vec<Event<'a>>,
    /// Judgements of parts of them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Vec<Annotation<'a>>,
    /// What is known of the trace.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: Object<'a>,
    /// `index`, `name`, `hierarchy_path` and whatever else stands in the row.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A judgement of a part of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotation<'a> {
    /// In words.
    pub content: Text<'a>,
    /// The part: `messages[2].tool_calls[0]`.
    pub address: Text<'a>,
    /// What else is known.
    #[serde(default)]
    pub extra_metadata: Option<Object<'a>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event<'a> {
    /// A message or a tool's output.
    Message(Box<Message<'a>>),
    /// A tool call outside any message.
    Call(ToolCall<'a>),
    /// The tools that were offered.
    Tools(Tools<'a>),
}

/// A message or, with the role `tool`, a tool's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message<'a> {
    /// `system`, `developer`, `user`, `assistant`, `tool` or another word.
    pub role: Text<'a>,
    /// Of a tool's output: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Text<'a>>,
    /// Text, null or a list of parts (text, `image_url`).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub content: Option<Json<'a>>,
    /// Calls that the message asks for; the inner `None` is a null.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Option<Vec<ToolCall<'a>>>>,
    /// What else is known; never null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object<'a>>,
    /// ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Text<'a>>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// A request to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall<'a> {
    /// Unique in the list.
    #[serde(deserialize_with = "text_or_number")]
    pub id: Text<'a>,
    /// `function`
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    /// Which tool, with what.
    pub function: Function<'a>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// Which tool, with what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Function<'a> {
    /// The tool's name.
    pub name: Text<'a>,
    /// Read from JSON text, too.
    #[serde(deserialize_with = "object_or_text")]
    pub arguments: Object<'a>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

/// The tools that were offered, in the shape of MCP's `tools/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tools<'a> {
    /// One object a tool: `name`, `description`, `inputSchema`.
    pub tools: Vec<Object<'a>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Object<'a>,
}

impl<'de> Deserialize<'de> for Document<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_array() {
            return read(value).map(Self::Trace);
        }
        let first = value.get("messages").and_then(|messages| messages.get(0));
        if first.is_some_and(Value::is_array) {
            read(value).map(Self::Push)
        } else {
            read(value).map(Self::Row)
        }
    }
}

impl<'de> Deserialize<'de> for Event<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.get("role").is_some() {
            read(value).map(Self::Message)
        } else if value.get("tools").is_some() {
            read(value).map(Self::Tools)
        } else {
            read(value).map(Self::Call)
        }
    }
}

fn read<T: DeserializeOwned, E: serde::de::Error>(value: Value) -> Result<T, E> {
    serde_json::from_value(value).map_err(E::custom)
}

/// A key that stands there with null differs from one that does not stand there.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn text_or_number<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text.into()),
        Value::Number(number) => Ok(number.to_string().into()),
        other => Err(D::Error::custom(format_args!("id: expected text, found {other}"))),
    }
}

fn object_or_text<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Object<'a>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| D::Error::custom(format_args!("arguments: {error}")))?,
        other => other,
    };
    match value {
        Value::Object(map) => Ok(map.into()),
        other => Err(D::Error::custom(format_args!("arguments: expected an object, found {other}"))),
    }
}

//! Invariant's own types: events, tool calls, annotations, and the containers that hold a list of events.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One trace, or several, in the container that Explorer takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Document {
    /// A plain array of events.
    Trace(Vec<Event>),
    /// The body of `POST /api/v1/push/trace`.
    Push(Push),
    /// A line of Explorer's annotated JSONL.
    Row(Row),
}

/// The body of a push request: lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Push {
    /// One list of events a trace.
    pub messages: Vec<Vec<Event>>,
    /// One list of annotations a trace.
    #[serde(default)]
    pub annotations: Option<Vec<Vec<Annotation>>>,
    /// The data set to add to.
    #[serde(default)]
    pub dataset: Option<String>,
    /// One object a trace.
    #[serde(default)]
    pub metadata: Option<Vec<Map<String, Value>>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A line of annotated JSONL: one trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The events.
    pub messages: Vec<Event>,
    /// Judgements of parts of them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Vec<Annotation>,
    /// What is known of the trace.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: Map<String, Value>,
    /// `index`, `name`, `hierarchy_path` and whatever else stands in the row.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A judgement of a part of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// In words.
    pub content: String,
    /// The part: `messages[2].tool_calls[0]`.
    pub address: String,
    /// What else is known.
    #[serde(default)]
    pub extra_metadata: Option<Map<String, Value>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A message or a tool's output.
    Message(Box<Message>),
    /// A tool call outside any message.
    Call(ToolCall),
    /// The tools that were offered.
    Tools(Tools),
}

/// A message or, with the role `tool`, a tool's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `developer`, `user`, `assistant`, `tool` or another word.
    pub role: String,
    /// Of a tool's output: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Text, null or a list of parts (text, `image_url`).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// Calls that the message asks for; the inner `None` is a null.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Option<Vec<ToolCall>>>,
    /// What else is known; never null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A request to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the list.
    #[serde(deserialize_with = "text_or_number")]
    pub id: String,
    /// `function`
    #[serde(rename = "type")]
    pub kind: String,
    /// Which tool, with what.
    pub function: Function,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Which tool, with what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The tool's name.
    pub name: String,
    /// Read from JSON text, too.
    #[serde(deserialize_with = "object_or_text")]
    pub arguments: Map<String, Value>,
    /// Keys that the page does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The tools that were offered, in the shape of MCP's `tools/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    /// One object a tool: `name`, `description`, `inputSchema`.
    pub tools: Vec<Map<String, Value>>,
    /// Keys that the package does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Document {
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

impl<'de> Deserialize<'de> for Event {
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

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format_args!("id: expected text, found {other}"))),
    }
}

fn object_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| D::Error::custom(format_args!("arguments: {error}")))?,
        other => other,
    };
    match value {
        Value::Object(map) => Ok(map),
        other => Err(D::Error::custom(format_args!("arguments: expected an object, found {other}"))),
    }
}

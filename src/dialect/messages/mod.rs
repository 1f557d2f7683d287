//! Converts messages of every recorded shape to [`Message`]s: OpenAI chat and Responses, Anthropic blocks, Gemini contents,
//! OTel GenAI parts, OpenInference's flattened form, LangChain constructors, Vercel model messages, Bedrock blocks,
//! Genkit and Agent Framework contents.
//!
//! The members of the JSON value determine the shape, never the client: the same shape comes from many clients.

mod answers;
mod arguments;
mod block;
mod builder;
mod calls;
mod classes;
mod containers;
mod direction;
mod envelope;
mod flattened;
mod media;
mod member;
mod object;
mod parts;
mod printed;
mod python_repr;
mod responses;
mod server_tools;
mod system;

use serde_json::{Map, Value};

use crate::hash::Members as _;
use crate::operation::{Message, Part, Role, ToolCall};
use crate::span::AnyValue;
use crate::withheld::is_withheld;

pub(in crate::dialect) use answers::{answers, merge_thinking, number_choices};
pub(crate) use arguments::parse_deep;
pub(in crate::dialect) use calls::of_list as calls;
pub(crate) use direction::Direction;
pub(crate) use envelope::inside as inside_envelope;
pub(in crate::dialect) use parts::json_block;
pub use system::system;

/// The messages in a value; `None` if nothing in it looks like a message.
#[must_use]
pub(crate) fn read(value: &Value, direction: Direction) -> Option<Vec<Message>> {
    let mut messages = containers::read(value, direction)?;
    messages.retain_mut(has_content);
    messages.shrink_to_fit();
    (!messages.is_empty()).then_some(messages)
}

/// Whether a value has a shape of messages, even if they are blank.
pub(crate) fn is_read(value: &Value, direction: Direction) -> bool {
    containers::read(value, direction).is_some()
}

/// Reads messages in flattened keys (without prefix); `None` if they have members that only [`read`] on their tree handles.
#[must_use]
pub(super) fn flattened<'a>(group: impl Iterator<Item = (&'a str, &'a AnyValue)>) -> Option<Vec<Message>> {
    let mut messages = flattened::read(group)?;
    messages.retain_mut(has_content);
    messages.shrink_to_fit();
    Some(messages)
}

/// Whether a message had content that its client withheld; removes the placeholders.
pub(in crate::dialect) fn is_withheld_message(message: &mut Message) -> bool {
    let withheld = message
        .parts
        .iter()
        .any(|part| matches!(part, Part::Text(text) if is_withheld(text)));
    withheld && !has_content(message)
}

/// Removes withheld content; returns whether anything remains of the message.
fn has_content(message: &mut Message) -> bool {
    message.parts.retain(|part| !matches!(part, Part::Text(text) if is_withheld(text)));
    if !message.tool_calls.is_empty() {
        drop_printed_none(message);
    }
    // A trace contains a message once per model call that received it. Most have one part, but capacity for four.
    message.parts.shrink_to_fit();
    message.tool_calls.shrink_to_fit();
    !message.is_blank() || message.role == Role::Tool && message.tool_call_id.is_some()
}

/// Removes the text `None` next to calls, which Python printed for missing text.
pub(crate) fn drop_printed_none(message: &mut Message) {
    if says_printed_none(message) {
        message.parts.retain(|part| !matches!(part, Part::Text(_)));
    }
}

/// Whether an assistant's only text is Python's printed None, or JSON of no text (OpenLLMetry's LangChain).
pub(crate) fn says_printed_none(message: &Message) -> bool {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.trim()),
        _ => None,
    });
    message.role == Role::Assistant && matches!(texts.next(), Some("None" | "\"\"")) && texts.next().is_none()
}

/// A tool's result as a message, if its content blocks include an image, audio or file.
#[must_use]
pub(crate) fn result_with_media(value: &Value) -> Option<Message> {
    let blocks = match value {
        Value::Object(map) => map.member("content")?,
        blocks => blocks,
    };
    if !blocks.as_array()?.iter().any(block::is_block) {
        return None;
    }
    let mut answer = Message {
        role: Role::Tool,
        ..Message::default()
    };
    parts::set_result(&mut answer, blocks);
    let is_media = |part: &Part| matches!(part, Part::Media(_));
    answer.parts.iter().any(is_media).then_some(answer)
}

/// Whether a provider's body has calls of server tools.
#[must_use]
pub(super) fn has_server_tool_calls(body: &Value) -> bool {
    let is_call = |item: &Value| {
        let kind = item.member("type").and_then(Value::as_str).unwrap_or_default();
        server_tools::is_call_item(kind) || matches!(kind, "server_tool_use" | "mcp_tool_use")
    };
    let lists = ["output", "content"]
        .iter()
        .filter_map(|key| body.member(key).and_then(Value::as_array));
    lists.flatten().any(is_call)
}

/// The call in the input of a tool executor: `{"tool_call": {"id", "function": {"name", "arguments"}}, ..}` (Dapr Agents).
pub(super) fn call_to_run(input: &Value) -> Option<ToolCall> {
    let call = input
        .member("tool_call")
        .filter(|call| call.member("id").is_some_and(Value::is_string))?;
    let function = call.member("function")?;
    let is_whole = function.member("name").is_some_and(Value::is_string) && function.member("arguments").is_some();
    calls::read(call).filter(|_| is_whole)
}

/// The messages in an object that has a role.
pub(in crate::dialect) fn of_object(map: &Map<String, Value>) -> Vec<Message> {
    object::from_object(map, Direction::Input).unwrap_or_default()
}

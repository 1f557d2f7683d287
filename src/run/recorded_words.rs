//! Stage "recorded words": takes the nodes, gives model calls without messages what was recorded as their whole input and output.
//!
//! A custom client may record a structured answer (`{"answer": "..."}`) in no form of messages. It is the model's output
//! nonetheless. The stage comes after the duplicates: another span of the same call may have its messages.

use serde_json::Value;

use super::node::Nodes;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Operation, Recorded, Role};

/// Calls with messages in neither direction get those of both.
pub(super) fn give_to_calls(nodes: &mut Nodes) {
    for call in nodes.of_kind(Kind::Llm) {
        if let Some(node) = nodes.get_mut(call) {
            let Operation {
                input,
                output,
                input_messages,
                output_messages,
                raw_response,
                ..
            } = &mut *node.operation;
            if output_messages.is_none() {
                *output_messages = words(output, Direction::Output);
            }
            // A response whose answer is blank: all tokens went into thoughts that nobody may read.
            let is_silent = output_messages.as_ref().is_none_or(|list| list.iter().all(Message::is_blank));
            let is_body = raw_response.as_ref().is_none_or(|raw| output.get() == Some(raw));
            if is_silent && is_body && is_blank_response(output) {
                *raw_response = std::mem::take(output).get().cloned();
            }
            // Messages without words and calls: of a stream that failed, or of an answer that was filtered.
            if is_silent && are_blank_messages(output) {
                *output = Recorded::default();
            }
            if input_messages.is_none() {
                *input_messages = words(input, Direction::Input).map(Into::into);
            }
        }
    }
}

fn is_blank_response(recorded: &Recorded) -> bool {
    let Some(value @ Value::Object(members)) = recorded.get() else {
        return false;
    };
    members.contains_key("choices") && messages::is_read(value, Direction::Output) && messages::read(value, Direction::Output).is_none()
}

/// The members of a message that are read, or say nothing without its words.
const OF_MESSAGES: [&str; 5] = ["role", "content", "parts", "finish_reason", "tool_calls"];

fn are_blank_messages(recorded: &Recorded) -> bool {
    let Some(value @ Value::Array(items)) = recorded.get() else {
        return false;
    };
    // What else is in one, as why an answer was filtered, is in no message.
    let is_blank = |(key, value): (&String, &Value)| OF_MESSAGES.contains(&key.as_str()) || is_empty(value);
    let is_message = |item: &Value| {
        let members = item.as_object().filter(|members| members.get("role").is_some_and(Value::is_string));
        members.is_some_and(|members| members.iter().all(is_blank))
    };
    !items.is_empty() && items.iter().all(is_message) && messages::read(value, Direction::Output).is_none()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A JSON object as the text of a message. Bare text was read as a message where it is one.
fn words(recorded: &Recorded, direction: Direction) -> Option<Vec<Message>> {
    let value = recorded.get()?;
    let has_content = matches!(value, Value::Object(members) if !members.is_empty());
    let role = match direction {
        Direction::Input => Role::User,
        Direction::Output => Role::Assistant,
    };
    // Messages without words are no evidence.
    let is_words = has_content && !messages::is_read(value, direction);
    is_words.then(|| vec![Message::text(role, value.to_string())])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::id::{Id as _, NodeId};
    use crate::run::testing::{nodes, reading};

    #[test]
    fn structured_answers_are_words() {
        let call = |number, output: Value| {
            let mut call = reading(number, Kind::Llm, 0..9);
            call.operation.output = output.into();
            (call, None)
        };
        let mut nodes = nodes([
            call(1, json!({"answer": {"city": "Bogotá"}})),
            call(2, json!({"role": "assistant", "content": ""})),
            call(3, json!({})),
            call(
                4,
                json!({"generations": [[]], "llm_output": null, "run": null, "type": "LLMResult"}),
            ),
            call(5, json!({"id": "c", "object": "chat.completion", "model": "m", "choices": []})),
            call(6, json!([{"role": "assistant", "content": "", "filtered": ["violence"]}])),
            call(7, json!([{"role": "assistant", "parts": [], "finish_reason": "stop"}])),
        ]);
        give_to_calls(&mut nodes);
        let said = nodes
            .list
            .iter()
            .map(|node| Some(node.operation.output_messages.as_ref()?.first()?.content()));
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                Some(r#"{"answer":{"city":"Bogotá"}}"#.to_owned()),
                None,
                None,
                None,
                None,
                None,
                None
            ]
        );
        let filtered = nodes.get(NodeId::new(5)).and_then(|node| node.operation.output.get());
        assert!(filtered.is_some(), "why it has no words is kept");
        let blank = nodes.list.last().map(|node| node.operation.output.get().cloned());
        assert_eq!(blank, Some(None), "messages without words are no output");
    }
}

//! Stage "recorded words": takes the nodes and gives model calls without messages their recorded input and output as messages.
//!
//! A custom client may record a structured answer (`{"answer": "..."}`) that is not in the form of a message. It is the model's
//! output nonetheless. This runs after the duplicates, since another span of the same call may have its messages.

use serde_json::{Map, Value};

use super::node::Nodes;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Model, Operation, Recorded, Role, has_nothing};

/// Gives messages to calls that have none.
pub(super) fn give_to_calls(nodes: &mut Nodes) {
    for call in nodes.of_kind(Kind::Llm) {
        if let Some(node) = nodes.get_mut(call) {
            let Operation {
                input,
                output,
                input_messages,
                output_messages,
                raw_response,
                model,
                parameters,
                ..
            } = &mut *node.operation;
            if output_messages.is_none() {
                *output_messages = words(output, Direction::Output);
            }
            // A response with a blank answer: all tokens went into hidden thoughts.
            let is_silent = output_messages.as_ref().is_none_or(|list| list.iter().all(Message::is_blank));
            // Reading the output parses it, which few calls need.
            if is_silent && raw_response.as_ref().is_none_or(|raw| output.get() == Some(raw)) && is_blank_response(output) {
                *raw_response = std::mem::take(output).get().cloned();
            }
            // Messages without text and calls: from a failed stream, or a filtered answer.
            if is_silent && are_blank_messages(output) {
                *output = Recorded::default();
            }
            // Skip requests of APIs that take no text: audio to transcribe, tokens to continue.
            if input_messages.is_none() && !is_request(input, model, parameters) {
                *input_messages = words(input, Direction::Input).map(Into::into);
            }
        }
    }
}

/// Whether an input is the body of a request: it names the call's model, or consists of its parameters.
fn is_request(input: &Recorded, model: &Model, parameters: &Map<String, Value>) -> bool {
    let Some(Value::Object(members)) = input.get() else {
        return false;
    };
    let names = [&model.requested, &model.response];
    let named = members.get("model").and_then(Value::as_str);
    named.is_some_and(|named| names.iter().any(|name| name.as_deref() == Some(named)))
        || !members.is_empty() && members.iter().all(|(key, value)| parameters.get(key) == Some(value))
}

fn is_blank_response(recorded: &Recorded) -> bool {
    let Some(value @ Value::Object(members)) = recorded.get() else {
        return false;
    };
    members.contains_key("choices") && messages::is_read(value, Direction::Output) && messages::read(value, Direction::Output).is_none()
}

/// The members of a message that are read, or are meaningless without its text.
const OF_MESSAGES: [&str; 5] = ["role", "content", "parts", "finish_reason", "tool_calls"];

fn are_blank_messages(recorded: &Recorded) -> bool {
    let Some(value @ Value::Array(items)) = recorded.get() else {
        return false;
    };
    // Other members, such as why an answer was filtered, would be lost.
    let is_blank = |(key, value): (&String, &Value)| OF_MESSAGES.contains(&key.as_str()) || is_empty(value);
    let is_message = |item: &Value| {
        let members = item.as_object().filter(|members| members.get("role").is_some_and(Value::is_string));
        members.is_some_and(|members| members.iter().all(is_blank))
    };
    !items.is_empty() && items.iter().all(is_message) && messages::read(value, Direction::Output).is_none()
}

fn is_empty(value: &Value) -> bool {
    has_nothing(value) || value.as_str() == Some("")
}

/// A JSON object as the text of a message; an input text as the messages in it, or as one message.
fn words(recorded: &Recorded, direction: Direction) -> Option<Vec<Message>> {
    let value = recorded.get()?;
    // An object as text is an unparsed request.
    if let (Value::String(text), Direction::Input) = (value, direction)
        && serde_json::from_str::<Map<String, Value>>(text).is_err()
    {
        return messages::read(value, direction).or_else(|| (!text.trim().is_empty()).then(|| vec![Message::text(Role::User, text)]));
    }
    let has_content = matches!(value, Value::Object(members) if !members.is_empty());
    let role = match direction {
        Direction::Input => Role::User,
        Direction::Output => Role::Assistant,
    };
    // Messages without text are not evidence.
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
    fn requests_without_words_are_none() {
        let said = |input: Value, model: &str| {
            let mut call = reading(1, Kind::Llm, 0..9);
            call.operation.input = input.into();
            call.operation.model.requested = Some(model.to_owned());
            call.operation.parameters = Map::from_iter([("language".to_owned(), "en".into())]);
            let mut nodes = nodes([(call, None)]);
            give_to_calls(&mut nodes);
            nodes.list.iter().any(|node| node.operation.input_messages.is_some())
        };
        assert!(!said(json!({"model": "whisper-1", "format": "json"}), "whisper-1"));
        assert!(!said(json!({"language": "en"}), "whisper-1"), "its parameters alone");
        assert!(said(json!("Hello."), "gpt-4o"));
        assert!(
            said(json!({"model": "Ford T", "colour": "black"}), "gpt-4o"),
            "another model is meant"
        );
    }

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

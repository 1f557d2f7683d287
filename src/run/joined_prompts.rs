//! Stage "joined prompts": takes the nodes and splits model inputs that are a whole conversation joined into one text.
//!
//! Quarkus LangChain4j writes the texts of all messages separated by line breaks, so that the call after a tool seems to get a new
//! question: the old one plus the tool's result. This runs before conversations are built from the inputs.

use super::id::NodeId;
use super::node::{Node, Nodes};
use super::results::result_text;
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Part, Role, ToolCall, ToolCallId};

/// The previous model call under the same parent.
struct PreviousCall {
    /// Its input as recorded.
    text: String,
    messages: Vec<Message>,
    /// Tools that ran since.
    tools: Vec<NodeId>,
}

pub(super) fn split(nodes: &mut Nodes) {
    let mut calls: HashMap<Option<NodeId>, PreviousCall> = HashMap::default();
    let all: Vec<NodeId> = nodes.list.ids().collect();
    for id in all {
        let parent = nodes.parent(id);
        match nodes.kind(id) {
            Kind::Tool => {
                if let Some(before) = calls.get_mut(&parent) {
                    before.tools.push(id);
                }
            }
            Kind::Llm => {
                let Some(text) = nodes.get(id).and_then(only_text).map(str::to_owned) else {
                    let _ = calls.remove(&parent);
                    continue;
                };
                let joined = calls.remove(&parent).and_then(|before| joined(nodes, before, &text));
                let messages = joined.unwrap_or_else(|| vec![Message::text(Role::User, text.as_str())]);
                if let Some(node) = nodes.get_mut(id).filter(|_| messages.len() > 1) {
                    node.operation.input_messages = Some(messages.clone().into());
                }
                let _ = calls.insert(
                    parent,
                    PreviousCall {
                        text,
                        messages,
                        tools: Vec::new(),
                    },
                );
            }
            _ => {}
        }
    }
}

/// The text of a call's only message.
fn only_text(node: &Node) -> Option<&str> {
    match node.operation.input_messages.as_deref()? {
        [message] if message.role == Role::User => match message.parts.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The messages in a text that consists of the previous one and the results of tools since, one line each.
fn joined(nodes: &Nodes, before: PreviousCall, text: &str) -> Option<Vec<Message>> {
    let mut rest = text.strip_prefix(before.text.as_str()).filter(|_| !before.tools.is_empty())?;
    let mut asking = Message::text(Role::Assistant, "");
    asking.parts.clear();
    let mut answers = Vec::new();
    for tool in before.tools {
        let used = nodes.get(tool)?.operation.tool.as_deref()?;
        let result = result_text(used.result.as_ref()?);
        rest = rest.strip_prefix('\n')?.strip_prefix(result.as_ref())?;
        asking.tool_calls.push(ToolCall {
            id: used.call_id.clone().map(ToolCallId::Recorded),
            name: used.name.clone()?,
            arguments: used.arguments.clone(),
            ..ToolCall::default()
        });
        answers.push(Message {
            tool_call_id: used.call_id.clone(),
            name: used.name.clone().filter(|_| used.call_id.is_none()),
            ..Message::text(Role::Tool, result)
        });
    }
    let mut messages = before.messages;
    messages.push(asking);
    messages.extend(answers);
    rest.trim().is_empty().then_some(messages)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::ToolUse;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn the_result_in_the_prompt_is_the_tools() {
        let call = |number, time, text: &str| {
            let mut call = reading(number, Kind::Llm, time);
            call.operation.input_messages = Some(vec![Message::text(Role::User, text)].into());
            call
        };
        let mut tool = reading(3, Kind::Tool, 20..25);
        tool.operation.tool = Some(Box::new(ToolUse {
            name: Some("clock".to_owned()),
            call_id: Some("c1".to_owned()),
            result: Some(json!("12:00")),
            ..ToolUse::default()
        }));
        let mut nodes = nodes([
            (reading(1, Kind::Agent, 0..90), None),
            (call(2, 10..19, "What time?"), Some(0)),
            (tool, Some(0)),
            (call(4, 30..40, "What time?\n12:00"), Some(0)),
            (call(5, 50..60, "What time?\n12:00\nAnd now?"), Some(0)),
        ]);
        split(&mut nodes);
        let roles = |at: usize| -> Vec<Role> {
            let list = nodes.get(NodeId::new(at)).and_then(|node| node.operation.input_messages.as_deref());
            list.unwrap_or_default().iter().map(|message| message.role.clone()).collect()
        };
        assert_eq!(roles(3), [Role::User, Role::Assistant, Role::Tool]);
        assert_eq!(roles(4), [Role::User], "no tool ran since");
    }
}

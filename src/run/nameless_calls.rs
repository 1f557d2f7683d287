//! Stage "nameless calls": takes the nodes and names calls without a name after the tool whose result answers them.
//!
//! Fiddler's client leaves the name empty if a history has calls in another provider's form, and tools record no id: the history has
//! id and result, the tool has name and result. This runs before everything that compares calls by name. A call that no tool explains
//! is dropped, since it has no content.

use std::collections::VecDeque;

use super::id::NodeId;
use super::node::Nodes;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Operation, Role, ToolCall};

pub(super) fn name(nodes: &mut Nodes) {
    let nameless: HashSet<String> = nodes.list.iter().flat_map(|node| nameless_of(&node.operation)).collect();
    if nameless.is_empty() {
        return;
    }
    let known = tools_of(nodes, &nameless);
    for (id, (tool, _)) in &known {
        if let Some(used) = nodes.get_mut(*tool).and_then(|node| node.operation.tool.as_deref_mut()) {
            used.call_id = Some(id.clone());
        }
    }
    let ids: Vec<NodeId> = nodes.list.ids().collect();
    for id in ids {
        let Some(node) = nodes.get_mut(id).filter(|node| nameless_of(&node.operation).next().is_some()) else {
            continue;
        };
        let operation = &mut node.operation;
        if let Some(list) = operation.input_messages.take() {
            let mut list = list.into_vec();
            list.iter_mut().for_each(|message| named(message, &known));
            operation.input_messages = Some(list.into());
        }
        operation
            .output_messages
            .iter_mut()
            .flatten()
            .for_each(|message| named(message, &known));
    }
}

/// The ids of calls without a name. Shared lists are skipped: records that share them name every call.
fn nameless_of(operation: &Operation) -> impl Iterator<Item = String> + '_ {
    let lists = [own_input(operation), operation.output_messages.as_deref()];
    let calls = lists.into_iter().flatten().flatten().flat_map(|message| &message.tool_calls);
    calls
        .filter(|call| call.name.is_empty())
        .filter_map(|call| call.id.as_deref().map(str::to_owned))
}

fn own_input(operation: &Operation) -> Option<&[Message]> {
    let input = operation.input_messages.as_ref();
    input.filter(|list| list.shared_number().is_none()).map(|list| &**list)
}

/// The tool for each id, and the call as the tool records it. Tools with equal results are assigned to calls in the order
/// they began.
fn tools_of(nodes: &Nodes, nameless: &HashSet<String>) -> HashMap<String, (NodeId, ToolCall)> {
    let mut by_result: HashMap<String, VecDeque<NodeId>> = HashMap::default();
    for id in nodes.of_kind(Kind::Tool) {
        let used = nodes.get(id).and_then(|node| node.operation.tool.as_deref());
        if let Some(used) = used.filter(|used| used.call_id.is_none() && used.name.is_some())
            && let Some(result) = &used.result
        {
            by_result.entry(result.to_string()).or_default().push_back(id);
        }
    }
    let mut out: HashMap<String, (NodeId, ToolCall)> = HashMap::default();
    let answers = nodes.list.iter().filter_map(|node| own_input(&node.operation)).flatten();
    for answer in answers.filter(|message| message.role == Role::Tool) {
        let Some(id) = answer
            .tool_call_id
            .as_deref()
            .filter(|id| nameless.contains(*id) && !out.contains_key(*id))
        else {
            continue;
        };
        let tool = by_result.get_mut(&answer.result_value().to_string()).and_then(VecDeque::pop_front);
        if let Some(tool) = tool
            && let Some(used) = nodes.get(tool).and_then(|node| node.operation.tool.as_deref())
        {
            let call = ToolCall {
                name: used.name.clone().unwrap_or_default(),
                arguments: used.arguments.clone(),
                ..ToolCall::default()
            };
            let _ = out.insert(id.to_owned(), (tool, call));
        }
    }
    out
}

/// Names the calls of a message and removes those that stay unknown.
fn named(message: &mut Message, known: &HashMap<String, (NodeId, ToolCall)>) {
    for call in message.tool_calls.iter_mut().filter(|call| call.name.is_empty()) {
        if let Some((_, recorded)) = call.id.as_deref().and_then(|id| known.get(id)) {
            call.name.clone_from(&recorded.name);
            if call.arguments.is_none() {
                call.arguments.clone_from(&recorded.arguments);
            }
        }
    }
    message.tool_calls.retain(|call| !call.name.is_empty());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::{ToolCallId, ToolUse};
    use crate::run::testing::{nodes, reading};

    #[test]
    fn a_call_has_the_name_of_the_tool_with_its_result() {
        let mut tool = reading(1, Kind::Tool, 1..2);
        tool.operation.tool = Some(Box::new(ToolUse {
            name: Some("get_weather".to_owned()),
            arguments: Some(json!({"city": "Oslo"})),
            result: Some(json!("Oslo: 4C")),
            ..ToolUse::default()
        }));
        let call = |id: &str| ToolCall {
            id: Some(ToolCallId::Recorded(id.to_owned())),
            ..ToolCall::default()
        };
        let asked = Message {
            role: Role::Assistant,
            tool_calls: vec![call("c1"), call("c2")],
            ..Message::default()
        };
        let answer = Message {
            tool_call_id: Some("c1".to_owned()),
            ..Message::text(Role::Tool, "Oslo: 4C")
        };
        let mut model = reading(2, Kind::Llm, 3..4);
        model.operation.input_messages = Some(vec![asked, answer].into());
        let mut nodes = nodes([(tool, None), (model, None)]);
        name(&mut nodes);
        let recorded: Vec<&ToolCall> = nodes
            .list
            .iter()
            .filter_map(|node| node.operation.input_messages.as_deref())
            .flatten()
            .flat_map(|message| &message.tool_calls)
            .collect();
        assert!(matches!(recorded.as_slice(), [call] if call.name == "get_weather" && call.arguments == Some(json!({"city": "Oslo"}))));
        assert!(nodes.list.iter().any(|node| {
            node.operation
                .tool
                .as_ref()
                .is_some_and(|tool| tool.call_id.as_deref() == Some("c1"))
        }));
    }
}

//! Stage "asked calls": takes the nodes and gives model calls the tool calls whose tools name them as the asker.
//!
//! Claude Code records a model's words, but not which tools it asked for: each tool names the request. This runs before the scopes
//! and conversations, which then treat such a call like any other.

use super::id::NodeId;
use super::names;
use super::node::{Node, Nodes};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Role, ToolCall, ToolCallId};

/// Gives each call to the model call that asked for it, in the order in which the tools began.
pub(super) fn give_to_calls(nodes: &mut Nodes) {
    let tools = nodes.of_kind(Kind::Tool);
    let names_one = |tool: &NodeId| nodes.get(*tool).is_some_and(|tool| tool.beside.asked_by.is_some());
    let askers = if tools.iter().any(names_one) {
        askers(nodes)
    } else {
        HashMap::default()
    };
    let mut by_asker: HashMap<NodeId, Vec<ToolCall>> = HashMap::default();
    let mut order = Vec::new();
    for tool in tools {
        let Some(node) = nodes.get(tool) else { continue };
        let by = match &node.beside.asked_by {
            Some(asker) => askers.get(asker.trim_start_matches("0x")).copied(),
            None => call_before(nodes, tool),
        };
        let (Some(by), Some(call)) = (by, call_of(node)) else { continue };
        let calls = by_asker.entry(by).or_default();
        if calls.is_empty() {
            order.push(by);
        }
        calls.push(call);
    }
    for by in order {
        let calls = by_asker.remove(&by).unwrap_or_default();
        let Some(node) = nodes.get_mut(by) else { continue };
        let output = node.operation.output_messages.get_or_insert_default();
        if output.is_empty() {
            output.push(Message {
                role: Role::Assistant,
                ..Message::default()
            });
        }
        let Some(message) = output.first_mut() else { continue };
        let recorded = ShownCalls::of(&message.tool_calls);
        let mut seen: HashSet<Option<ToolCallId>> = HashSet::default();
        // A second span of one call is another attempt.
        let is_new = |call: &ToolCall| !recorded.may_have(call) && (call.id.is_none() || seen.insert(call.id.clone()));
        message.tool_calls.extend(calls.into_iter().filter(is_new));
    }
}

/// The model call above a tool, if the tool began after it ended and its answer shows no calls: a client that nests tools below the
/// call that asked for them need not record the request (Arize's tracing of Claude Code).
fn call_before(nodes: &Nodes, tool: NodeId) -> Option<NodeId> {
    let above = nodes.parent(tool)?;
    let (call, tool) = (nodes.get(above)?, nodes.get(tool)?);
    let has_calls = || {
        let mut output = call.operation.output_messages.iter().flatten();
        output.any(|message| !message.tool_calls.is_empty())
    };
    // Spans from documents, which have no scope, nest tools below calls for other reasons.
    let is_after = call.kind() == Kind::Llm && !call.instrumentation().is_empty() && call.end.is_some_and(|end| end <= tool.start);
    (is_after && !has_calls()).then_some(above)
}

/// Model calls by the ids that tools name them by: response ids and span ids.
fn askers(nodes: &Nodes) -> HashMap<String, NodeId> {
    let mut out = HashMap::default();
    for call in nodes.of_kind(Kind::Llm) {
        let Some(node) = nodes.get(call) else { continue };
        let spans = std::iter::once(&node.span_id).chain(&node.evidence).map(ToString::to_string);
        for name in spans.chain(node.operation.response_id.clone()) {
            let _ = out.entry(name).or_insert(call);
        }
    }
    out
}

/// The call that a tool run belongs to.
fn call_of(tool: &Node) -> Option<ToolCall> {
    let used = tool.operation.tool.as_deref()?;
    Some(ToolCall {
        id: used.call_id.clone().map(ToolCallId::Recorded),
        name: names::tool(tool)?.to_owned(),
        arguments: used.arguments.clone(),
        ..ToolCall::default()
    })
}

/// The calls that a model's output shows.
struct ShownCalls {
    ids: HashSet<String>,
    /// The tools of all calls. [`Self::without_id`]: of those without an id.
    names: HashSet<String>,
    without_id: HashSet<String>,
}

impl ShownCalls {
    fn of(calls: &[ToolCall]) -> Self {
        let names = |list: &mut dyn Iterator<Item = &ToolCall>| list.map(|call| call.name.clone()).collect();
        Self {
            ids: calls.iter().filter_map(|call| call.id.as_deref().map(str::to_owned)).collect(),
            names: names(&mut calls.iter()),
            without_id: names(&mut calls.iter().filter(|call| call.id.is_none())),
        }
    }

    /// Whether one of them may be this call: the ids are equal, or the tools are where either id is unknown.
    fn may_have(&self, call: &ToolCall) -> bool {
        match call.id.as_deref() {
            Some(id) => self.ids.contains(id) || self.without_id.contains(&call.name),
            None => self.names.contains(&call.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::operation::ToolUse;
    use crate::run::testing::{nodes, reading};
    use crate::span::Scope;

    fn tool(number: u64, id: &str, asked_by: &str) -> Node {
        let mut tool = reading(number, Kind::Tool, 12..30);
        tool.beside.asked_by = Some(asked_by.to_owned());
        tool.operation.tool = Some(Box::new(ToolUse {
            name: Some("look".to_owned()),
            call_id: Some(id.to_owned()),
            ..ToolUse::default()
        }));
        tool
    }

    #[test]
    fn a_tool_below_a_call_that_has_ended_was_asked_for_by_it() {
        let [mut after, mut inside, mut shown] = [(3, "a"), (4, "b"), (6, "c")].map(|(number, id)| tool(number, id, ""));
        for tool in [&mut after, &mut inside, &mut shown] {
            tool.beside.asked_by = None;
        }
        inside.start.0 = after.start.0;
        let scope = Arc::new(Scope {
            name: "client".to_owned(),
            ..Scope::default()
        });
        let [ended, mut around, mut silent] = [(1, 1..10), (2, 1..40), (5, 1..10)].map(|(number, time)| {
            let mut call = reading(number, Kind::Llm, time);
            call.scope = Arc::clone(&scope);
            call
        });
        around.operation.output_messages = Some(vec![Message::text(Role::Assistant, "done")]);
        let mut message = Message::text(Role::Assistant, "");
        message.tool_calls.push(ToolCall {
            id: Some(ToolCallId::Recorded("z".to_owned())),
            name: "other".to_owned(),
            ..ToolCall::default()
        });
        silent.operation.output_messages = Some(vec![message]);
        let mut nodes = nodes([
            (ended, None),
            (around, None),
            (after, Some(0)),
            (inside, Some(1)),
            (silent, None),
            (shown, Some(4)),
        ]);
        give_to_calls(&mut nodes);
        let calls = nodes.of_kind(Kind::Llm).into_iter().map(|call| {
            let output = nodes.get(call).and_then(|node| node.operation.output_messages.as_ref());
            output.map_or(0, |output| output.iter().map(|message| message.tool_calls.len()).sum::<usize>())
        });
        assert_eq!(calls.collect::<Vec<_>>(), [1, 0, 1]);
    }

    #[test]
    fn a_tool_names_the_call_that_asked_for_it() {
        let call = |number, response: &str| {
            let mut call = reading(number, Kind::Llm, 10..20);
            call.operation.response_id = Some(response.to_owned());
            call
        };
        let tools = [(3, "a", "req_1"), (4, "b", "0x0000000000000002"), (5, "a", "req_1")].map(|(number, id, by)| tool(number, id, by));
        let [a, b, again] = tools;
        let mut nodes = nodes([
            (call(1, "req_1"), None),
            (call(2, "req_2"), None),
            (a, None),
            (b, None),
            (again, None),
        ]);
        give_to_calls(&mut nodes);
        let ids = nodes.of_kind(Kind::Llm).into_iter().filter_map(|call| {
            let output = nodes.get(call)?.operation.output_messages.as_ref()?.first()?;
            Some(output.tool_calls.iter().filter_map(|call| call.id.as_deref()).collect::<Vec<_>>())
        });
        assert_eq!(
            ids.collect::<Vec<_>>(),
            [["a"], ["b"]],
            "a second span of one call is another attempt"
        );
    }
}

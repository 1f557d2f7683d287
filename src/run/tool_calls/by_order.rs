//! Assigns results without an id, in a history that does not repeat their calls, to the calls without a result, if both are equal in
//! number.

use std::borrow::Cow;

use serde_json::Value;

use crate::hash::HashSet;
use crate::operation::Kind;
use crate::run::conversation::{DraftConversation, SeenResult};
use crate::run::id::{CallId, NodeId};
use crate::run::names;
use crate::run::node::{Node, Nodes};
use crate::run::results::{answer_text, result_text};
use crate::span::UnixNanos;
use crate::trace::{Finding, FindingKind};

/// Maximum number of a call's arguments searched for in a result.
const MAX_ARGUMENTS: usize = 8;
/// Maximum number of bytes of a result searched.
const MAX_SEARCHED_BYTES: usize = 4096;

/// Maximum number of results whose order is compared.
const MAX_ORDERED_RESULTS: usize = 64;

/// A call or a tool run without a result.
#[derive(Debug, Clone)]
struct Unanswered {
    call: Option<CallId>,
    tool: Option<NodeId>,
    /// When the call was made, or the tool began.
    from: UnixNanos,
    /// When its tool ended.
    until: Option<UnixNanos>,
}

/// Gives results without ids in a model input to the calls of the conversation, and to those of its `tools` that no call asks
/// for.
pub(super) fn give_results(nodes: &mut Nodes, conversation: &mut DraftConversation, tools: &[NodeId]) {
    let has_no_id = |seen: &SeenResult| seen.message.tool_call_id.is_none() && !seen.message.is_without_result();
    if !conversation.stray_results.iter().any(has_no_id) {
        return;
    }
    let mut waiting = waiting(nodes, conversation, tools);
    let strays = std::mem::take(&mut conversation.stray_results);
    let known = known_results(nodes, conversation, tools);
    let mut groups: Vec<(NodeId, Vec<SeenResult>)> = Vec::new();
    let mut left = Vec::new();
    for seen in strays {
        if !has_no_id(&seen) || known.contains(&*answer_text(&seen.message)) {
            left.push(seen);
            continue;
        }
        match groups.last_mut().filter(|(reader, _)| *reader == seen.node) {
            Some((_, group)) => group.push(seen),
            None => groups.push((seen.node, vec![seen])),
        }
    }
    for (reader, group) in groups {
        let read_at = nodes.get(reader).map_or(UnixNanos(u64::MAX), |node| node.start);
        let before = waiting.partition_point(|waiting| waiting.from <= read_at);
        if before != group.len() {
            left.extend(group);
            continue;
        }
        let asked: Vec<Unanswered> = waiting.drain(..before).collect();
        let asked = in_order_of_results(nodes, conversation, asked, &group);
        for (waiting, seen) in asked.into_iter().zip(group) {
            give(nodes, conversation, &waiting, seen);
        }
    }
    conversation.stray_results = left;
}

/// Calls and tools without a result, oldest first.
fn waiting(nodes: &Nodes, conversation: &DraftConversation, tools: &[NodeId]) -> Vec<Unanswered> {
    let lacks = |node: &Node| {
        let has_result = node.operation.tool.as_ref().is_some_and(|used| used.result.is_some());
        !has_result && node.operation.failure.is_none() && node.kind() == Kind::Tool
    };
    let calls = conversation.calls.enumerate().filter(|(_, draft)| draft.result.is_none());
    let calls = calls.filter_map(|(id, draft)| {
        let tool = draft.tools.last().copied();
        let node = tool.and_then(|tool| nodes.get(tool));
        if node.is_some_and(|node| !lacks(node)) {
            return None;
        }
        Some(Unanswered {
            call: Some(id),
            tool,
            from: nodes.get(draft.by?)?.start,
            until: node.and_then(|node| node.end),
        })
    });
    let tools = tools.iter().filter_map(|tool| {
        let node = nodes.get(*tool).filter(|node| lacks(node))?;
        Some(Unanswered {
            call: None,
            tool: Some(*tool),
            from: node.start,
            until: node.end,
        })
    });
    let mut out: Vec<Unanswered> = calls.chain(tools).collect();
    out.sort_by_key(|waiting| waiting.from);
    out
}

/// The texts of the tools' results, to recognise repetitions.
fn known_results<'a>(nodes: &'a Nodes, conversation: &DraftConversation, tools: &[NodeId]) -> HashSet<Cow<'a, str>> {
    let of_calls = conversation.calls.iter().flat_map(|draft| &draft.tools);
    let results = of_calls.chain(tools).filter_map(|tool| {
        let used = nodes.get(*tool)?.operation.tool.as_deref()?;
        Some(result_text(used.result.as_ref()?))
    });
    results.collect()
}

/// The calls in the order of their results: the order of the calls, the order in which the tools ended, or any other, whichever first
/// makes the most results name an argument of their call.
fn in_order_of_results(nodes: &Nodes, conversation: &DraftConversation, asked: Vec<Unanswered>, group: &[SeenResult]) -> Vec<Unanswered> {
    let names = |waiting: &Unanswered, seen: &SeenResult| names_argument(nodes, conversation, waiting, seen);
    let count = |order: &[Unanswered]| order.iter().zip(group).filter(|(waiting, seen)| names(waiting, seen)).count();
    let mut best = (count(&asked), asked);
    if best.0 == group.len() || group.len() > MAX_ORDERED_RESULTS {
        return best.1;
    }
    let mut ended = best.1.clone();
    ended.sort_by_key(|waiting| waiting.until);
    let mut left = best.1.clone();
    let named = group.iter().map(|seen| {
        let at = left.iter().position(|waiting| names(waiting, seen))?;
        Some(left.remove(at))
    });
    let named: Vec<Option<Unanswered>> = named.collect();
    let mut left = left.into_iter();
    let named = named.into_iter().filter_map(|named| named.or_else(|| left.next())).collect();
    for order in [ended, named] {
        let count = count(&order);
        if count > best.0 {
            best = (count, order);
        }
    }
    best.1
}

/// Whether a result contains the name of the tool or a text of its arguments.
fn names_argument(nodes: &Nodes, conversation: &DraftConversation, waiting: &Unanswered, seen: &SeenResult) -> bool {
    let call = waiting.call.and_then(|call| conversation.calls.get(call)).map(|draft| &draft.call);
    let used = waiting.tool.and_then(|tool| nodes.get(tool)?.operation.tool.as_deref());
    let name = call.map(|call| call.name.as_str()).or_else(|| used?.name.as_deref());
    if let (Some(name), Some(recorded)) = (name, &seen.message.name) {
        return names::same_tool(recorded, name);
    }
    let arguments = call.and_then(|call| call.arguments.as_ref()).or_else(|| used?.arguments.as_ref());
    let text = answer_text(&seen.message);
    let text = text.get(..text.floor_char_boundary(MAX_SEARCHED_BYTES)).unwrap_or_default();
    let is_in = |value: &Value| match value {
        Value::String(word) => word.chars().count() > 2 && text.contains(word.as_str()),
        Value::Number(number) => text.contains(&number.to_string()),
        _ => false,
    };
    match arguments {
        Some(Value::Object(map)) => map.values().take(MAX_ARGUMENTS).any(is_in),
        Some(value) => is_in(value),
        None => false,
    }
}

fn give(nodes: &mut Nodes, conversation: &mut DraftConversation, waiting: &Unanswered, seen: SeenResult) {
    let span = waiting.tool.and_then(|tool| nodes.get(tool)).or_else(|| nodes.get(seen.node));
    let span = span.map(|node| node.span_id);
    nodes.findings.push(Finding::new(
        span,
        FindingKind::AmbiguousCall,
        "its result has no id in the next input: it is taken by its place among the results",
    ));
    if let Some(draft) = waiting.call.and_then(|call| conversation.calls.get_mut(call)) {
        draft.result = Some(seen);
    } else if let Some(used) = waiting.tool.and_then(|tool| nodes.get_mut(tool)?.operation.tool.as_deref_mut()) {
        used.result = Some(seen.message.result_value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Message, Role, ToolUse};
    use crate::run::conversation;
    use crate::run::scopes::Scopes;
    use crate::run::testing::{nodes, reading};

    /// What two tools, which no call asks for, are given of these results.
    fn given(texts: &[&str]) -> (Vec<Option<Value>>, usize) {
        let tool = |number: u64, pier: &str| {
            let mut tool = reading(number, Kind::Tool, 20 + number..40 - number);
            tool.operation.tool = Some(Box::new(ToolUse {
                name: Some("sound".to_owned()),
                arguments: Some(serde_json::json!({"pier": pier})),
                ..ToolUse::default()
            }));
            tool
        };
        let mut call = reading(4, Kind::Llm, 50..60);
        let results = texts.iter().map(|text| Message::text(Role::Tool, *text));
        let messages: Vec<Message> = std::iter::once(Message::text(Role::User, "How deep?")).chain(results).collect();
        call.operation.input_messages = Some(messages.into());
        let mut nodes = nodes([(tool(1, "north"), None), (tool(2, "south"), None), (call, None)]);
        let scopes = Scopes::of(&nodes);
        let mut conversations = conversation::reconstruct(&mut nodes, &scopes);
        let unasked = super::super::join(&mut nodes, &scopes, &mut conversations);
        assert_eq!(unasked.of_conversation.iter().map(Vec::len).sum::<usize>(), 2);
        let tools = nodes
            .list
            .iter()
            .filter_map(|node| Some(node.operation.tool.as_ref()?.result.clone()));
        let left = conversations.iter().map(|conversation| conversation.stray_results.len()).sum();
        (tools.collect(), left)
    }

    #[test]
    fn as_many_results_as_calls_are_theirs() {
        let [a, b] = ["5 m", "6 m"].map(|text| Some(Value::from(text)));
        assert_eq!(given(&["5 m", "6 m"]), (vec![a, b], 0), "in the order of the calls");
        let [north, south] = ["north: 5 m", "south: 6 m"].map(|text| Some(Value::from(text)));
        assert_eq!(
            given(&["south: 6 m", "north: 5 m"]),
            (vec![north, south], 0),
            "each names its call's argument"
        );
    }

    #[test]
    fn of_more_or_fewer_results_none_is_anybodys() {
        assert_eq!(given(&["5 m"]), (vec![None, None], 1));
        assert_eq!(given(&["5 m", "6 m", "7 m"]), (vec![None, None], 3));
    }
}

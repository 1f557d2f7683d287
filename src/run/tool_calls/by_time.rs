//! Calls that no model's output shows, though a model made them: only a model gives a tool run a call's id.

use crate::hash::HashSet;
use crate::operation::{Kind, ToolCall, ToolCallId};
use crate::run::conversation::Conversation;
use crate::run::id::{Id, MessageId, NodeId};
use crate::run::node::Nodes;
use crate::span::UnixNanos;
use crate::trace::{Finding, FindingKind};

/// Gives tool runs that have a call's id to the answer right before them, where its span shows words and no calls. Keeps in
/// `tools` those that no answer asked for.
pub(super) fn give(nodes: &mut Nodes, conversation: &mut Conversation, tools: &mut Vec<NodeId>) {
    let turns = Turns::of(nodes, conversation);
    let without_calls = conversation.messages.enumerate().filter(|(_, draft)| draft.calls.is_empty());
    let without_calls: HashSet<MessageId> = without_calls.map(|(id, _)| id).collect();
    tools.retain(|tool| {
        let Some(call) = call_of(nodes, *tool) else { return true };
        let begin = nodes.get(*tool).map(|node| node.start);
        let before = begin.and_then(|begin| turns.before(begin));
        let Some(at) = before.filter(|at| without_calls.contains(at)) else {
            return true;
        };
        let Some(added) = conversation.add_call(at, call.clone()) else {
            return true;
        };
        if let Some(draft) = conversation.calls.get_mut(added) {
            draft.tools.push(*tool);
        }
        let node = conversation.messages.get(at).map(|draft| draft.node);
        let output = node.and_then(|node| nodes.get_mut(node)?.operation.output_messages.as_mut());
        if let Some(message) = output.and_then(|list| list.first_mut()) {
            message.tool_calls.push(call);
        }
        nodes.findings.push(Finding::new(
            nodes.get(*tool).map(|node| node.span_id),
            FindingKind::AmbiguousCall,
            "it has a call's id, and no output shows the call; the model call right before it is taken for the one that asked",
        ));
        false
    });
}

/// The call that a tool run says it is of.
fn call_of(nodes: &Nodes, tool: NodeId) -> Option<ToolCall> {
    let node = nodes.get(tool).filter(|node| node.kind() == Kind::Tool)?;
    let used = node.operation.tool.as_deref()?;
    Some(ToolCall {
        id: Some(ToolCallId::Recorded(used.call_id.clone()?)),
        name: used.name.clone()?,
        arguments: used.arguments.clone(),
        ..ToolCall::default()
    })
}

/// When model calls were at work.
struct Turns {
    /// By start: of all that began by then, the one that ends last. `None`: one of them has not ended.
    last: Vec<(UnixNanos, Option<(UnixNanos, MessageId)>)>,
}

impl Turns {
    fn of(nodes: &Nodes, conversation: &Conversation) -> Self {
        let turns = conversation.messages.enumerate().filter(|(_, draft)| draft.is_turn);
        let turns = turns.filter_map(|(id, draft)| Some((id, nodes.get(draft.node)?)));
        let mut last: Vec<_> = turns.map(|(id, node)| (node.start, node.end.map(|end| (end, id)))).collect();
        last.sort_unstable();
        let mut so_far = Some((UnixNanos(0), MessageId::FIRST));
        for (_, slot) in &mut last {
            so_far = so_far.and_then(|before| Some(before.max((*slot)?)));
            *slot = so_far;
        }
        Self { last }
    }

    /// The answer that ended last before this time; `None` where a model call was at work then.
    fn before(&self, time: UnixNanos) -> Option<MessageId> {
        let begun = self.last.partition_point(|(start, _)| *start <= time);
        let (_, last) = self.last.get(begun.checked_sub(1)?)?;
        last.filter(|(end, _)| *end <= time).map(|(_, at)| at)
    }
}

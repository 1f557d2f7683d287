//! Finds calls missing from model outputs although a model made them: only a model gives a tool run a call id.

use crate::hash::HashSet;
use crate::operation::{Kind, ToolCall, ToolCallId};
use crate::run::conversation::DraftConversation;
use crate::run::id::{Id, MessageId, NodeId};
use crate::run::node::{Node, Nodes};
use crate::span::UnixNanos;
use crate::trace::{Finding, FindingKind};

/// The answers that may have asked for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Any that shows text and no calls: the tool belongs to the same agent.
    Maybe,
    /// Only those marked as asking for tools: the tool belongs to another agent.
    Surely,
}

/// Gives tool runs with a call id to the answer right before them, or to the one that was still streaming, if its span shows
/// text and no calls. Tools that no answer asked for stay in `tools`.
pub(super) fn give(nodes: &mut Nodes, conversation: &mut DraftConversation, tools: &mut Vec<NodeId>, asks: Asks) {
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
        // A turn that an agent's span describes asks for no tool that began before the turn's end.
        let answer = conversation.messages.get(at).and_then(|draft| nodes.get(draft.node));
        if answer.is_some_and(|answer| answer.agent_turn.is_some() && begin < answer.end) {
            return true;
        }
        let asks_tools = |answer: &Node| answer.operation.finish_reason.as_deref() == Some("tool_call");
        if asks == Asks::Surely && !answer.is_some_and(asks_tools) {
            return true;
        }
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

/// The call that a tool run belongs to.
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

/// The times of model calls.
struct Turns {
    /// Ordered by start.
    list: Vec<Turn>,
}

struct Turn {
    start: UnixNanos,
    /// `None`: it has not ended.
    end: Option<UnixNanos>,
    message: MessageId,
    /// The one that ends last among all that began before. `None`: one of them has not ended.
    before: Option<(UnixNanos, MessageId)>,
}

impl Turns {
    fn of(nodes: &Nodes, conversation: &DraftConversation) -> Self {
        let turns = conversation.messages.enumerate().filter(|(_, draft)| draft.is_turn);
        let mut list: Vec<Turn> = turns
            .filter_map(|(message, draft)| {
                let node = nodes.get(draft.node)?;
                Some(Turn {
                    start: node.start,
                    end: node.end,
                    message,
                    before: None,
                })
            })
            .collect();
        list.sort_unstable_by_key(|turn| (turn.start, turn.end, turn.message));
        let mut so_far = Some((UnixNanos(0), MessageId::FIRST));
        for turn in &mut list {
            turn.before = so_far;
            so_far = so_far.and_then(|before| Some(before.max((turn.end?, turn.message))));
        }
        Self { list }
    }

    /// The last answer that ended before this time, or the one in progress: a client may run a tool as soon as the answer has asked
    /// for it. `None` if several were in progress.
    fn before(&self, time: UnixNanos) -> Option<MessageId> {
        let begun = self.list.partition_point(|turn| turn.start <= time);
        let last = self.list.get(begun.checked_sub(1)?)?;
        let before = last.before.filter(|(end, _)| *end <= time)?;
        match last.end {
            Some(end) if end <= time => Some(before.max((end, last.message)).1),
            _ => Some(last.message),
        }
    }
}

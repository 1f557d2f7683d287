//! Stage "broken answers": takes the nodes and removes the partial answer from calls that failed while answering, if the same was
//! asked again: no later call received it, and the next attempt answers. The failed call keeps it as its output.
//!
//! This runs before the scopes and conversations, which contain the answers.

use serde_json::Value;

use super::id::NodeId;
use super::node::{Node, Nodes};
use crate::operation::{Kind, Message};

/// Maximum number of calls examined after a failed one: others may run at the same time.
const MAX_LATER_CALLS: usize = 16;

pub(super) fn take_from_calls(nodes: &mut Nodes) {
    let calls = nodes.of_kind(Kind::Llm);
    if !calls.iter().any(|call| nodes.get(*call).is_some_and(has_piece)) {
        return;
    }
    let owners = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    for (place, call) in calls.iter().enumerate() {
        let Some(failed) = nodes.get(*call).filter(|node| has_piece(node)) else {
            continue;
        };
        // A framework may wrap each attempt in a workflow.
        let owner = owners.known(*call);
        let is_again = |id: &&NodeId| {
            let next = nodes.get(**id).filter(|next| next.start >= failed.end_or_start());
            owners.known(**id) == owner && next.is_some_and(|next| next.operation.input_messages == failed.operation.input_messages)
        };
        let later = calls.get(place + 1..).unwrap_or_default();
        if !later.iter().take(MAX_LATER_CALLS).any(|id| is_again(&id)) {
            continue;
        }
        if let Some(node) = nodes.get_mut(*call) {
            let piece = node.operation.output_messages.take().unwrap_or_default();
            if node.operation.output.is_none() {
                node.operation.output = whole(&piece).into();
            }
        }
    }
}

/// Whether a failed call records both a partial answer and its input.
fn has_piece(node: &Node) -> bool {
    let operation = &node.operation;
    operation.failure.is_some() && operation.output_messages.is_some() && operation.input_messages.is_some()
}

fn whole(piece: &[Message]) -> Value {
    match piece {
        [only] if only.tool_calls.is_empty() && !only.has_media() => only.content().into(),
        _ => piece.iter().map(Message::to_chat).collect(),
    }
}

//! Agents whose calls are recorded under the agent around them.

use super::WHOLE_HISTORIES;
use super::known::Described;
use super::messages::messages_of;
use crate::dialect::messages::Direction;
use crate::operation::{Kind, Message, Role};
use crate::run::id::NodeId;
use crate::run::node::{Node, Nodes};

impl Described {
    /// Whether a model call of the agent around this one gives this one's answer while it runs: two spans record one agent.
    pub(super) fn is_recorded_around(&self, nodes: &Nodes, owner: NodeId, node: &Node) -> bool {
        let around = nodes.ancestors(owner).take_while(|up| nodes.kind(*up) != Kind::Tool);
        let around = around.into_iter().find(|up| nodes.kind(*up) == Kind::Agent);
        let calls = around.and_then(|up| self.own_calls.get(up)).map_or(&[][..], Vec::as_slice);
        let from = calls.partition_point(|call| nodes.get(*call).is_some_and(|call| call.start < node.start));
        let during = calls.iter().skip(from).take(WHOLE_HISTORIES).filter_map(|call| nodes.get(*call));
        let mut during = during.take_while(|call| node.end.is_none_or(|end| call.start <= end)).peekable();
        if during.peek().is_none() {
            return false;
        }
        let said = messages_of(
            node.operation.output_messages.as_deref(),
            &node.operation.output,
            Direction::Output,
            true,
        );
        let Some(answer) = said
            .iter()
            .rev()
            .find(|message| message.role == Role::Assistant)
            .map(Message::content)
        else {
            return false;
        };
        let gives_answer = |call: &Node| {
            call.operation
                .output_messages
                .iter()
                .flatten()
                .any(|message| message.content().trim() == answer.trim())
        };
        during.any(gives_answer)
    }
}

//! Model calls outside all agents: checks, judges and writers that no agent's span contains.

use crate::hash::HashMap;
use crate::operation::{Message, Role};
use crate::run::id::NodeId;
use crate::run::node::{Node, Nodes};
use crate::span::UnixNanos;

/// Maximum number of messages examined at the end and the beginning of an input: many calls may share a long conversation.
const MAX_LOOKBACK: usize = 1_024;

/// Maximum number of spans around a call searched for the answer of a workflow.
const MAX_ANCESTORS: usize = 64;

/// The `calls` that are in a separate conversation, each with the first call of that conversation. Calls that began before all
/// `agents` and continue one another stay together in the outermost scope, as do those that gave the answer of the workflow
/// around them.
///
/// Without agents, the calls are handled like those of one agent.
pub(super) fn find(nodes: &Nodes, calls: &[NodeId], agents: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let start = |id: &NodeId| nodes.get(*id).map_or(UnixNanos(0), |node| node.start);
    let Some(began) = agents.iter().map(start).min() else {
        return Vec::new();
    };
    let mut groups = Groups::default();
    let mut out = Vec::new();
    for call in calls {
        let Some(node) = nodes.get(*call) else { continue };
        let first = groups.first_of(node).unwrap_or(*call);
        groups.note(node, first);
        let outermost = calls.first() == Some(&first) && start(&first) < began || gives_answer(nodes, *call);
        if !outermost {
            out.push((*call, first));
        }
    }
    out
}

/// Whether a workflow around a call has the call's text as output.
fn gives_answer(nodes: &Nodes, call: NodeId) -> bool {
    let answer = nodes.get(call).and_then(|node| node.operation.output_messages.as_deref()?.first());
    let Some(words) = answer.filter(|answer| answer.has_words()).map(Message::content) else {
        return false;
    };
    let around = nodes.ancestors(call).take(MAX_ANCESTORS).filter_map(|up| nodes.get(up));
    let outputs = around.filter_map(|node| node.operation.output.get()?.as_str());
    outputs.into_iter().any(|output| output.trim() == words.trim())
}

/// Evidence that a call continues another one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Clue {
    /// The system prompt, or the first user message.
    Opening(String),
    /// The text of an answer.
    Words(String),
    /// The id of a tool call.
    CallId(String),
}

/// Index: clue -> first call of the conversation.
#[derive(Debug, Default)]
struct Groups {
    first_by_clue: HashMap<Clue, NodeId>,
    latest: Option<NodeId>,
}

impl Groups {
    fn first_of(&self, call: &Node) -> Option<NodeId> {
        let Some(input) = &call.operation.input_messages else {
            return self.latest;
        };
        let of = |clue: Clue| self.first_by_clue.get(&clue).copied();
        let history = input.iter().rev().take(MAX_LOOKBACK).find_map(|message| match message.role {
            Role::Tool => of(Clue::CallId(message.tool_call_id.clone()?)),
            Role::Assistant => clues(message).find_map(of),
            _ => None,
        });
        history.or_else(|| of(opening(input)?))
    }

    fn note(&mut self, call: &Node, first: NodeId) {
        self.latest = Some(first);
        let opening = call.operation.input_messages.as_deref().and_then(opening);
        let output = call.operation.output_messages.iter().flatten().flat_map(clues);
        for clue in opening.into_iter().chain(output) {
            let _ = self.first_by_clue.entry(clue).or_insert(first);
        }
    }
}

fn opening(input: &[Message]) -> Option<Clue> {
    let first = |wanted: fn(&Role) -> bool| {
        input
            .iter()
            .take(MAX_LOOKBACK)
            .find(|message| wanted(&message.role) && message.has_words())
    };
    let system = first(|role| matches!(role, Role::System | Role::Developer));
    let message = system.or_else(|| first(|role| *role == Role::User))?;
    Some(Clue::Opening(message.content()))
}

fn clues(message: &Message) -> impl Iterator<Item = Clue> {
    let words = message.has_words().then(|| Clue::Words(message.content()));
    let ids = message
        .tool_calls
        .iter()
        .filter_map(|call| call.id.as_deref().map(|id| Clue::CallId(id.to_owned())));
    words.into_iter().chain(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn a_judge_after_the_agent_is_a_conversation_of_its_own() {
        let call = |number, from, question: &str| {
            let mut call = reading(number, Kind::Llm, from..from + 5);
            call.operation.input_messages = Some(vec![Message::text(Role::User, question)].into());
            call
        };
        let nodes = nodes([
            (reading(1, Kind::Agent, 0..50), None),
            (call(2, 60, "Is it right?"), None),
            (call(3, 70, "Is it right?"), None),
            (call(4, 80, "Is it kind?"), None),
        ]);
        let [agent, first, second, other] = [0, 1, 2, 3].map(NodeId::new);
        let found = find(&nodes, &[first, second, other], &[agent]);
        assert_eq!(found, [(first, first), (second, first), (other, other)]);
        assert_eq!(find(&nodes, &[first, second], &[]), []);
    }

    #[test]
    fn the_answer_of_the_workflow_around_it_is_not_separate() {
        let find_with = |output: &str| {
            let mut workflow = reading(1, Kind::Chain, 0..90);
            workflow.operation.output = output.to_owned().into();
            let mut call = reading(3, Kind::Llm, 60..65);
            call.operation.output_messages = Some(vec![Message::text(Role::Assistant, "Both.")]);
            let nodes = nodes([(workflow, None), (reading(2, Kind::Agent, 0..50), Some(0)), (call, Some(0))]);
            find(&nodes, &[NodeId::new(2)], &[NodeId::new(1)])
        };
        assert_eq!(find_with("Both."), []);
        assert_eq!(find_with("Another."), [(NodeId::new(2), NodeId::new(2))]);
    }
}

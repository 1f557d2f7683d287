//! System prompts on the spans of agents.

use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Messages, Part, Role};
use crate::run::id::NodeId;
use crate::run::node::{Node, Nodes};

pub(super) fn is_prompt(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// Moves a system prompt alone on an agent's span, which is the prompt of its calls, to the first of them if none has one. It stays
/// if no call has text.
pub(super) fn settle(nodes: &mut Nodes) {
    let has_prompts = |node: &Node| {
        node.operation
            .input_messages
            .as_ref()
            .is_some_and(|list| list.iter().all(is_prompt))
    };
    let owners: Vec<NodeId> = nodes
        .list
        .enumerate()
        .filter(|(_, node)| matches!(node.kind(), Kind::Agent | Kind::Chain) && has_prompts(node))
        .map(|(id, _)| id)
        .collect();
    if owners.is_empty() {
        return give_prompts(nodes);
    }
    // Prompts come first in a list, so histories need not be searched.
    let given: HashSet<String> = nodes
        .list
        .iter()
        .filter(|node| node.kind() == Kind::Llm)
        .filter_map(|node| node.operation.input_messages.as_ref())
        .flat_map(|list| list.iter().take_while(|message| is_prompt(message)))
        .map(Message::content)
        .collect();
    let is_given = |message: &Message| message.parts.iter().all(|part| matches!(part, Part::Text(_))) && given.contains(&message.content());
    for id in owners {
        if let Some(node) = nodes.get_mut(id) {
            let _ = node.operation.input_messages.take_if(|list| list.iter().all(is_given));
        }
    }
    give_prompts(nodes);
}

/// Gives the prompts of agents to their first calls, if none of their calls has one. An agent with other messages keeps them all:
/// they are its question.
fn give_prompts(nodes: &mut Nodes) {
    let has_prompts = |node: &Node| node.operation.input_messages.iter().flatten().next().is_some_and(is_prompt);
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let mut first_calls: HashMap<NodeId, Option<NodeId>> = HashMap::default();
    for call in nodes.of_kind(Kind::Llm) {
        let Some(agent) = agents.known(call).filter(|agent| nodes.get(*agent).is_some_and(has_prompts)) else {
            continue;
        };
        let heard = nodes.get(call).and_then(|node| node.operation.input_messages.as_ref());
        // The agent's span describes the call, so its text is known.
        let is_turn = nodes.get(call).is_some_and(|node| node.agent_turn.is_some());
        let first = first_calls
            .entry(agent)
            .or_insert_with(|| (heard.is_some() || is_turn).then_some(call));
        if heard.is_some_and(|list| list.first().is_some_and(is_prompt)) {
            *first = None;
        }
    }
    let mut first_calls: Vec<(NodeId, NodeId)> = first_calls.into_iter().filter_map(|(agent, call)| Some((agent, call?))).collect();
    first_calls.sort_unstable();
    for (agent, call) in first_calls {
        let Some(node) = nodes.get_mut(agent) else { continue };
        let list = node.operation.input_messages.as_deref().unwrap_or_default();
        let prompts: Vec<Message> = list.iter().take_while(|message| is_prompt(message)).cloned().collect();
        let _ = node.operation.input_messages.take_if(|list| list.iter().all(is_prompt));
        let Some(node) = nodes.get_mut(call) else { continue };
        let heard = node.operation.input_messages.take().map(Messages::into_vec);
        let all = prompts.into_iter().chain(heard.into_iter().flatten());
        node.operation.input_messages = Some(all.collect::<Vec<_>>().into());
    }
}

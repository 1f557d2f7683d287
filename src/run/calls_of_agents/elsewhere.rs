//! Facts about an agent that other spans record: the name and instructions it was created with, and results handed in by a separate
//! request (Azure's agents).

use super::prompts::is_prompt;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Role, ToolCall};
use crate::run::id::NodeId;
use crate::run::node::Nodes;

/// Maximum number of runs of one agent in a trace that get a copy of the instructions it was created with.
const MAX_INSTRUCTION_COPIES: usize = 16;

/// How an agent was created.
struct Created {
    name: Option<String>,
    prompts: Vec<Message>,
    /// Number of runs that got the instructions.
    given: usize,
}

/// Gives an agent its name and instructions from the span that created it, where its own spans have only its id. Of two creations with
/// one id, the later one counts.
pub(super) fn give_definitions(nodes: &mut Nodes) {
    let mut known: HashMap<String, Created> = HashMap::default();
    for id in nodes.of_kind(Kind::AgentCreate) {
        let Some(operation) = nodes.get(id).map(|node| &node.operation) else {
            continue;
        };
        let Some(id) = operation.agent.id.clone() else { continue };
        let list = operation.input_messages.as_deref().unwrap_or_default();
        let created = Created {
            name: operation.agent.name.clone(),
            prompts: list.iter().take_while(|message| is_prompt(message)).cloned().collect(),
            given: 0,
        };
        let _ = known.insert(id, created);
    }
    if known.is_empty() {
        return;
    }
    for id in nodes.of_kind(Kind::Agent) {
        let Some(node) = nodes.get_mut(id) else { continue };
        let operation = &mut node.operation;
        let Some(created) = operation.agent.id.as_ref().and_then(|id| known.get_mut(id)) else {
            continue;
        };
        if operation.agent.name.is_none() || operation.agent.name == operation.agent.id {
            operation.agent.name = created.name.clone().or(operation.agent.name.take());
        }
        let heard = operation.input_messages.as_deref().unwrap_or_default();
        if !created.prompts.is_empty() && created.given < MAX_INSTRUCTION_COPIES && !heard.iter().any(is_prompt) {
            created.given += 1;
            operation.input_messages = Some(created.prompts.iter().chain(heard).cloned().collect::<Vec<_>>().into());
        }
    }
}

/// Moves results on requests below an agent behind the agent's message that asked for them.
pub(super) fn give_results(nodes: &mut Nodes) {
    let is_handed_in = |list: &Vec<Message>| {
        list.iter()
            .all(|message| message.role == Role::Tool && message.tool_call_id.is_some())
    };
    let requests: Vec<(NodeId, NodeId)> = nodes
        .of_kind(Kind::Chain)
        .into_iter()
        .filter(|id| {
            nodes
                .get(*id)
                .and_then(|node| node.operation.output_messages.as_ref())
                .is_some_and(is_handed_in)
        })
        .filter_map(|id| Some((id, nodes.parent(id)?)))
        .filter(|(_, agent)| nodes.kind(*agent) == Kind::Agent)
        .collect();
    let mut given: HashMap<NodeId, Vec<Message>> = HashMap::default();
    for (request, agent) in requests {
        let results = nodes.get_mut(request).and_then(|node| node.operation.output_messages.take());
        given.entry(agent).or_default().extend(results.into_iter().flatten());
    }
    let mut given: Vec<(NodeId, Vec<Message>)> = given.into_iter().collect();
    given.sort_by_key(|(agent, _)| *agent);
    for (agent, results) in given {
        let Some(node) = nodes.get_mut(agent) else { continue };
        let said = node.operation.output_messages.take().unwrap_or_default();
        node.operation.output_messages = Some(among(said, results)).filter(|list| !list.is_empty());
    }
}

/// Messages with these results inserted behind their calls; results that are there already, or that nothing asked for, go to the end.
fn among(said: Vec<Message>, results: Vec<Message>) -> Vec<Message> {
    let have: HashSet<String> = said.iter().filter_map(|message| message.tool_call_id.clone()).collect();
    let mut asked: HashMap<String, usize> = HashMap::default();
    for (place, message) in said.iter().enumerate() {
        for id in message.tool_calls.iter().filter_map(ToolCall::recorded_id) {
            let _ = asked.entry(id.to_owned()).or_insert(place);
        }
    }
    let mut behind: Vec<Vec<Message>> = vec![Vec::new(); said.len()];
    let mut rest = Vec::new();
    for result in results {
        let id = result.tool_call_id.as_ref().filter(|id| !have.contains(*id));
        match id.and_then(|id| behind.get_mut(*asked.get(id)?)) {
            Some(list) => list.push(result),
            None if id.is_some() => rest.push(result),
            None => {}
        }
    }
    let mut all: Vec<Message> = said
        .into_iter()
        .zip(behind)
        .flat_map(|(message, results)| std::iter::once(message).chain(results))
        .collect();
    all.extend(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::ToolCallId;
    use crate::run::id::Id as _;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn a_result_comes_behind_the_message_that_asked() {
        let mut agent = reading(1, Kind::Agent, 0..90);
        let mut asks = Message::text(Role::Assistant, "");
        asks.tool_calls = vec![ToolCall {
            id: Some(ToolCallId::Recorded("c1".to_owned())),
            ..ToolCall::default()
        }];
        agent.operation.output_messages = Some(vec![asks, Message::text(Role::Assistant, "3C")]);
        let mut request = reading(2, Kind::Chain, 5..9);
        request.operation.output_messages = Some(vec![Message {
            tool_call_id: Some("c1".to_owned()),
            ..Message::text(Role::Tool, "3C")
        }]);
        let mut made = nodes([(agent, None), (request, Some(0))]);
        give_results(&mut made);
        let said = made
            .get(NodeId::new(0))
            .and_then(|node| node.operation.output_messages.clone())
            .expect("messages");
        assert_eq!(
            said.iter().map(|message| message.role.clone()).collect::<Vec<_>>(),
            [Role::Assistant, Role::Tool, Role::Assistant]
        );
    }

    #[test]
    fn an_agent_has_the_name_and_the_instructions_that_it_was_created_with() {
        let named = |mut node: crate::run::node::Node, name: Option<&str>| {
            node.operation.agent.id = Some("a1".to_owned());
            node.operation.agent.name = name.map(str::to_owned);
            node
        };
        let mut create = named(reading(1, Kind::AgentCreate, 0..1), Some("helper"));
        create.operation.input_messages = Some(vec![Message::text(Role::System, "Help.")].into());
        let [unnamed, by_id, own] = [None, Some("a1"), Some("own")].map(|name| (named(reading(2, Kind::Agent, 2..9), name), None));
        let mut made = nodes([(create, None), unnamed, by_id, own]);
        give_definitions(&mut made);
        let names = [1, 2, 3].map(|at| made.get(NodeId::new(at)).and_then(|node| node.operation.agent.name.clone()));
        assert_eq!(
            names.each_ref().map(Option::as_deref),
            [Some("helper"), Some("helper"), Some("own")]
        );
        let heard = made.get(NodeId::new(1)).and_then(|node| node.operation.input_messages.clone());
        assert_eq!(heard.as_deref(), Some(&[Message::text(Role::System, "Help.")][..]));
    }
}

//! Stage "agents' names": takes the nodes and removes agent names that are a constant of the client.
//!
//! OpenTelemetry's instrumentation of OpenAI Agents puts one name on all work of all agents; only the agents' own spans have their names.
//! This runs before the scopes, which are named after their agents.

use super::id::NodeId;
use super::node::Nodes;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::trace::{Finding, FindingKind};

/// The id that such a client gives every agent.
const NO_ID: &str = "agent";

/// Removes names that are no agent's own and cover the work of several agents, or come with the constant id: the agent around counts.
pub(super) fn take_constants_away(nodes: &mut Nodes) {
    let own: HashSet<String> = nodes
        .of_kind(Kind::Agent)
        .into_iter()
        .filter_map(|agent| nodes.get(agent)?.operation.agent.name.clone())
        .collect();
    if own.is_empty() {
        return;
    }
    let around = nodes.nearest_above(|kind| kind == Kind::Agent);
    let mut work: HashMap<String, (HashSet<&str>, bool, Vec<NodeId>)> = HashMap::default();
    for (id, node) in nodes.list.enumerate() {
        let agent = &node.operation.agent;
        let Some(name) = agent
            .name
            .as_ref()
            .filter(|name| node.kind() != Kind::Agent && !own.contains(*name))
        else {
            continue;
        };
        let above = around.get(id).copied().flatten().and_then(|above| nodes.get(above));
        let Some(above) = above.and_then(|above| above.operation.agent.name.as_deref()) else {
            continue;
        };
        let (agents, has_no_id, named) = work.entry(name.clone()).or_insert_with(|| (HashSet::default(), true, Vec::new()));
        agents.insert(above);
        *has_no_id &= agent.id.as_deref() == Some(NO_ID);
        named.push(id);
    }
    let constants = work.into_values().filter(|(agents, has_no_id, _)| agents.len() > 1 || *has_no_id);
    let named: Vec<NodeId> = constants.flat_map(|(.., named)| named).collect();
    for id in named {
        let Some(node) = nodes.get_mut(id) else { continue };
        let agent = &mut node.operation.agent;
        let (name, _) = (agent.name.take().unwrap_or_default(), agent.id.take());
        let detail = format!("names the agent {name:?}, which is not an agent's name: the one around it counts");
        let finding = Finding::new(Some(node.span_id), FindingKind::UnreadAttribute, detail);
        nodes.findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::node::Node;
    use crate::run::testing::{nodes, reading};

    fn named(number: u64, kind: Kind, name: &str) -> Node {
        let mut node = reading(number, kind, 0..90);
        node.operation.agent.name = Some(name.to_owned());
        node
    }

    fn names_of_calls(list: [(Node, Option<usize>); 4]) -> Vec<Option<String>> {
        let mut nodes = nodes(list);
        take_constants_away(&mut nodes);
        let calls = nodes.of_kind(Kind::Llm).into_iter();
        calls
            .filter_map(|call| Some(nodes.get(call)?.operation.agent.name.clone()))
            .collect()
    }

    #[test]
    fn one_name_below_two_agents_is_none() {
        let of = |first: &str, second: &str| {
            names_of_calls([
                (named(1, Kind::Agent, "a"), None),
                (named(2, Kind::Agent, "b"), None),
                (named(3, Kind::Llm, first), Some(0)),
                (named(4, Kind::Llm, second), Some(1)),
            ])
        };
        assert_eq!(of("Agent", "Agent"), [None, None]);
        let own = |name: &str| Some(name.to_owned());
        assert_eq!(of("a", "b"), [own("a"), own("b")]);
        assert_eq!(of("x", "y"), [own("x"), own("y")], "they may be agents without a span");
    }
}

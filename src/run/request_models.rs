//! Stage "models of requests": takes the nodes and gives model calls without a model the one named by a span around them.
//!
//! Codex 0.169 records the model on the span of the request and the tokens on one below it. This runs after the duplicates, because
//! either of two spans of one call may name the model.

use super::id::NodeId;
use super::node::{Node, Nodes};
use crate::hash::HashMap;
use crate::operation::Kind;

/// Gives each call the model of the nearest span that names one, up to the next operation of an agent.
pub(super) fn give_to_calls(nodes: &mut Nodes) {
    let calls = nodes.of_kind(Kind::Llm);
    let mut naming = HashMap::default();
    for call in calls {
        if nodes.get(call).is_some_and(|node| node.operation.model.name().is_none())
            && let Some(around) = naming_around(nodes, call, &mut naming)
            && let Some(model) = nodes.get(around).and_then(|node| node.operation.model.name()).map(str::to_owned)
            && let Some(node) = nodes.get_mut(call)
        {
            node.operation.model.requested = Some(model);
        }
    }
}

/// The nearest span around a call that names a model. `known` caches the result for spans already visited, so that each is visited
/// once.
fn naming_around(nodes: &Nodes, call: NodeId, known: &mut HashMap<NodeId, Option<NodeId>>) -> Option<NodeId> {
    let (mut passed, mut found) = (Vec::new(), None);
    for id in nodes.ancestors(call) {
        if let Some(naming) = known.get(&id) {
            found = *naming;
            break;
        }
        let Some(node) = nodes.get(id).filter(|node| is_around_calls(node)) else {
            break;
        };
        passed.push(id);
        if node.operation.model.name().is_some() {
            found = Some(id);
            break;
        }
    }
    known.extend(passed.into_iter().map(|id| (id, found)));
    found
}

fn is_around_calls(node: &Node) -> bool {
    matches!(node.kind(), Kind::Plain | Kind::Detail | Kind::Chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn a_call_has_the_model_of_the_request_around_it() {
        let named = |number, kind, model: &str| {
            let mut reading = reading(number, kind, 0..90);
            reading.operation.model.requested = Some(model.to_owned());
            reading
        };
        let mut nodes = nodes([
            (named(1, Kind::Agent, "of the agent"), None),
            (named(2, Kind::Plain, "of the request"), Some(0)),
            (reading(3, Kind::Detail, 1..80), Some(1)),
            (reading(4, Kind::Llm, 2..70), Some(2)),
            (named(5, Kind::Llm, "its own"), Some(1)),
            (reading(6, Kind::Llm, 3..60), Some(0)),
        ]);
        give_to_calls(&mut nodes);
        let models = [3, 4, 5].map(|at| {
            nodes
                .get(NodeId::new(at))
                .and_then(|node| node.operation.model.name().map(str::to_owned))
        });
        assert_eq!(models, [Some("of the request".to_owned()), Some("its own".to_owned()), None]);
    }
}

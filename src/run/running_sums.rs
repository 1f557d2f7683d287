//! Stage "running sums": takes the nodes and gives each call its own token counts if the client sums them up over calls.
//!
//! This runs after the duplicates, since a call with two spans would be subtracted twice.

use super::id::NodeId;
use super::node::Nodes;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, TokenCount};

/// Subtracts earlier tokens if the n-th call of an agent includes the tokens of all calls before it.
///
/// Seen in Spring AI 1.1.6, but not 2.0: within one chat client the usage of the n-th chat is the sum of calls 1 to n. The
/// dialect's table marks it (`usage.running_sum`).
pub(super) fn subtract(nodes: &mut Nodes) {
    if !nodes.list.iter().any(|node| node.beside.sums_usage) {
        return;
    }
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let summing = nodes.list.enumerate().filter(|(_, node)| node.beside.sums_usage);
    let sums_up: HashSet<NodeId> = summing.filter_map(|(id, _)| agents.known(id)).collect();
    let mut before: HashMap<NodeId, TokenCount> = HashMap::default();
    for id in nodes.of_kind(Kind::Llm) {
        let Some(agent) = agents.known(id).filter(|agent| sums_up.contains(agent)) else {
            continue;
        };
        let Some(node) = nodes.get_mut(id) else { continue };
        let recorded = node.operation.usage;
        // A count that shrinks is not a sum.
        let has_grown = |now: Option<u64>, past: Option<u64>| now.zip(past).is_none_or(|(now, past)| now >= past);
        let is_sum = |past: &&TokenCount| has_grown(recorded.input, past.input) && has_grown(recorded.output, past.output);
        if let Some(past) = before.get(&agent).filter(is_sum) {
            let own = |now: Option<u64>, past: Option<u64>| match (now, past) {
                (Some(now), Some(past)) => Some(now.saturating_sub(past)),
                (now, _) => now,
            };
            let usage = &mut node.operation.usage;
            usage.input = own(recorded.input, past.input);
            usage.output = own(recorded.output, past.output);
            usage.total = own(recorded.total, past.total);
            usage.cache_read = own(recorded.cache_read, past.cache_read);
        }
        if !recorded.is_empty() {
            let _ = before.insert(agent, recorded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn a_sum_loses_what_came_before() {
        let call = |number, from, input| {
            let mut call = reading(number, Kind::Llm, from..from + 5);
            (call.beside.sums_usage, call.operation.usage.input) = (true, Some(input));
            call
        };
        let mut nodes = nodes([
            (reading(1, Kind::Agent, 0..90), None),
            (call(2, 10, 100), Some(0)),
            (call(3, 20, 250), Some(0)),
            (call(4, 30, 600), Some(0)),
        ]);
        subtract(&mut nodes);
        let inputs = [1, 2, 3].map(|at| nodes.get(NodeId::new(at)).and_then(|node| node.operation.usage.input));
        assert_eq!(inputs, [Some(100), Some(150), Some(350)]);
    }

    #[test]
    fn counts_that_shrink_are_no_sums() {
        let call = |number, from, (input, output)| {
            let mut call = reading(number, Kind::Llm, from..from + 5);
            call.beside.sums_usage = true;
            (call.operation.usage.input, call.operation.usage.output) = (Some(input), Some(output));
            call
        };
        let mut nodes = nodes([
            (reading(1, Kind::Agent, 0..90), None),
            (call(2, 10, (50, 12)), Some(0)),
            (call(3, 20, (70, 9)), Some(0)),
        ]);
        subtract(&mut nodes);
        let last = nodes.get(NodeId::new(2)).map(|node| node.operation.usage);
        assert_eq!(last.map(|usage| (usage.input, usage.output)), Some((Some(70), Some(9))));
    }
}

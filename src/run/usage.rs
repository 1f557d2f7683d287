//! Token counts that a client sums up over calls, made each call's own again.

use super::node::Nodes;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, TokenCount};

/// Where the n-th call of an agent repeats the tokens of all calls before it, the earlier ones are taken off.
///
/// Seen in Spring AI 1.1.6: within one chat client the usage of the n-th chat is the sum of calls 1 to n. Told by the
/// dialect's table (`usage.running_sum`); 2.0 does not do it.
pub(super) fn mend(nodes: &mut Nodes) {
    if !nodes.list.iter().any(|node| node.sums_usage) {
        return;
    }
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let agent_of = |index: usize| agents.get(index).copied().flatten();
    let sums_up: HashSet<usize> = (0..nodes.list.len())
        .filter(|index| nodes.get(*index).is_some_and(|node| node.sums_usage))
        .filter_map(agent_of)
        .collect();
    let mut before: HashMap<usize, TokenCount> = HashMap::default();
    for index in nodes.of_kind(Kind::Llm) {
        let Some(agent) = agent_of(index).filter(|agent| sums_up.contains(agent)) else {
            continue;
        };
        let Some(node) = nodes.get_mut(index) else { continue };
        let told = node.operation.usage;
        if let Some(past) = before.get(&agent) {
            let own = |now: Option<u64>, past: Option<u64>| match (now, past) {
                (Some(now), Some(past)) => Some(now.saturating_sub(past)),
                (now, _) => now,
            };
            let usage = &mut node.operation.usage;
            usage.input = own(told.input, past.input);
            usage.output = own(told.output, past.output);
            usage.total = own(told.total, past.total);
            usage.cache_read = own(told.cache_read, past.cache_read);
        }
        if !told.is_empty() {
            let _ = before.insert(agent, told);
        }
    }
}

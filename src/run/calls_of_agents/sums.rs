//! Tokens and cost that an agent records for all its calls at once.
//!
//! The share of each call is not recorded. The last call gets the sum, with a finding, so that totals over model calls are right.

use crate::operation::{Cost, Operation, TokenCount};
use crate::run::id::NodeId;
use crate::run::node::{Node, Nodes};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};

/// Gives the last of these calls the counts that only the agent has. Counts of any call itself are part of the agent's sum.
pub(super) fn settle(nodes: &mut Nodes, agent: NodeId, calls: &[NodeId]) {
    let Some((last, _)) = calls.split_last() else { return };
    let counts = |call: &NodeId| nodes.get(*call).map(|node| (node.operation.usage, node.operation.cost));
    let (mut no_usage, mut no_cost, mut no_input, mut no_output) = (true, true, true, true);
    for (usage, cost) in calls.iter().filter_map(counts) {
        no_usage &= usage.is_empty();
        no_cost &= cost == Cost::default();
        no_input &= usage.input.is_none();
        no_output &= usage.output.is_none();
    }
    let Some(mut noted) = nodes.get(agent).map(|node| Operation {
        usage: node.operation.usage,
        cost: node.operation.cost,
        ..Operation::default()
    }) else {
        return;
    };
    let Some(call) = nodes.get_mut(*last) else { return };
    let mut given = give(&mut noted, &mut call.operation, (no_usage, no_cost));
    // Calls may count only input tokens (Logfire's spans of the Claude Agent SDK).
    let (usage, sum) = (&mut call.operation.usage, &mut noted.usage);
    for (is_unknown, own, sum) in [
        (no_input, &mut usage.input, &mut sum.input),
        (no_output, &mut usage.output, &mut sum.output),
    ] {
        if is_unknown && own.is_none() && sum.is_some() {
            *own = sum.take();
            given = given.or(Some("tokens"));
        }
    }
    let span = call.span_id;
    if let (Some(what), true) = (given, calls.len() > 1) {
        nodes.findings.push(finding(span, what, calls.len()));
    }
    if let Some(node) = nodes.get_mut(agent) {
        node.operation.usage = noted.usage;
        node.operation.cost = noted.cost;
    }
}

/// Moves an agent's tokens and cost to a call, as far as each is allowed. Returns a description of what was moved.
pub(super) fn give(agent: &mut Operation, call: &mut Operation, (usage, cost): (bool, bool)) -> Option<&'static str> {
    let usage = usage && !agent.usage.is_empty();
    let cost = cost && agent.cost != Cost::default();
    if usage {
        call.usage = std::mem::take(&mut agent.usage);
    }
    if cost {
        call.cost = std::mem::take(&mut agent.cost);
    }
    match (usage, cost) {
        (true, true) => Some("tokens and cost"),
        (true, false) => Some("tokens"),
        (false, true) => Some("cost"),
        (false, false) => None,
    }
}

/// Gives each turn the tokens of its message on the agent's span, if all turns have them and they add up to the agent's sum.
pub(super) fn give_each(agent: &mut Node, turns: &mut [Node]) {
    let (input, output) = (
        std::mem::take(&mut agent.beside.turn_input),
        std::mem::take(&mut agent.beside.turn_output),
    );
    let is_all = |each: &[u64], sum: Option<u64>| each.len() == turns.len() && sum.is_none_or(|sum| sum == each.iter().sum::<u64>());
    let usage = agent.operation.usage;
    if !is_all(&input, usage.input) || !is_all(&output, usage.output) {
        return;
    }
    // The agent's other counts cover all of them.
    let rest = TokenCount {
        input: None,
        output: None,
        total: None,
        ..usage
    };
    if !rest.is_empty() {
        return;
    }
    for ((turn, input), output) in turns.iter_mut().zip(input).zip(output) {
        turn.operation.usage.input = Some(input);
        turn.operation.usage.output = Some(output);
    }
    agent.operation.usage = TokenCount::default();
}

pub(super) fn finding(call: SpanId, what: &str, calls: usize) -> Finding {
    let detail = format!("the {what} of {calls} model calls are recorded as one sum, which the last of them has");
    Finding::new(Some(call), FindingKind::SumOfCalls, detail)
}

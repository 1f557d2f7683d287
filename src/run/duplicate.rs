//! One operation once, however many spans tell of it. The spans that lose stay as evidence.
//!
//! The order of the steps: details first, so that a call's model and usage are known when calls are compared; wrappers
//! before siblings, since a wrapper is the stronger sign; tools and agents last, they do not depend on calls.

use super::asked_by::is_counter;
use super::fill::fill;
use super::node::Nodes;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::trace::{Finding, FindingKind};

pub(super) fn run(nodes: &mut Nodes) {
    details(nodes);
    helpers(nodes);
    calls_under_calls(nodes);
    same_response(nodes);
    answered_later(nodes);
    enclosed_siblings(nodes);
    tools_under_tools(nodes);
    tools_twice(nodes);
    agents_under_agents(nodes);
}

/// Makes `lost` a part of `kept`.
fn merge(nodes: &mut Nodes, lost: usize, kept: usize) {
    let kept = nodes.standing(kept);
    if lost == kept || !nodes.stands(lost) {
        return;
    }
    let Some(node) = nodes.get_mut(lost) else { return };
    node.merged_into.set(Some(kept));
    let (gone, detail) = (node.span_id, node.kind() == Kind::Detail);
    let operation = (*node.operation).clone();
    let mut evidence = std::mem::take(&mut node.evidence);
    evidence.insert(0, gone);
    let Some(node) = nodes.get_mut(kept) else { return };
    fill(&mut node.operation, operation);
    if node.evidence.is_empty() {
        node.evidence = evidence;
    } else {
        node.evidence.extend(evidence);
    }
    let of = node.span_id;
    if !detail {
        nodes.findings.push(Finding::new(
            Some(gone),
            FindingKind::SameOperation,
            format!("tells of the same operation as {of}, which is kept"),
        ));
    }
}

/// Spans that are a part of the call or tool around them.
fn details(nodes: &mut Nodes) {
    let around = nodes.nearest_above(|kind| kind != Kind::Detail);
    for index in nodes.of_kind(Kind::Detail) {
        let around = around.get(index).copied().flatten().map(|up| nodes.standing(up));
        match around.filter(|up| matches!(nodes.kind(*up), Kind::Llm | Kind::Tool)) {
            Some(around) => merge(nodes, index, around),
            None => {
                if let Some(node) = nodes.get_mut(index) {
                    node.operation.kind = Kind::Plain;
                }
            }
        }
    }
}

/// Helper spans that call themselves model calls but hold no messages and no tokens, around or beside a real one.
fn helpers(nodes: &mut Nodes) {
    for index in nodes.of_kind(Kind::Llm) {
        let Some(node) = nodes.get(index) else { continue };
        let operation = &node.operation;
        let says_nothing = operation.output_messages.is_none() && operation.usage.is_empty() && operation.failure.is_none();
        if says_nothing
            && node.operation.name.contains("._")
            && let Some(node) = nodes.get_mut(index)
        {
            node.operation.kind = Kind::Chain;
        }
    }
}

/// A model call inside a model call is the same call; with several calls inside, the outer one is a wrapper.
fn calls_under_calls(nodes: &mut Nodes) {
    let mut inner: HashMap<usize, Vec<usize>> = HashMap::default();
    // With neither agent nor tool between.
    let around = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool | Kind::Handoff | Kind::Llm));
    for index in nodes.of_kind(Kind::Llm) {
        let up = around.get(index).copied().flatten();
        if let Some(outer) = up.filter(|up| nodes.kind(*up) == Kind::Llm) {
            inner.entry(outer).or_default().push(index);
        }
    }
    let mut outers: Vec<usize> = inner.keys().copied().collect();
    // Inner wrappers first, so that a chain of three becomes one.
    outers.sort_unstable_by(|a, b| b.cmp(a));
    for outer in outers {
        let inside = inner.remove(&outer).unwrap_or_default();
        let answered: Vec<usize> = inside
            .iter()
            .copied()
            .filter(|index| nodes.get(*index).is_some_and(|node| node.operation.failure.is_none()))
            .collect();
        if answered.len() > 1 && !overlap(nodes, &answered) {
            if let Some(node) = nodes.get_mut(outer) {
                node.operation.kind = Kind::Chain;
            }
            continue;
        }
        let mut inside = inside;
        inside.sort_by_key(|index| nodes.get(*index).is_some_and(|node| node.operation.failure.is_some()));
        for index in inside {
            merge(nodes, index, outer);
        }
    }
}

fn overlap(nodes: &Nodes, list: &[usize]) -> bool {
    list.windows(2).any(|pair| match pair {
        [a, b] => matches!((nodes.get(*a), nodes.get(*b)), (Some(a), Some(b)) if b.start < a.end_or_start()),
        _ => false,
    })
}

/// Model calls with one response id are one call: the one that holds more is kept.
fn same_response(nodes: &mut Nodes) {
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::default();
    for index in nodes.of_kind(Kind::Llm) {
        if let Some(id) = nodes.get(index).and_then(|node| node.operation.response_id.clone()) {
            by_id.entry(id).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = by_id.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        let Some(kept) = group
            .iter()
            .copied()
            .max_by_key(|index| (nodes.get(*index).map(super::node::Node::has_messages), std::cmp::Reverse(*index)))
        else {
            continue;
        };
        for index in group {
            merge(nodes, index, kept);
        }
    }
}

/// A streamed answer that is told at the moment when its stream ended (logfire): a span without a duration, beside the call
/// that asked the same and tells no answer. The call lasted until then.
fn answered_later(nodes: &mut Nodes) {
    let mut silent: HashMap<(Option<usize>, String), Vec<usize>> = HashMap::default();
    for index in nodes.of_kind(Kind::Llm) {
        let parent = nodes.parent(index);
        let Some(node) = nodes.get(index) else { continue };
        let of = (parent, node.instrumentation().to_owned());
        let answered = node.operation.output_messages.is_some();
        if !answered && node.end.is_some_and(|end| end > node.start) && node.operation.failure.is_none() {
            silent.entry(of).or_default().push(index);
        } else if answered && node.end == Some(node.start) {
            let open = silent.get(&of).map_or(&[][..], Vec::as_slice);
            let asked = open.iter().copied().take(LOOK).position(|call| {
                nodes.get(call).is_some_and(|call| {
                    call.end_or_start() <= node.start
                        && call.operation.input_messages.is_some()
                        && call.operation.input_messages == node.operation.input_messages
                })
            });
            let end = node.end;
            if let Some(asked) = asked
                && let Some(call) = silent.get_mut(&of).map(|open| open.remove(asked))
            {
                merge(nodes, index, call);
                if let Some(call) = nodes.get_mut(call) {
                    call.end = end;
                }
            }
        }
    }
}

/// Two instrumentations of one client: same parent, other scope, one inside the other's time, one without messages.
fn enclosed_siblings(nodes: &mut Nodes) {
    let calls = nodes.of_kind(Kind::Llm);
    let mut by_parent: HashMap<Option<usize>, Vec<usize>> = HashMap::default();
    for index in calls {
        by_parent.entry(nodes.parent(index)).or_default().push(index);
    }
    let mut groups: Vec<Vec<usize>> = by_parent.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        let mut clients: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::default();
        for (index, client) in group
            .iter()
            .filter_map(|index| Some((*index, nodes.get(*index)?.instrumentation())))
        {
            let at = *known.entry(client).or_insert_with(|| {
                clients.push((client, Vec::new()));
                clients.len() - 1
            });
            if let Some((_, calls)) = clients.get_mut(at) {
                calls.push(index);
            }
        }
        let calls_of: Vec<Vec<usize>> = clients.into_iter().map(|(_, calls)| calls).collect();
        for first in group {
            for calls in calls_of.iter().take(CLIENTS) {
                enclosed_by(nodes, first, calls);
            }
        }
    }
}

/// More instrumentations of one client are not told apart.
const CLIENTS: usize = 16;
/// So many calls of another instrumentation that begin in a call's time are looked at.
const LOOK: usize = 64;

/// Makes a call and those of another instrumentation that lie in its time one.
fn enclosed_by(nodes: &mut Nodes, first: usize, calls: &[usize]) {
    let Some(node) = nodes.get(first) else { return };
    let (end, client) = (node.end_or_start(), node.instrumentation());
    if calls
        .first()
        .and_then(|call| nodes.get(*call))
        .is_none_or(|call| call.instrumentation() == client)
    {
        return;
    }
    // By start, as nodes are: only calls that begin before this one ends can lie inside it.
    let begin = calls.partition_point(|call| *call <= first);
    let inside: Vec<usize> = calls
        .iter()
        .skip(begin)
        .copied()
        .take_while(|call| nodes.get(*call).is_some_and(|node| node.start <= end))
        .filter(|call| nodes.stands(*call))
        .take(LOOK)
        .collect();
    for second in inside {
        if let Some((lost, kept)) = same_client_call(nodes, first, second) {
            merge(nodes, lost, kept);
        }
    }
}

fn same_client_call(nodes: &Nodes, first: usize, second: usize) -> Option<(usize, usize)> {
    if !nodes.stands(first) || !nodes.stands(second) {
        return None;
    }
    let (a, b) = (nodes.get(first)?, nodes.get(second)?);
    let ids_differ = matches!((&a.operation.response_id, &b.operation.response_id), (Some(x), Some(y)) if x != y);
    if a.instrumentation() == b.instrumentation() || ids_differ || !(a.within(b) || b.within(a)) {
        return None;
    }
    match (a.has_messages(), b.has_messages()) {
        (true, false) => Some((second, first)),
        (false, true) => Some((first, second)),
        (false, false) => Some(if a.within(b) { (first, second) } else { (second, first) }),
        (true, true) => None,
    }
}

/// A tool span inside a tool span of the same tool: MCP client and server, framework and runner.
fn tools_under_tools(nodes: &mut Nodes) {
    let mut tools = nodes.of_kind(Kind::Tool);
    tools.reverse();
    let around = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Llm | Kind::Tool));
    for index in tools {
        let around = around.get(index).copied().flatten().map(|up| nodes.standing(up));
        let around = around.filter(|up| nodes.kind(*up) == Kind::Tool && *up != index);
        let Some(outer) = around else { continue };
        let (Some(inner), Some(node)) = (nodes.get(index), nodes.get(outer)) else {
            continue;
        };
        if !same_tool(inner, node) {
            continue;
        }
        let server = inner
            .is_server
            .then(|| inner.service())
            .flatten()
            .filter(|service| node.service() != Some(service))
            .map(str::to_owned);
        let failure = inner.operation.failure.clone();
        merge(nodes, index, outer);
        if let Some(node) = nodes.get_mut(outer)
            && node.operation.tool.as_ref().is_none_or(|tool| {
                let words = failure.as_ref().and_then(|failure| failure.message.as_deref());
                let told = tool.result.as_ref().map(super::stitch::words);
                told.is_none_or(|told| words.is_some_and(|words| !words.is_empty() && told.contains(words)))
            })
        {
            node.operation.failure = node.operation.failure.take().or(failure);
        }
        if let Some(tool) = nodes.get_mut(outer).and_then(|node| node.operation.tool.as_mut()) {
            tool.mcp_server = tool.mcp_server.take().or(server);
        }
    }
}

/// Two instrumentations of one execution: same call id, other scope, one inside the other's time.
fn tools_twice(nodes: &mut Nodes) {
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::default();
    for index in nodes.of_kind(Kind::Tool) {
        let id = nodes.get(index).and_then(|node| node.operation.tool.as_ref()?.call_id.clone());
        if let Some(id) = id {
            by_id.entry(id).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = by_id.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        for pair in group.windows(2) {
            let [first, second] = pair else { continue };
            let (Some(a), Some(b)) = (nodes.get(*first), nodes.get(*second)) else {
                continue;
            };
            if a.instrumentation() == b.instrumentation() || !same_tool(a, b) {
                continue;
            }
            if b.within(a) {
                merge(nodes, *second, *first);
            } else if a.within(b) {
                merge(nodes, *first, *second);
            }
        }
    }
}

fn same_tool(inner: &super::node::Node, outer: &super::node::Node) -> bool {
    let (Some(a), Some(b)) = (&inner.operation.tool, &outer.operation.tool) else {
        return false;
    };
    let names = a.name.as_ref().zip(b.name.as_ref()).map(|(x, y)| super::names::same_tool(x, y));
    match (&a.call_id, &b.call_id) {
        // A sub-agent's model may number its calls as that of the agent around it does.
        (Some(x), Some(y)) if is_counter(x) => x == y && names != Some(false),
        (Some(x), Some(y)) => x == y,
        _ => names == Some(true),
    }
}

/// An agent span right below an agent span of the same agent.
fn agents_under_agents(nodes: &mut Nodes) {
    let mut agents = nodes.of_kind(Kind::Agent);
    agents.reverse();
    let around = nodes.nearest_above(|kind| !matches!(kind, Kind::Plain | Kind::Chain));
    for index in agents {
        let around = around.get(index).copied().flatten().map(|up| nodes.standing(up));
        let Some(outer) = around.filter(|up| nodes.kind(*up) == Kind::Agent && *up != index) else {
            continue;
        };
        let (Some(inner), Some(node)) = (nodes.get(index), nodes.get(outer)) else {
            continue;
        };
        let same = match (&inner.operation.agent.name, &node.operation.agent.name) {
            (Some(x), Some(y)) => x == y,
            _ => false,
        };
        if same && inner.within(node) {
            merge(nodes, index, outer);
        }
    }
}

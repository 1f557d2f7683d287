//! One tool execution recorded by several spans: a framework and its runner, an MCP client and its server, two instrumentations.

use serde_json::Value;

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::{Kind, is_counter};
use crate::run::arguments::{self, Fit};
use crate::run::id::ReadingId;
use crate::run::node::Node;
use crate::run::readings::Readings;

/// A tool span inside a tool span of the same tool: MCP client and server, framework and runner.
pub(super) fn tools_under_tools(readings: &mut Readings) {
    let mut tools = readings.of_kind(Kind::Tool);
    tools.reverse();
    let around = readings.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Llm | Kind::Tool));
    for index in tools {
        let around = around.known(index).map(|up| readings.standing(up));
        let around = around.filter(|up| readings.kind(*up) == Kind::Tool && *up != index);
        let Some(outer) = around else { continue };
        let (Some(inner), Some(node)) = (readings.get(index), readings.get(outer)) else {
            continue;
        };
        // A context may be left open: the tool began after the one around it ended.
        let follows = node.end.is_some_and(|end| inner.start > end) && inner.instrumentation() == node.instrumentation();
        if follows || !same_tool(inner, node) || is_another_run(inner, node) {
            continue;
        }
        let server = inner
            .is_server
            .then(|| inner.service())
            .flatten()
            .filter(|service| node.service() != Some(service))
            .map(str::to_owned);
        let failure = inner.operation.failure.clone();
        merge(readings, index, outer);
        if let Some(node) = readings.get_mut(outer)
            && node.operation.tool.as_ref().is_none_or(|tool| {
                let words = failure.as_ref().and_then(|failure| failure.message.as_deref());
                let recorded = tool.result.as_ref().map(crate::run::results::result_text);
                recorded.is_none_or(|recorded| words.is_some_and(|words| !words.is_empty() && recorded.contains(words)))
            })
        {
            node.operation.failure = node.operation.failure.take().or(failure);
        }
        if let Some(tool) = readings.get_mut(outer).and_then(|node| node.operation.tool.as_mut()) {
            tool.mcp_server = tool.mcp_server.take().or(server);
        }
    }
}

/// Merges the request by which a client runs a tool on a server into the tool's span around it. Wrappers are already merged by now.
pub(super) fn requests_in_tools(readings: &mut Readings) {
    let around = readings.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Llm | Kind::Tool));
    for index in readings.of_kind(Kind::Tool) {
        let around = around.known(index).map(|up| readings.standing(up));
        let around = around.filter(|up| readings.kind(*up) == Kind::Tool && *up != index);
        let pair = around.and_then(|outer| Some((readings.get(index)?, readings.get(outer)?)));
        if let (Some(outer), Some((inner, node))) = (around, pair)
            && is_passed_on(inner, node)
        {
            merge(readings, index, outer);
        }
    }
}

/// Two instrumentations of one execution: same call id, different scopes, one inside the other's time.
pub(super) fn tools_twice(readings: &mut Readings) {
    let mut by_id: HashMap<String, Vec<ReadingId>> = HashMap::default();
    for index in readings.of_kind(Kind::Tool) {
        let id = readings.get(index).and_then(|node| node.operation.tool.as_ref()?.call_id.clone());
        if let Some(id) = id {
            by_id.entry(id).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<ReadingId>> = by_id.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        for pair in group.windows(2) {
            let [first, second] = pair else { continue };
            let (Some(a), Some(b)) = (readings.get(*first), readings.get(*second)) else {
                continue;
            };
            if are_halves(a, b) {
                let (end, failure) = (b.end, b.operation.failure.clone());
                merge(readings, *second, *first);
                if let Some(node) = readings.get_mut(*first) {
                    node.operation.failure = failure;
                    node.end = node.end.max(end);
                }
                continue;
            }
            if a.instrumentation() == b.instrumentation() || !same_tool(a, b) || !same_arguments(a, b) {
                continue;
            }
            if b.within(a) {
                merge(readings, *second, *first);
            } else if a.within(b) {
                merge(readings, *first, *second);
            }
        }
    }
}

/// Whether two spans are the call and the result of a tool, recorded as one event each (Pipecat's realtime services): one has the
/// arguments, the later one the result.
fn are_halves(call: &Node, result: &Node) -> bool {
    let (Some(asked), Some(got)) = (&call.operation.tool, &result.operation.tool) else {
        return false;
    };
    let is_asked = asked.arguments.is_some() && asked.result.is_none() && call.operation.failure.is_none();
    let is_got = got.arguments.is_none() && got.result.is_some();
    is_asked && is_got && asked.name == got.name && call.start <= result.start
}

fn same_tool(inner: &Node, outer: &Node) -> bool {
    let (Some(a), Some(b)) = (&inner.operation.tool, &outer.operation.tool) else {
        return false;
    };
    let names = a
        .name
        .as_ref()
        .zip(b.name.as_ref())
        .map(|(x, y)| crate::run::names::same_tool(x, y));
    match (&a.call_id, &b.call_id) {
        // A sub-agent's model may use the same call numbers as the agent around it.
        (Some(x), Some(y)) if is_counter(x) => x == y && names != Some(false),
        (Some(x), Some(y)) => x == y,
        _ => names == Some(true),
    }
}

/// Whether a tool runs by passing the same arguments to a server, which knows it without the server's name as prefix
/// (`stock_get_price`, `get_price`): the request inside is the same call.
fn is_passed_on(inner: &Node, outer: &Node) -> bool {
    let (Some(asked), Some(around)) = (&inner.operation.tool, &outer.operation.tool) else {
        return false;
    };
    let has_prefix = |long: &str, short: &str| {
        let before = long.strip_suffix(short).filter(|_| !short.is_empty());
        before.is_some_and(|before| before.len() > 1 && before.ends_with(['_', '-']))
    };
    let is_named = asked.name.as_deref().zip(around.name.as_deref());
    let is_named = is_named.is_some_and(|(short, long)| has_prefix(long, short));
    let are_apart = matches!((&asked.call_id, &around.call_id), (Some(one), Some(other)) if one != other);
    let are_same = arguments::fit(asked.arguments.as_ref(), around.arguments.as_ref()) == Fit::Same;
    is_named && !are_apart && are_same && inner.within(outer)
}

/// Whether two runs of a tool may have had the same arguments: a model may use one id for two calls.
fn same_arguments(one: &Node, other: &Node) -> bool {
    let (Some(one), Some(other)) = (&one.operation.tool, &other.operation.tool) else {
        return true;
    };
    match (&one.arguments, &other.arguments) {
        (Some(one @ Value::Object(_)), Some(other @ Value::Object(_))) => arguments::fit(Some(one), Some(other)) != Fit::Other,
        _ => true,
    }
}

/// Whether a tool's span below another one of the same tool is a separate run, with different arguments and a different result: a
/// context was left open, or the tool calls itself. Ids are stronger evidence, and arguments may be wrapped once more.
fn is_another_run(inner: &Node, outer: &Node) -> bool {
    let (Some(inner), Some(outer)) = (&inner.operation.tool, &outer.operation.tool) else {
        return false;
    };
    let (Some(own), Some(around)) = (&inner.arguments, &outer.arguments) else {
        return false;
    };
    let is_inside = |whole: &Value, part: &Value| {
        whole
            .as_object()
            .is_some_and(|map| map.values().any(|value| arguments::same_value(value, part)))
    };
    let is_same_result = match (&inner.result, &outer.result) {
        (Some(own), Some(around)) => arguments::same_value(own, around),
        _ => true,
    };
    let is_known = inner.call_id.is_some() && inner.call_id == outer.call_id;
    let are_alike = own.is_object() == around.is_object();
    are_alike
        && !is_known
        && !is_same_result
        && arguments::fit(Some(own), Some(around)) == Fit::Other
        && !is_inside(own, around)
        && !is_inside(around, own)
}

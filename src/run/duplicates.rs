//! Stage "duplicates": takes the readings of all spans and merges those of one operation, however many spans record it. Merged
//! spans remain as evidence.
//!
//! This runs before everything that counts, sums up or compares operations. It consumes the readings, so that no later stage can
//! see a span that is part of another operation.
//!
//! The order of rules: details first, so that a call's model and usage are known when calls are compared; wrappers before siblings,
//! since a wrapper is the stronger evidence; tools and agents last, since calls do not depend on them.

mod blocks;
mod details;
mod estimates;
mod merge;
mod nested_calls;
mod same_answer;
mod searches;
mod tools;

use merge::merge;

use super::call_record::{self, CallRecord};
use super::id::ReadingId;
use super::node::{Node, Nodes};
use super::readings::Readings;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;

pub(super) fn merge_all(mut readings: Readings) -> Nodes {
    for step in [
        events_of_one_operation,
        details::merge_into_operations,
        helpers,
        nested_calls::leave_first_calls,
        nested_calls::merge_all,
        same_response,
        blocks::join,
        answered_later,
        enclosed_siblings,
        same_answer::merge_all,
        searches::merge_all,
        tools::tools_under_tools,
        tools::requests_in_tools,
        tools::tools_twice,
        agents_under_agents,
    ] {
        step(&mut readings);
    }
    readings.into_nodes()
}

/// Spans that each record one event of an operation: its start, its success, its end (BeeAI).
fn events_of_one_operation(readings: &mut Readings) {
    let mut noted: HashMap<(Kind, String), Vec<ReadingId>> = HashMap::default();
    for kind in [Kind::Llm, Kind::Tool, Kind::Agent] {
        for index in readings.of_kind(kind) {
            if let Some(with) = readings.get(index).and_then(|node| node.beside.event_group.clone()) {
                noted.entry((kind, with)).or_default().push(index);
            }
        }
    }
    let mut groups: Vec<Vec<ReadingId>> = noted.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        // The last event marks the end, even if its span was left open.
        let end = readings.get(*last).map(|node| node.start);
        for event in &group {
            merge(readings, *event, *first);
        }
        if let Some(node) = readings.get_mut(*first) {
            node.end = end.filter(|end| *end > node.start).or(node.end);
        }
    }
}

/// Helper spans that are named model calls but have neither messages nor tokens, around a real one or as its sibling.
fn helpers(readings: &mut Readings) {
    for index in readings.of_kind(Kind::Llm) {
        let Some(node) = readings.get(index) else { continue };
        let operation = &node.operation;
        let is_blank = operation.output_messages.is_none() && operation.usage.is_empty() && operation.failure.is_none();
        if is_blank
            && node.operation.name.contains("._")
            && let Some(node) = readings.get_mut(index)
        {
            node.operation.kind = Kind::Chain;
        }
    }
}

/// Merges model calls with one response id unless something contradicts it, and keeps the one that contains more.
fn same_response(readings: &mut Readings) {
    let mut by_id: HashMap<String, Vec<ReadingId>> = HashMap::default();
    for index in readings.of_kind(Kind::Llm) {
        if let Some(id) = readings.get(index).and_then(|node| node.operation.response_id.clone()) {
            by_id.entry(id).or_default().push(index);
        }
    }
    let mut of_one_id: Vec<Vec<ReadingId>> = by_id.into_values().filter(|group| group.len() > 1).collect();
    of_one_id.sort();
    for tellings in of_one_id {
        let contradict = |one: ReadingId, other: ReadingId| {
            let pair = (readings.get(one), readings.get(other));
            matches!(pair, (Some(one), Some(other)) if CallRecord::from(one).contradicts(&CallRecord::from(other)))
        };
        for group in call_record::groups(&tellings, contradict) {
            let kept = group
                .iter()
                .copied()
                .max_by_key(|index| (readings.get(*index).map(Node::has_messages), std::cmp::Reverse(*index)));
            for index in group {
                if let Some(kept) = kept {
                    merge(readings, index, kept);
                }
            }
        }
    }
}

/// A streamed answer recorded when its stream ended (logfire): a span without a duration, next to the call with the same input and
/// no answer. The call lasted until then.
fn answered_later(readings: &mut Readings) {
    let mut silent: HashMap<(Option<ReadingId>, String), Vec<ReadingId>> = HashMap::default();
    for index in readings.of_kind(Kind::Llm) {
        let parent = readings.parent(index);
        let Some(node) = readings.get(index) else { continue };
        let of = (parent, node.instrumentation().to_owned());
        let answered = node.operation.output_messages.is_some();
        if !answered && node.end.is_some_and(|end| end > node.start) && node.operation.failure.is_none() {
            silent.entry(of).or_default().push(index);
        } else if answered && node.end == Some(node.start) {
            let open = silent.get(&of).map_or(&[][..], Vec::as_slice);
            let asked = open.iter().copied().take(MAX_OPEN_CALLS).position(|call| {
                readings.get(call).is_some_and(|call| {
                    call.end_or_start() <= node.start
                        && call.operation.input_messages.is_some()
                        && call.operation.input_messages == node.operation.input_messages
                })
            });
            let (end, failure) = (node.end, node.operation.failure.clone());
            if let Some(asked) = asked
                && let Some(call) = silent.get_mut(&of).map(|open| open.remove(asked))
            {
                merge(readings, index, call);
                if let Some(call) = readings.get_mut(call) {
                    call.end = end;
                    // Sending the call succeeded; a broken stream is only recorded where the stream ended.
                    call.operation.failure = call.operation.failure.take().or(failure);
                }
            }
        }
    }
}

/// Two instrumentations of one client: same parent, different scopes, one inside the other's time, one without messages.
fn enclosed_siblings(readings: &mut Readings) {
    let calls = readings.of_kind(Kind::Llm);
    let mut by_parent: HashMap<Option<ReadingId>, Vec<ReadingId>> = HashMap::default();
    for index in calls {
        by_parent.entry(readings.parent(index)).or_default().push(index);
    }
    let mut groups: Vec<Vec<ReadingId>> = by_parent.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        let mut clients: Vec<(&str, Vec<ReadingId>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::default();
        for (index, client) in group
            .iter()
            .filter_map(|index| Some((*index, readings.get(*index)?.instrumentation())))
        {
            let at = *known.entry(client).or_insert_with(|| {
                clients.push((client, Vec::new()));
                clients.len() - 1
            });
            if let Some((_, calls)) = clients.get_mut(at) {
                calls.push(index);
            }
        }
        let calls_of: Vec<Vec<ReadingId>> = clients.into_iter().map(|(_, calls)| calls).collect();
        for first in group {
            for calls in calls_of.iter().take(MAX_CLIENTS) {
                enclosed_by(readings, first, calls);
            }
        }
    }
}

/// Maximum number of instrumentations of one client distinguished.
const MAX_CLIENTS: usize = 16;
/// Maximum number of other instrumentations' calls examined that begin during a call.
const MAX_OPEN_CALLS: usize = 64;

/// Merges a call with those of another instrumentation within its time.
fn enclosed_by(readings: &mut Readings, first: ReadingId, calls: &[ReadingId]) {
    let Some(node) = readings.get(first) else { return };
    let (end, client) = (node.end_or_start(), node.instrumentation());
    if calls
        .first()
        .and_then(|call| readings.get(*call))
        .is_none_or(|call| call.instrumentation() == client)
    {
        return;
    }
    // Readings are ordered by start: only calls that begin before this one ends can lie inside it.
    let begin = calls.partition_point(|call| *call <= first);
    let inside: Vec<ReadingId> = calls
        .iter()
        .skip(begin)
        .copied()
        .take_while(|call| readings.get(*call).is_some_and(|node| node.start <= end))
        .filter(|call| readings.is_independent(*call))
        .take(MAX_OPEN_CALLS)
        .collect();
    for second in inside {
        if let Some((lost, kept)) = same_client_call(readings, first, second) {
            merge(readings, lost, kept);
        }
    }
}

fn same_client_call(readings: &Readings, first: ReadingId, second: ReadingId) -> Option<(ReadingId, ReadingId)> {
    if !readings.is_independent(first) || !readings.is_independent(second) {
        return None;
    }
    let (a, b) = (readings.get(first)?, readings.get(second)?);
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

/// The only operation directly inside each agent, ignoring workflows and plain spans; `None` if it has several.
fn only_inside(readings: &Readings) -> HashMap<ReadingId, Option<ReadingId>> {
    let around = readings.nearest_above(|kind| !matches!(kind, Kind::Plain | Kind::Chain));
    let mut only: HashMap<ReadingId, Option<ReadingId>> = HashMap::default();
    for (index, up) in around.enumerate() {
        let is_one = !matches!(readings.kind(index), Kind::Plain | Kind::Chain) && readings.is_independent(index);
        if let Some(outer) = up.map(|up| readings.standing(up)).filter(|_| is_one) {
            only.entry(outer).and_modify(|only| *only = None).or_insert(Some(index));
        }
    }
    only
}

/// Merges an agent span directly below an agent span of the same agent.
fn agents_under_agents(readings: &mut Readings) {
    let mut agents = readings.of_kind(Kind::Agent);
    if agents.len() < 2 {
        return;
    }
    agents.reverse();
    let around = readings.nearest_above(|kind| !matches!(kind, Kind::Plain | Kind::Chain));
    let alone = only_inside(readings);
    // Agents without a question of their own: they take that of the first of several runs inside.
    let mut unasked: HashSet<ReadingId> = HashSet::default();
    for index in agents {
        let around = around.known(index).map(|up| readings.standing(up));
        let Some(outer) = around.filter(|up| readings.kind(*up) == Kind::Agent && *up != index) else {
            continue;
        };
        let (Some(inner), Some(node)) = (readings.get(index), readings.get(outer)) else {
            continue;
        };
        let same = match (&inner.operation.agent.name, &node.operation.agent.name) {
            (Some(x), Some(y)) => x == y,
            // An outer span that only passes its question on and has no answer is unnamed: its span is named after a function (goose).
            (Some(_), None) => {
                let is_alone = alone.get(&outer) == Some(&Some(index)) && readings.parent(index) == Some(outer);
                let outer = &node.operation;
                let is_asked = outer.input.is_some() || outer.input_messages.is_some();
                let is_done = outer.output.is_some() || outer.output_messages.is_some() || outer.failure != inner.operation.failure;
                is_alone && is_asked && !is_done && !node.operation.name.starts_with("invoke_agent ")
            }
            _ => false,
        };
        if same && inner.within(node) {
            if node.operation.input.is_none() && node.operation.input_messages.is_none() {
                let _ = unasked.insert(outer);
            }
            let asked = (inner.operation.input.clone(), inner.operation.input_messages.clone());
            merge(readings, index, outer);
            let is_asked = asked.0.is_some() || asked.1.is_some();
            if let Some(node) = readings.get_mut(outer).filter(|_| is_asked && unasked.contains(&outer)) {
                (node.operation.input, node.operation.input_messages) = asked;
            }
        }
    }
}

#[cfg(test)]
mod tests;

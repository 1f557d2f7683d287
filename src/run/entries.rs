//! Conversations as entries: each message, then the results of its calls by the time at which they came.

use std::collections::BTreeMap;

use super::conversation::{Asked, Conversation};
use super::node::Nodes;
use super::scope::Scopes;
use super::steps::{Steps, result_of};
use super::stitch::words;
use super::{CallEntry, Entry, EntryKind, ResultEntry};
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::span::UnixNanos;

/// The conversation of each scope, with step indices before ordering. Takes the messages of the sayings.
pub(super) fn of(
    nodes: &Nodes,
    scopes: &Scopes,
    conversations: &mut [Conversation],
    loose: &[(usize, usize)],
    steps: &Steps,
) -> Vec<Vec<Entry>> {
    let mut out: Vec<Vec<Entry>> = vec![Vec::new(); scopes.list.len()];
    let mut of_conversation: HashMap<usize, Vec<usize>> = HashMap::default();
    for (at, tool) in loose {
        of_conversation.entry(*at).or_default().push(*tool);
    }
    for (which, conversation) in conversations.iter_mut().enumerate() {
        let mut entries = said(nodes, which, conversation, steps);
        let mine = of_conversation.remove(&which).unwrap_or_default();
        place(nodes, mine, steps, &mut entries);
        if let Some(slot) = conversation.scopes.first().and_then(|owner| out.get_mut(*owner)) {
            slot.extend(entries);
        }
    }
    let mut alone: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (_, tool) in loose.iter().filter(|(at, _)| *at == usize::MAX) {
        alone.entry(scopes.scope_of(*tool)).or_default().push(*tool);
    }
    for (scope, tools) in alone {
        if let Some(slot) = out.get_mut(scope) {
            place(nodes, tools, steps, slot);
        }
    }
    out
}

fn said(nodes: &Nodes, which: usize, conversation: &mut Conversation, steps: &Steps) -> Vec<Entry> {
    let mut out = Vec::new();
    for saying in &mut conversation.sayings {
        let node = saying.node.and_then(|node| nodes.get(node));
        let step = saying
            .node
            .and_then(|node| steps.of_node.get(nodes.standing(node)).copied().flatten());
        let at = node.map_or(UnixNanos(0), |node| if saying.is_turn { node.end_or_start() } else { node.start });
        let mut message = std::mem::take(&mut saying.message);
        let calls: Vec<(usize, &Asked)> = saying
            .calls
            .iter()
            .filter_map(|at| conversation.calls.get(*at).map(|asked| (*at, asked)))
            .collect();
        for (call, (_, asked)) in message.tool_calls.iter_mut().zip(&calls) {
            call.id = Some(call_id(nodes, asked, steps));
        }
        // What another trace's call said, or one that was lost, is none of this call's work. It is a turn of this run if its
        // tools ran here.
        let ran_here = !saying.is_turn && calls.iter().any(|(_, asked)| !asked.tools.is_empty());
        let (kind, step) = if saying.is_turn {
            (EntryKind::Turn(message), step)
        } else if ran_here {
            (EntryKind::Turn(message), None)
        } else {
            (EntryKind::Message(message), step)
        };
        out.push(Entry {
            kind,
            step,
            at,
            branch: saying.branch,
        });
        let mut results: Vec<Entry> = calls
            .iter()
            .flat_map(|(call, asked)| results(nodes, which, *call, asked, steps))
            .collect();
        results.sort_by_key(|entry| entry.at);
        out.extend(results);
    }
    let told = told_by_tools(conversation, steps);
    for (answer, node) in &conversation.stray {
        if answer.tool_call_id.is_none() && told.contains(words(&answer.result_value()).as_str()) {
            continue;
        }
        let step = steps.of_node.get(*node).copied().flatten();
        let call_id = answer.tool_call_id.clone().unwrap_or_else(|| "unknown".to_owned());
        let at = nodes.get(*node).map_or(UnixNanos(0), |node| node.start);
        let result = ResultEntry {
            call_id,
            tool: None,
            result: answer.result_value(),
            failure: None,
            attempt: 0,
        };
        out.push(Entry {
            kind: EntryKind::Result(result),
            step,
            at,
            branch: false,
        });
    }
    out
}

/// What the tools of the run gave, if the conversation has answers that name no call: such an answer tells one of them again.
fn told_by_tools(conversation: &Conversation, steps: &Steps) -> HashSet<String> {
    if conversation.stray.iter().all(|(answer, _)| answer.tool_call_id.is_some()) {
        return HashSet::default();
    }
    let results = steps.list.iter().filter_map(|step| step.operation.tool.as_ref()?.result.as_ref());
    results.map(words).filter(|words| !words.is_empty()).collect()
}

/// The recorded id of a call, else its tool span's, else one made of the call's span and place.
fn call_id(nodes: &Nodes, asked: &Asked, steps: &Steps) -> String {
    let recorded = asked.call.id.clone().or_else(|| {
        asked.tools.iter().find_map(|tool| {
            let step = steps.of_node.get(*tool).copied().flatten().and_then(|at| steps.list.get(at))?;
            step.operation.tool.as_ref()?.call_id.clone()
        })
    });
    recorded.unwrap_or_else(|| {
        let by = asked.by.and_then(|by| nodes.get(by)).map(|node| node.span_id.to_string());
        format!("{}:{}", by.unwrap_or_else(|| format!("message{}", asked.saying)), asked.index)
    })
}

fn results(nodes: &Nodes, which: usize, call: usize, asked: &Asked, steps: &Steps) -> Vec<Entry> {
    let call_id = call_id(nodes, asked, steps);
    let told = steps.of_call.get(&(which, call)).copied();
    let mut tools: Vec<usize> = asked
        .tools
        .iter()
        .filter_map(|tool| steps.of_node.get(*tool).copied().flatten())
        .chain(told)
        .collect();
    tools.sort_by_key(|at| steps.list.get(*at).map(|step| (step.started_at, step.id.clone())));
    let mut out: Vec<Entry> = tools
        .iter()
        .enumerate()
        .filter_map(|(attempt, at)| result_entry(&call_id, *at, attempt, steps))
        .collect();
    // A handoff's span has no result: what the next agent reads is one.
    if let (Some(EntryKind::Result(last)), Some((answer, _))) = (out.last_mut().map(|entry| &mut entry.kind), &asked.answer)
        && last.result.is_null()
        && last.failure.is_none()
    {
        last.result = answer.result_value();
    }
    if out.is_empty()
        && let Some((answer, seen)) = &asked.answer
    {
        let result = ResultEntry {
            call_id,
            tool: None,
            result: answer.result_value(),
            failure: None,
            attempt: 0,
        };
        let at = nodes.get(*seen).map_or(UnixNanos(0), |node| node.start);
        out.push(Entry {
            kind: EntryKind::Result(result),
            step: steps.of_node.get(*seen).copied().flatten(),
            at,
            branch: false,
        });
    }
    out
}

fn result_entry(call_id: &str, at: usize, attempt: usize, steps: &Steps) -> Option<Entry> {
    let step = steps.list.get(at)?;
    let has_result = step.operation.tool.as_ref().is_some_and(|tool| tool.result.is_some());
    let unfinished = step.ended_at.is_none() || step.operation.interrupt.is_some();
    if unfinished && !has_result && step.operation.failure.is_none() {
        return None;
    }
    // A handoff that the client records as a span of its own gives no result of its own.
    let result = match step.operation.kind {
        Kind::Handoff => step
            .operation
            .tool
            .as_ref()
            .and_then(|tool| tool.result.clone())
            .or_else(|| step.operation.output.get().cloned())
            .unwrap_or_default(),
        _ => result_of(step),
    };
    let result = ResultEntry {
        call_id: call_id.to_owned(),
        tool: Some(at),
        result,
        failure: step.operation.failure.clone(),
        attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
    };
    Some(Entry {
        kind: EntryKind::Result(result),
        step: Some(at),
        at: step.end_or_start(),
        branch: false,
    })
}

/// Puts tools that no message asks for where their time is: a call entry and its result.
fn place(nodes: &Nodes, mut tools: Vec<usize>, steps: &Steps, entries: &mut Vec<Entry>) {
    tools.retain(|tool| nodes.kind(*tool) == Kind::Tool);
    if tools.is_empty() {
        return;
    }
    tools.sort_by_key(|tool| nodes.get(*tool).map(|node| (node.start, node.span_id)));
    let mut rest = std::mem::take(entries).into_iter();
    let mut attempts: HashMap<String, usize> = HashMap::default();
    for tool in tools {
        let (Some(at), Some(node)) = (steps.of_node.get(tool).copied().flatten(), nodes.get(tool)) else {
            continue;
        };
        // A tool may begin before the answer that asks for it has ended.
        let asked_by = steps.list.get(at).and_then(|step| step.dispatched_by);
        let asking = |entry: &Entry| asked_by.is_some() && entry.step == asked_by && matches!(entry.kind, EntryKind::Turn(_));
        if rest.as_slice().iter().any(asking) {
            while let Some(first) = rest.as_slice().first() {
                let last = asking(first);
                entries.extend(rest.next());
                if last {
                    break;
                }
            }
        }
        // Everything that was said before the tool began, and no result away from its call.
        while rest
            .as_slice()
            .first()
            .is_some_and(|entry| entry.at <= node.start || matches!(entry.kind, EntryKind::Result(_)))
        {
            entries.extend(rest.next());
        }
        let used = steps.list.get(at).and_then(|step| step.operation.tool.as_ref());
        let recorded = used.and_then(|tool| tool.call_id.clone());
        let id = recorded.unwrap_or_else(|| node.span_id.to_string());
        let attempt = attempts.entry(id.clone()).or_default();
        if *attempt == 0 {
            let call = CallEntry {
                call_id: id.clone(),
                tool: at,
            };
            entries.push(Entry {
                kind: EntryKind::Call(call),
                step: Some(at),
                at: node.start,
                branch: false,
            });
        }
        entries.extend(result_entry(&id, at, *attempt, steps));
        *attempt += 1;
    }
    entries.extend(rest);
}

//! Stage "entries": takes the conversations and the tools that no call asks for, and returns each scope's conversation as entries:
//! each message, followed by the results of its calls by time.
//!
//! This runs after the order, since entries refer to steps, and moves the messages out of the conversations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::conversation::{CallRef, Conversations, DraftCall, DraftConversation, SeenResult};
use super::id::{CallId, ConversationId, Id, IdVec, NodeId, ScopeId, StepId};
use super::model::{CallEntry, Entry, EntryKind, ResultEntry, Step};
use super::results::{answer_text, as_json, has_more, is_part, received_instead, result_of, result_text};
use super::steps::DraftSteps;
use super::tool_calls::UnaskedTools;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, ToolCallId};
use crate::span::{SpanId, UnixNanos};
use crate::trace::FindingKind;

/// The conversation of each scope.
pub(super) fn make(conversations: Conversations, unasked: UnaskedTools, steps: &DraftSteps) -> IdVec<ScopeId, Vec<Entry>> {
    let mut out: IdVec<ScopeId, Vec<Entry>> = IdVec::filled(Vec::new(), steps.called_by.len());
    let unreadable = steps.findings.iter().filter(|finding| finding.kind == FindingKind::UnreadableValue);
    let mended: HashSet<SpanId> = unreadable.filter_map(|finding| finding.span_id).collect();
    let all = conversations.ids().zip(conversations).zip(unasked.of_conversation);
    for ((id, conversation), tools) in all {
        let owner = conversation.scopes.first().copied();
        let mut entries = of_conversation(id, conversation, steps, &mended);
        place(steps_of(&tools, steps), steps, &mut entries);
        if let Some(slot) = owner.and_then(|owner| out.get_mut(owner)) {
            match slot.is_empty() {
                true => *slot = entries,
                false => slot.extend(entries),
            }
        }
    }
    let mut of_silent_agents: BTreeMap<ScopeId, Vec<StepId>> = BTreeMap::new();
    for (id, step) in unasked.of_silent_agents.iter().filter_map(|tool| steps.step_of(*tool)) {
        of_silent_agents.entry(step.scope).or_default().push(id);
    }
    for (scope, tools) in of_silent_agents {
        if let Some(slot) = out.get_mut(scope) {
            place(tools, steps, slot);
        }
    }
    out
}

fn steps_of(nodes: &[NodeId], steps: &DraftSteps) -> Vec<StepId> {
    nodes.iter().filter_map(|node| steps.of_node.known(*node)).collect()
}

/// `mended`: spans with a value that had to be mended to be read.
fn of_conversation(id: ConversationId, conversation: DraftConversation, steps: &DraftSteps, mended: &HashSet<SpanId>) -> Vec<Entry> {
    let DraftConversation {
        messages,
        calls,
        stray_results,
        ..
    } = conversation;
    let mut out = Vec::with_capacity(messages.len() + calls.len());
    for draft in messages {
        let (step, at) = match steps.step_of(draft.node) {
            Some((id, step)) if draft.is_turn => (Some(id), step.end_or_start()),
            Some((id, step)) => (Some(id), step.started_at),
            None => (None, UnixNanos(0)),
        };
        let mut message = draft.message;
        let of_message = draft.calls.iter();
        let of_message: Vec<(CallId, &DraftCall)> = of_message.filter_map(|id| Some((*id, calls.get(*id)?))).collect();
        for (call, (_, draft)) in message.tool_calls.iter_mut().zip(&of_message) {
            call.id = Some(call_id(draft, steps));
        }
        // The output of a call that is lost or in another trace is not this call's work. It is a turn of this run if its tools ran
        // here.
        let ran_here = !draft.is_turn && of_message.iter().any(|(_, call)| !call.tools.is_empty());
        let (kind, step) = if draft.is_turn {
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
            branch: draft.branch,
        });
        let of_call = |(call, draft): &(CallId, &DraftCall)| {
            let call = CallRef {
                conversation: id,
                call: *call,
            };
            results(call, draft, steps, mended)
        };
        let mut results: Vec<Entry> = of_message.iter().flat_map(of_call).collect();
        results.sort_by_key(|entry| entry.at);
        out.extend(results);
    }
    let known = results_of_tools(&stray_results, steps);
    let mut of_reader: HashMap<Option<StepId>, Vec<Entry>> = HashMap::default();
    for (number, seen) in stray_results.iter().enumerate() {
        let answer = &seen.message;
        if answer.tool_call_id.is_none() && (known.contains(&answer_text(answer)) || known.contains(&*as_json(&answer_text(answer)))) {
            continue;
        }
        let reader = steps.step_of(seen.node).map(|(_, step)| step.id.as_str());
        let call_id = match &answer.tool_call_id {
            Some(id) => ToolCallId::Recorded(id.clone()),
            None => ToolCallId::Derived(format!("{}:result{number}", reader.unwrap_or("run"))),
        };
        let entry = seen_result(call_id, seen, steps);
        of_reader.entry(entry.step).or_default().push(entry);
    }
    ahead_of_readers(out, of_reader)
}

/// Puts results without a call ahead of the answer of the model call that read them.
fn ahead_of_readers(entries: Vec<Entry>, mut of_reader: HashMap<Option<StepId>, Vec<Entry>>) -> Vec<Entry> {
    if of_reader.is_empty() {
        return entries;
    }
    let mut out = Vec::with_capacity(entries.len() + of_reader.len());
    for entry in entries {
        if let EntryKind::Turn(_) = entry.kind {
            out.extend(of_reader.remove(&entry.step).into_iter().flatten());
        }
        out.push(entry);
    }
    let mut rest: Vec<(Option<StepId>, Vec<Entry>)> = of_reader.into_iter().collect();
    rest.sort_by_key(|(reader, _)| *reader);
    out.extend(rest.into_iter().flat_map(|(_, list)| list));
    out
}

/// The results of the run's tools, if some results in messages name no call: such a result may repeat one of them.
fn results_of_tools<'a>(stray: &[SeenResult], steps: &'a DraftSteps) -> HashSet<Cow<'a, str>> {
    let mut known = HashSet::default();
    if stray.iter().all(|seen| seen.message.tool_call_id.is_some()) {
        return known;
    }
    // Results are long, and a growing set would rehash them.
    known.reserve(steps.list.len());
    let results = steps.list.iter().filter_map(|step| step.operation.tool.as_ref()?.result.as_ref());
    known.extend(results.map(result_text).filter(|text| !text.is_empty()));
    known
}

/// A result that only a model input contains.
fn seen_result(call_id: ToolCallId, seen: &SeenResult, steps: &DraftSteps) -> Entry {
    let reader = steps.step_of(seen.node);
    let result = ResultEntry {
        call_id,
        tool: None,
        tool_name: seen.message.name.clone().filter(|name| !name.trim().is_empty()),
        result: seen.message.result_value(),
        given: None,
        failure: None,
        attempt: 0,
    };
    Entry {
        kind: EntryKind::Result(result),
        step: reader.map(|(id, _)| id),
        at: reader.map_or(UnixNanos(0), |(_, step)| step.started_at),
        branch: false,
    }
}

/// The recorded id of a call, else its tool span's, else one derived from the call's span and index.
fn call_id(draft: &DraftCall, steps: &DraftSteps) -> ToolCallId {
    let of_tool = |tool: &NodeId| recorded_id(steps.step_of(*tool)?.1);
    let recorded = draft.call.id.clone().filter(|id| !id.is_empty());
    recorded.or_else(|| draft.tools.iter().find_map(of_tool)).unwrap_or_else(|| {
        let by = draft.by.and_then(|by| steps.step_of(by)).map(|(_, step)| step.id.clone());
        let by = by.unwrap_or_else(|| format!("message{}", draft.message.index()));
        ToolCallId::Derived(format!("{by}:{}", draft.index))
    })
}

/// The call id on a tool's span.
fn recorded_id(tool: &Step) -> Option<ToolCallId> {
    let id = tool.operation.tool.as_ref()?.call_id.clone();
    id.map(ToolCallId::Recorded)
}

fn results(call: CallRef, draft: &DraftCall, steps: &DraftSteps, mended: &HashSet<SpanId>) -> Vec<Entry> {
    let call_id = call_id(draft, steps);
    let mut tools = steps_of(&draft.tools, steps);
    tools.extend(steps.of_call.get(&call));
    tools.sort_by_key(|id| (steps.list.get(*id).map(|step| step.started_at), *id));
    let mut out: Vec<Entry> = tools
        .iter()
        .enumerate()
        .filter_map(|(attempt, id)| result_entry(&call_id, (*id, steps.list.get(*id)?), attempt))
        .collect();
    let Some(seen) = &draft.result else { return out };
    match out.last_mut().map(|entry| &mut entry.kind) {
        Some(EntryKind::Result(last)) => {
            // A handoff's span has no result: the text that the next agent reads is one. For a failed tool, the result is the text
            // that the model received, if it says more than the error.
            if last.result.is_null() && last.failure.as_ref().is_none_or(|failure| has_more(&seen.message, failure)) {
                last.result = seen.message.result_value();
            }
            let reader = steps.step_of(seen.node).and_then(|(_, reader)| reader.span_id);
            // In an input that the recorder truncated, the rest of a result is not what the model received.
            let is_left = |given: &Value| reader.is_some_and(|reader| mended.contains(&reader)) && is_part(given, &last.result);
            last.given = received_instead(&seen.message, &last.result, last.failure.as_ref()).filter(|given| !is_left(given));
        }
        Some(_) => {}
        None => out.push(seen_result(call_id, seen, steps)),
    }
    out
}

fn result_entry(call_id: &ToolCallId, (id, step): (StepId, &Step), attempt: usize) -> Option<Entry> {
    let has_result = step.operation.tool.as_ref().is_some_and(|tool| tool.result.is_some());
    let unfinished = step.ended_at.is_none() || step.operation.interrupt.is_some();
    if unfinished && !has_result && step.operation.failure.is_none() {
        return None;
    }
    // A handoff recorded as a separate span has no result.
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
        call_id: call_id.clone(),
        tool: Some(id),
        tool_name: None,
        result,
        given: None,
        failure: step.operation.failure.clone(),
        attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
    };
    Some(Entry {
        kind: EntryKind::Result(result),
        step: Some(id),
        at: step.end_or_start(),
        branch: false,
    })
}

/// Inserts tools that no message asks for by time: a call entry and its result.
fn place(tools: Vec<StepId>, steps: &DraftSteps, entries: &mut Vec<Entry>) {
    let of_tool = |id: StepId| {
        let step = steps.list.get(id).filter(|step| step.operation.kind == Kind::Tool)?;
        Some((id, step, step.span_id?))
    };
    let mut tools: Vec<(StepId, &Step, SpanId)> = tools.into_iter().filter_map(of_tool).collect();
    if tools.is_empty() {
        return;
    }
    tools.sort_by_key(|(id, step, _)| (step.started_at, *id));
    let turn_of = |entry: &Entry| entry.step.filter(|_| matches!(entry.kind, EntryKind::Turn(_)));
    let placed = entries.iter().enumerate();
    let last_turns: HashMap<StepId, usize> = placed.filter_map(|(place, entry)| Some((turn_of(entry)?, place))).collect();
    let count = entries.len();
    let mut rest = std::mem::take(entries).into_iter();
    entries.reserve(count + 2 * tools.len());
    let mut attempts: HashMap<ToolCallId, usize> = HashMap::default();
    for (id, step, span_id) in tools {
        // A tool may begin before the answer that asks for it ends.
        let is_ahead = |call: &StepId| last_turns.get(call).is_some_and(|place| *place >= count - rest.len());
        if let Some(asked_by) = step.dispatched_by.filter(is_ahead) {
            for entry in rest.by_ref() {
                let is_last = turn_of(&entry) == Some(asked_by);
                entries.push(entry);
                if is_last {
                    break;
                }
            }
        }
        // Takes all messages before the tool began, without separating a result from its call.
        while rest
            .as_slice()
            .first()
            .is_some_and(|entry| entry.at <= step.started_at || matches!(entry.kind, EntryKind::Result(_)))
        {
            entries.extend(rest.next());
        }
        let call_id = recorded_id(step).unwrap_or_else(|| ToolCallId::Derived(span_id.to_string()));
        let attempt = attempts.entry(call_id.clone()).or_default();
        if *attempt == 0 {
            let call = CallEntry {
                call_id: call_id.clone(),
                tool: id,
            };
            entries.push(Entry {
                kind: EntryKind::Call(call),
                step: Some(id),
                at: step.started_at,
                branch: false,
            });
        }
        entries.extend(result_entry(&call_id, (id, step), *attempt));
        *attempt += 1;
    }
    entries.extend(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::step;

    fn tool(number: u8, start: u64) -> Step {
        Step {
            span_id: SpanId::from_bytes(&[0, 0, 0, 0, 0, 0, 0, number]),
            ..step(format!("{number}"), Kind::Tool, "look", UnixNanos(start), UnixNanos(start + 5))
        }
    }

    #[test]
    fn tools_of_a_silent_agent_are_calls_with_results_by_time() {
        let steps = DraftSteps {
            list: [tool(1, 20), tool(2, 10)].into_iter().collect(),
            of_node: [0, 1].map(|index| Some(StepId::new(index))).into_iter().collect(),
            called_by: IdVec::filled(None, 1),
            ..DraftSteps::default()
        };
        let unasked = UnaskedTools {
            of_silent_agents: [0, 1].map(NodeId::new).to_vec(),
            ..UnaskedTools::default()
        };
        let made = make(Conversations::default(), unasked, &steps);
        let entries: Vec<(bool, Option<StepId>, UnixNanos)> = made
            .iter()
            .flatten()
            .map(|entry| (matches!(entry.kind, EntryKind::Call(_)), entry.step, entry.at))
            .collect();
        let [first, second] = [0, 1].map(|index| Some(StepId::new(index)));
        let wanted = [
            (true, second, UnixNanos(10)),
            (false, second, UnixNanos(15)),
            (true, first, UnixNanos(20)),
            (false, first, UnixNanos(25)),
        ];
        assert_eq!(entries, wanted);
    }
}

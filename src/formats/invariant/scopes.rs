//! Assigns conversations to lists of events, and places operations that no conversation contains.

use super::list::List;
use super::run_facts::RunFacts;
use crate::document::json::Json;
use crate::document::json_read::recorded;
use crate::operation::Kind;
use crate::run::{CallEntry, Entry, EntryKind, Run, Step};
use crate::span::UnixNanos;
use crate::transcript::content;
use crate::transcript::{ScopeId, StepId, Uncovered, is_model_call};

/// How an operation outside the conversations becomes events.
fn alone<'a>(run: &Run, facts: &RunFacts<'a>, id: StepId, step: &Step) -> Option<Uncovered<'a>> {
    let utterances = [&run.question, &run.answer];
    if utterances.into_iter().flatten().any(|utterance| utterance.step == id) && !is_model_call(step) {
        return None;
    }
    let lone = facts.transcript.uncovered(id)?;
    let is_nested = step.operation.kind == Kind::Tool && lone == Uncovered::CallAndResult && facts.transcript.is_inside_tool(id);
    (!is_nested).then_some(lone)
}

/// Whether a tool is running or waiting for a user: it has a call but no output whose metadata could hold its facts.
fn is_open_tool(step: &Step) -> bool {
    step.operation.kind == Kind::Tool && (step.ended_at.is_none() || step.operation.interrupt.is_some())
}

enum Item<'a> {
    Entry(&'a Entry),
    Alone(StepId, Uncovered<'a>),
}

/// Writes a scope's conversation; operations that it does not contain are inserted at their place.
pub(super) fn write<'a>(run: &'a Run, facts: &RunFacts<'a>, scope: ScopeId, list: &mut List<'a, '_>) {
    let transcript = &facts.transcript;
    let own = transcript.steps_of(scope);
    let own = || own.iter().filter_map(|id| Some((*id, id.of(run)?)));
    let conversation = run.scopes.get(scope).map(|scope| scope.conversation.as_slice()).unwrap_or_default();
    let mut entries: Vec<&'a Entry> = conversation.iter().collect();
    results_by_time(&mut entries);
    let places = Places::of(&entries);
    let mut alone_steps: Vec<(usize, StepId, Uncovered<'a>)> = own()
        .filter_map(|(id, step)| Some((places.of_step(step), id, alone(run, facts, id, step)?)))
        .collect();
    alone_steps.sort_by_key(|(place, index, _)| (*place, *index));
    let mut alone_steps = alone_steps.into_iter().peekable();
    let mut items: Vec<Item<'a>> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        while let Some((_, index, how)) = alone_steps.next_if(|(before, _, _)| *before == place) {
            items.push(Item::Alone(index, how));
        }
        items.push(Item::Entry(entry));
    }
    items.extend(alone_steps.map(|(_, index, how)| Item::Alone(index, how)));

    let mut calls: Vec<&'a CallEntry> = Vec::new();
    for item in &items {
        if let Item::Entry(Entry {
            kind: EntryKind::Call(call),
            ..
        }) = item
        {
            calls.push(call);
        } else if !calls.is_empty() {
            list.call_entries(&std::mem::take(&mut calls));
        }
        match item {
            Item::Entry(entry) => list.entry(entry),
            Item::Alone(index, Uncovered::CallAndResult) => list.pair(*index),
            Item::Alone(index, Uncovered::Result) => list.asked_output(*index),
            Item::Alone(index, Uncovered::HandoffResult(call_id)) => list.answer(*index, call_id),
            Item::Alone(index, Uncovered::Turn) => list.silent_turn(*index),
            Item::Alone(index, how @ (Uncovered::UserWords | Uncovered::AgentWords)) => {
                let role = if *how == Uncovered::UserWords { "user" } else { "assistant" };
                let content = run.steps.get(*index).and_then(|step| words(step, role));
                if let Some(content) = content.filter(|_| !transcript.is_repeated(*index)) {
                    list.operation_words(role, content, *index);
                }
            }
        }
    }
    if !calls.is_empty() {
        list.call_entries(&calls);
    }
    let without: Vec<StepId> = own()
        .filter(|(id, step)| {
            let silent = || !list.has_event(*id);
            if transcript.is_in_conversation(*id) {
                is_open_tool(step) && silent()
            } else {
                alone(run, facts, *id, step).is_none() || silent()
            }
        })
        .map(|(id, _)| id)
        .collect();
    list.settle(&without);
}

/// Orders adjacent results by their time.
fn results_by_time(entries: &mut [&Entry]) {
    let is_result = |entry: &&Entry| matches!(entry.kind, EntryKind::Result(_));
    for block in entries.chunk_by_mut(|a, b| is_result(a) && is_result(b)) {
        block.sort_by_key(|entry| match &entry.kind {
            EntryKind::Result(result) => (entry.at, result.attempt),
            _ => (entry.at, 0),
        });
    }
}

/// Finds the place of operations among entries: after the words that begin the conversation, then by time. A lookup
/// belongs to the turn after it, so it comes after the words that this turn answers.
struct Places {
    /// Number of entries.
    count: usize,
    /// Number of entries that begin the conversation.
    opening: usize,
    /// Running maxima of the times of turns and calls.
    turns: Vec<(UnixNanos, usize)>,
    /// Running maxima of the times of turns, calls and messages.
    words: Vec<(UnixNanos, usize)>,
}

impl Places {
    fn of(entries: &[&Entry]) -> Self {
        let is_message = |entry: &Entry| matches!(entry.kind, EntryKind::Message(_));
        let begins = |entry: &Entry| matches!(entry.kind, EntryKind::Turn(_) | EntryKind::Call(_));
        Self {
            count: entries.len(),
            opening: entries.iter().take_while(|entry| is_message(entry)).count(),
            turns: peaks(entries, begins),
            words: peaks(entries, |entry| begins(entry) || is_message(entry)),
        }
    }

    fn of_step(&self, step: &Step) -> usize {
        let looked_up = matches!(step.operation.kind, Kind::Retrieval | Kind::Rerank | Kind::MemoryRead);
        let later = if looked_up { &self.turns } else { &self.words };
        let end = step.end_or_start();
        let first = later.get(later.partition_point(|(at, _)| *at < end));
        first.map_or(self.count, |(_, place)| self.opening.max(*place))
    }
}

/// Running maxima of the times of matching entries; the first one at or after a given time is among them.
fn peaks(entries: &[&Entry], is_meant: impl Fn(&Entry) -> bool) -> Vec<(UnixNanos, usize)> {
    let mut peaks: Vec<(UnixNanos, usize)> = Vec::new();
    for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| is_meant(entry)) {
        if peaks.last().is_none_or(|(latest, _)| entry.at > *latest) {
            peaks.push((entry.at, place));
        }
    }
    peaks
}

/// A user's or the agent's words recorded on the operation itself.
fn words<'a>(step: &'a Step, role: &str) -> Option<Json<'a>> {
    let operation = &step.operation;
    if operation.kind == Kind::Interrupt {
        let asked = operation.interrupt.as_ref().and_then(|asked| asked.response.as_ref());
        return asked.map(Json::from).or_else(|| recorded(&operation.output));
    }
    let went_in = (operation.input_messages.as_deref(), &operation.input);
    let came_out = (operation.output_messages.as_deref(), &operation.output);
    let sides = if role == "user" { [went_in, came_out] } else { [came_out, went_in] };
    sides.into_iter().find_map(|(messages, whole)| {
        let text: String = messages.into_iter().flatten().map(content::content).collect();
        if text.trim().is_empty() {
            recorded(whole)
        } else {
            Some(text.into())
        }
    })
}

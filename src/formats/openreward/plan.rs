//! What is written where: the conversations of a run, and between their entries what only spans tell of.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use crate::operation::{Kind, Role};
use crate::run::{Entry, EntryKind, Run, Step};
use crate::span::UnixNanos;

/// One thing to write.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    /// An entry of a conversation.
    Entry {
        /// The entry.
        entry: &'a Entry,
        /// When.
        at: UnixNanos,
    },
    /// A call and its result made of one operation.
    Pair(usize),
    /// Words that no model call holds.
    Said {
        /// `user` or `assistant`.
        role: Role,
        /// The words.
        content: &'a Value,
        /// Whose they are.
        step: usize,
        /// When.
        at: UnixNanos,
    },
}

/// A run, laid out.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// For each scope, what is written of it.
    pub(super) streams: Vec<Vec<Item<'a>>>,
    /// Top-level scopes in order.
    pub(super) top: Vec<usize>,
    /// Scopes whose work belongs inside a tool's call, by that tool's step.
    pub(super) inner: HashMap<usize, Vec<usize>>,
    /// For each scope, the scope in whose stream its operations are written.
    pub(super) hosts: Vec<usize>,
    /// For each stream, the steps whose operations are written in it.
    steps: HashMap<usize, Vec<usize>>,
}

impl<'a> Plan<'a> {
    /// Lays out a run.
    pub(super) fn of(run: &'a Run) -> Self {
        let hosts: Vec<usize> = (0..run.scopes.len()).map(|scope| host(run, scope)).collect();
        let asked_outside = run.question.as_ref().is_some_and(|question| !question.in_conversation);
        let mut plan = Self { hosts, ..Self::default() };
        let first = first_scope(run);
        let mut openings = Vec::with_capacity(run.scopes.len());
        for (index, scope) in run.scopes.iter().enumerate() {
            let start = match scope.step.and_then(|step| run.steps.get(step)) {
                Some(step) => Some(step.started_at),
                None if Some(index) == first => Some(run.started_at),
                None => None,
            };
            let shift = start.filter(|_| !(asked_outside && Some(index) == first));
            let opening = opening(&scope.conversation);
            let items = scope.conversation.iter().enumerate().map(|(place, entry)| Item::Entry {
                entry,
                at: match shift {
                    Some(start) if place < opening => start.min(entry.at),
                    _ => entry.at,
                },
            });
            plan.streams.push(items.collect());
            openings.push(if asked_outside && Some(index) == first { 0 } else { opening });
        }
        plan.add_lone_operations(run, &openings);
        for (index, step) in run.steps.iter().enumerate() {
            let host = plan.hosts.get(step.scope).copied().unwrap_or(0);
            plan.steps.entry(host).or_default().push(index);
        }
        for (index, scope) in run.scopes.iter().enumerate() {
            match scope.called_by {
                Some(step) => plan.inner.entry(step).or_default().push(index),
                None if plan.streams.get(index).is_some_and(|items| !items.is_empty()) => plan.top.push(index),
                None => {}
            }
        }
        let streams = &plan.streams;
        plan.top.sort_by_key(|scope| first_time(run, streams.get(*scope)));
        plan.add_outer_words(run);
        plan
    }

    /// The steps of these streams, in causal order.
    pub(super) fn steps_of(&self, streams: &BTreeSet<usize>) -> Vec<usize> {
        let mut steps: Vec<usize> = streams
            .iter()
            .filter_map(|stream| self.steps.get(stream))
            .flatten()
            .copied()
            .collect();
        steps.sort_unstable();
        steps
    }

    /// Operations that no conversation tells of, at their time in the stream of their scope.
    fn add_lone_operations(&mut self, run: &'a Run, openings: &[usize]) {
        let told = told(run);
        let mut claimed = HashSet::new();
        for (index, step) in run.steps.iter().enumerate() {
            if told.contains(&index) {
                continue;
            }
            let operation = &step.operation;
            let at = step.end_or_start();
            let item = match operation.kind {
                Kind::Retrieval | Kind::Rerank | Kind::MemoryRead | Kind::MemoryWrite if step.inside_tool.is_none() => Item::Pair(index),
                Kind::Tool if !asked_for(run, step) => Item::Pair(index),
                Kind::Handoff if !transfer_call(run, index, &mut claimed) => Item::Pair(index),
                Kind::Interrupt => match operation.interrupt.as_ref().and_then(|interrupt| interrupt.response.as_ref()) {
                    Some(content) if !said_in_conversation(run, &Role::User, content) => Item::Said {
                        role: Role::User,
                        content,
                        step: index,
                        at,
                    },
                    _ => continue,
                },
                Kind::UserInput => match operation.input.as_ref().or(operation.output.as_ref()) {
                    Some(content) if !said_in_conversation(run, &Role::User, content) && !is_said(run, content) => Item::Said {
                        role: Role::User,
                        content,
                        step: index,
                        at: step.started_at,
                    },
                    _ => continue,
                },
                Kind::FinalOutput => match operation.output.as_ref().or(operation.input.as_ref()) {
                    Some(content) if !said_in_conversation(run, &Role::Assistant, content) && !is_said(run, content) => Item::Said {
                        role: Role::Assistant,
                        content,
                        step: index,
                        at,
                    },
                    _ => continue,
                },
                _ => continue,
            };
            let host = self.hosts.get(step.scope).copied().unwrap_or(0);
            let least = openings.get(host).copied().unwrap_or(0);
            if let Some(items) = self.streams.get_mut(host) {
                let begin = match item {
                    Item::Said { at, .. } => at,
                    _ => step.started_at,
                };
                let place = items
                    .iter()
                    .enumerate()
                    .skip(least)
                    .find(|(_, other)| item_time(run, other) > begin)
                    .map_or(items.len(), |(place, _)| place);
                items.insert(place, item);
            }
        }
    }

    /// The question and the answer that only an agent or a chain holds, at the start and the end.
    fn add_outer_words(&mut self, run: &'a Run) {
        let outer = |said: &'a crate::run::Said, role: Role| Item::Said {
            role,
            content: &said.content,
            step: said.step,
            at: said.at,
        };
        let question = run.question.as_ref().filter(|said| !said.in_conversation);
        let answer = run.answer.as_ref().filter(|said| !said.in_conversation);
        if self.top.is_empty() && (question.is_some() || answer.is_some()) && !self.streams.is_empty() {
            self.top.push(0);
        }
        if let Some(said) = question
            && let Some(items) = self.top.first().and_then(|scope| self.streams.get_mut(*scope))
        {
            items.insert(0, outer(said, Role::User));
        }
        if let Some(said) = answer
            && let Some(items) = self.top.last().and_then(|scope| self.streams.get_mut(*scope))
        {
            items.push(outer(said, Role::Assistant));
        }
    }
}

/// When an item is due.
pub(super) fn item_time(run: &Run, item: &Item<'_>) -> UnixNanos {
    match item {
        Item::Entry { at, .. } | Item::Said { at, .. } => *at,
        Item::Pair(step) => run.steps.get(*step).map_or(UnixNanos(0), |step| step.started_at),
    }
}

fn first_time(run: &Run, items: Option<&Vec<Item<'_>>>) -> UnixNanos {
    match items.and_then(|items| items.first()) {
        Some(Item::Entry { entry, .. }) => entry.at,
        Some(item) => item_time(run, item),
        None => UnixNanos(u64::MAX),
    }
}

/// The top-level scope whose conversation begins first.
fn first_scope(run: &Run) -> Option<usize> {
    run.scopes
        .iter()
        .enumerate()
        .filter(|(_, scope)| scope.called_by.is_none())
        .filter_map(|(index, scope)| Some((scope.conversation.first()?.at, index)))
        .min()
        .map(|(_, index)| index)
}

/// How many entries at the start go into the first model call.
fn opening(conversation: &[Entry]) -> usize {
    let first = conversation.first().and_then(|entry| entry.step);
    conversation
        .iter()
        .take_while(|entry| matches!(entry.kind, EntryKind::Message(_)) && entry.step == first)
        .count()
}

/// The scope itself if it has a conversation or is called by a tool; else the nearest one above that has.
fn host(run: &Run, scope: usize) -> usize {
    let mut at = scope;
    // As many steps up as there are scopes: a cycle cannot hold us.
    for _ in 0..run.scopes.len() {
        let Some(here) = run.scopes.get(at) else { return scope };
        if !here.conversation.is_empty() || here.called_by.is_some() {
            return at;
        }
        match here.parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
    first_scope(run).unwrap_or(at)
}

/// Steps that an entry tells of.
fn told(run: &Run) -> HashSet<usize> {
    run.scopes
        .iter()
        .flat_map(|scope| &scope.conversation)
        .flat_map(|entry| match &entry.kind {
            EntryKind::Call(call) => Some(call.tool),
            EntryKind::Result(result) => result.tool,
            EntryKind::Turn(_) | EntryKind::Message(_) => entry.step,
        })
        .collect()
}

/// Whether a turn of a conversation shows this tool's call: a running tool has no result yet.
fn asked_for(run: &Run, step: &Step) -> bool {
    let (Some(model), Some(place)) = (step.dispatched_by, step.call_index) else {
        return false;
    };
    run.scopes
        .iter()
        .flat_map(|scope| &scope.conversation)
        .any(|entry| match &entry.kind {
            EntryKind::Turn(message) => entry.step == Some(model) && place < message.tool_calls.len(),
            _ => false,
        })
}

/// Whether a model asked for this handoff by a call of its own, which then tells of it. Each call tells of one.
fn transfer_call(run: &Run, handoff: usize, claimed: &mut HashSet<(usize, usize)>) -> bool {
    let Some(step) = run.steps.get(handoff) else { return false };
    for scope in &run.scopes {
        for entry in &scope.conversation {
            let (EntryKind::Turn(message), Some(turn)) = (&entry.kind, entry.step) else {
                continue;
            };
            if entry.at > step.end_or_start() && run.steps.get(turn).is_some_and(|turn| turn.started_at > step.end_or_start()) {
                continue;
            }
            for (index, call) in message.tool_calls.iter().enumerate() {
                let name = call.name.to_lowercase();
                if (name.starts_with("transfer_to") || name.contains("handoff") || name.contains("transfer"))
                    && claimed.insert((turn, index))
                {
                    return true;
                }
            }
        }
    }
    false
}

fn said_in_conversation(run: &Run, role: &Role, content: &Value) -> bool {
    let text = super::words::text_of(content);
    let text = text.trim();
    text.is_empty()
        || run
            .scopes
            .iter()
            .flat_map(|scope| &scope.conversation)
            .any(|entry| match &entry.kind {
                EntryKind::Message(message) | EntryKind::Turn(message) => message.role == *role && message.content().trim() == text,
                _ => false,
            })
}

fn is_said(run: &Run, content: &Value) -> bool {
    let text = super::words::text_of(content);
    [&run.question, &run.answer]
        .into_iter()
        .flatten()
        .any(|said| !said.in_conversation && super::words::text_of(&said.content).trim() == text.trim())
}

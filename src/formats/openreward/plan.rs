//! Lays out a document: the conversations of a run, and between their entries operations that only spans record.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sub_agent_calls::SubAgentCalls;
use crate::hash::HashMap;
use crate::operation::{Kind, Role};
use crate::run::{Entry, Id, IdVec, Run, Scope, ScopeId};
use crate::span::UnixNanos;
use crate::transcript::{StepId, Transcript, Uncovered, first_input};

/// One item to write.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    /// An entry of a conversation.
    Entry {
        entry: &'a Entry,
        /// Its time.
        at: UnixNanos,
    },
    /// A call and its result, written for one operation.
    Pair(StepId),
    /// Words that no model call contains.
    Words {
        /// `user` or `assistant`.
        role: &'static Role,
        content: &'a Value,
        /// The step that recorded them.
        step: StepId,
        /// Their time.
        at: UnixNanos,
    },
}

/// A run, laid out.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// Items by scope.
    pub(super) streams: IdVec<ScopeId, Vec<Item<'a>>>,
    /// Top-level scopes in order.
    pub(super) top: Vec<ScopeId>,
    /// Scopes nested in a tool's call, by the tool's step.
    pub(super) inner: HashMap<StepId, Vec<ScopeId>>,
    /// The tools of `inner`, by the calls that request them.
    pub(super) asked: SubAgentCalls<'a>,
    /// For each scope, the scope whose stream has its operations.
    pub(super) hosts: IdVec<ScopeId, ScopeId>,
    /// For each stream, the steps whose operations it has.
    steps: HashMap<ScopeId, Vec<StepId>>,
}

impl<'a> Plan<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let first = first_scope(run);
        let hosts = hosts(run, first);
        let asked_outside = run.question.as_ref().is_some_and(|question| !question.in_conversation);
        let mut plan = Self { hosts, ..Self::default() };
        let mut openings: IdVec<ScopeId, usize> = IdVec::with_capacity(run.scopes.len());
        for (index, scope) in run.scopes.enumerate() {
            let start = match scope.step.and_then(|step| run.steps.get(step)) {
                Some(step) => Some(step.started_at),
                None if Some(index) == first => Some(run.started_at),
                None => None,
            };
            let shift = start.filter(|_| !(asked_outside && Some(index) == first));
            let opening = first_input(&scope.conversation);
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
        for (index, step) in run.steps.enumerate() {
            let host = plan.hosts.get(step.scope).copied().unwrap_or(ScopeId::FIRST);
            plan.steps.entry(host).or_default().push(index);
        }
        for (index, scope) in run.scopes.enumerate() {
            match scope.called_by {
                Some(step) => plan.inner.entry(step).or_default().push(index),
                None if plan.streams.get(index).is_some_and(|items| !items.is_empty()) => plan.top.push(index),
                None => {}
            }
        }
        plan.asked = SubAgentCalls::of(run, plan.inner.keys().copied(), &plan.hosts);
        let streams = &plan.streams;
        plan.top.sort_by_key(|scope| first_time(run, streams.get(*scope)));
        plan.add_outer_words(run);
        plan
    }

    /// The steps of these streams, in causal order.
    pub(super) fn steps_of(&self, streams: &BTreeSet<ScopeId>) -> Vec<StepId> {
        let mut steps: Vec<StepId> = streams
            .iter()
            .filter_map(|stream| self.steps.get(stream))
            .flatten()
            .copied()
            .collect();
        steps.sort_unstable();
        steps
    }

    /// Adds operations outside the conversations to the stream of their scope, by time.
    fn add_lone_operations(&mut self, run: &'a Run, openings: &IdVec<ScopeId, usize>) {
        let transcript = Transcript::of(run);
        let mut lone: HashMap<ScopeId, Vec<(UnixNanos, Item<'a>)>> = HashMap::default();
        for (index, step) in run.steps.enumerate() {
            let Some(lone_as) = transcript.uncovered(index) else {
                continue;
            };
            let operation = &step.operation;
            let at = step.end_or_start();
            let is_new = |content: &Value| !transcript.is_repeated(index) && !super::words::text_of(content).trim().is_empty();
            let item = match operation.kind {
                _ if lone_as == Uncovered::CallAndResult => Item::Pair(index),
                Kind::Interrupt => match operation.interrupt.as_ref().and_then(|interrupt| interrupt.response.as_ref()) {
                    Some(content) if is_new(content) => Item::Words {
                        role: &Role::User,
                        content,
                        step: index,
                        at,
                    },
                    _ => continue,
                },
                Kind::UserInput => match operation.input.get().or(operation.output.get()) {
                    Some(content) if is_new(content) => Item::Words {
                        role: &Role::User,
                        content,
                        step: index,
                        at: step.started_at,
                    },
                    _ => continue,
                },
                Kind::FinalOutput => match operation.output.get().or(operation.input.get()) {
                    Some(content) if is_new(content) => Item::Words {
                        role: &Role::Assistant,
                        content,
                        step: index,
                        at,
                    },
                    _ => continue,
                },
                _ => continue,
            };
            let host = self.hosts.get(step.scope).copied().unwrap_or(ScopeId::FIRST);
            lone.entry(host).or_default().push((item_time(run, &item), item));
        }
        for (host, lone) in lone {
            if let Some(items) = self.streams.get_mut(host) {
                let least = openings.get(host).copied().unwrap_or(0);
                *items = merged(run, std::mem::take(items), least, lone);
            }
        }
    }

    /// Adds a question and an answer that only an agent or a chain records, at the start and the end.
    fn add_outer_words(&mut self, run: &'a Run) {
        let outer = |utterance: &'a crate::run::Utterance, role: &'static Role| Item::Words {
            role,
            content: &utterance.content,
            step: utterance.step,
            at: utterance.at,
        };
        let question = run.question.as_ref().filter(|utterance| !utterance.in_conversation);
        let answer = run.answer.as_ref().filter(|utterance| !utterance.in_conversation);
        if self.top.is_empty() && (question.is_some() || answer.is_some()) && !self.streams.is_empty() {
            self.top.push(ScopeId::FIRST);
        }
        if let Some(utterance) = question
            && let Some(items) = self.top.first().and_then(|scope| self.streams.get_mut(*scope))
        {
            items.insert(0, outer(utterance, &Role::User));
        }
        if let Some(utterance) = answer
            && let Some(items) = self.top.last().and_then(|scope| self.streams.get_mut(*scope))
        {
            items.push(outer(utterance, &Role::Assistant));
        }
    }
}

/// Inserts each lone item before the first later item, but not before the first `least` items.
fn merged<'a>(run: &Run, items: Vec<Item<'a>>, least: usize, mut lone: Vec<(UnixNanos, Item<'a>)>) -> Vec<Item<'a>> {
    // A stable sort keeps items of the same time in the order of the run.
    lone.sort_by_key(|(at, _)| *at);
    let mut out = Vec::with_capacity(items.len() + lone.len());
    let mut lone = lone.into_iter().peekable();
    for (place, item) in items.into_iter().enumerate() {
        if place >= least {
            let time = item_time(run, &item);
            while let Some((_, item)) = lone.next_if(|(at, _)| *at < time) {
                out.push(item);
            }
        }
        out.push(item);
    }
    out.extend(lone.map(|(_, item)| item));
    out
}

/// The time of an item.
pub(super) fn item_time(run: &Run, item: &Item<'_>) -> UnixNanos {
    match item {
        Item::Entry { at, .. } | Item::Words { at, .. } => *at,
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
fn first_scope(run: &Run) -> Option<ScopeId> {
    run.scopes
        .enumerate()
        .filter(|(_, scope)| scope.called_by.is_none())
        .filter_map(|(index, scope)| Some((scope.conversation.first()?.at, index)))
        .min()
        .map(|(_, index)| index)
}

/// For each scope itself, if it has a conversation or was called by a tool; else the nearest such ancestor.
fn hosts(run: &Run, first: Option<ScopeId>) -> IdVec<ScopeId, ScopeId> {
    let speaks = |scope: &Scope| !scope.conversation.is_empty() || scope.called_by.is_some();
    // A scope comes after its parent.
    let mut above: IdVec<ScopeId, Option<ScopeId>> = IdVec::with_capacity(run.scopes.len());
    let mut tops: IdVec<ScopeId, ScopeId> = IdVec::with_capacity(run.scopes.len());
    let mut hosts = IdVec::with_capacity(run.scopes.len());
    for (at, scope) in run.scopes.enumerate() {
        let parent = scope.parent.filter(|parent| *parent < at);
        let top = parent.and_then(|parent| tops.get(parent)).copied().unwrap_or(at);
        tops.push(top);
        let host = match parent {
            _ if speaks(scope) => Some(at),
            Some(parent) => above.known(parent),
            None => None,
        };
        above.push(host);
        hosts.push(host.or(first).unwrap_or(top));
    }
    hosts
}

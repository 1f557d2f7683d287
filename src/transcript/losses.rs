//! The losses of a chat format, collected while a conversation is written.

use std::collections::BTreeMap;

use crate::document::json::Json;
use crate::document::loss::{Loss, LossReason};
use crate::operation::{Kind, Message, Part};
use crate::run::{Entry, EntryKind, Run, Step, Utterance};
use crate::span::SpanId;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{Exchange, ExchangeCall};
use crate::transcript::{content, facts, hands_on};

/// The losses of a document.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    losses: Vec<Loss>,
    /// Facts of operations that the format has no place for, each once, with the first span that has it.
    facts: BTreeMap<String, FactLoss>,
    /// Facts that the format has a place for.
    placed: &'static [&'static str],
}

/// The operations that have a fact.
#[derive(Debug, Default)]
struct FactLoss {
    first: Option<SpanId>,
    last: Option<SpanId>,
    others: u64,
}

impl FactLoss {
    /// Comparing with the last span suffices, since facts are added operation by operation.
    fn add(&mut self, span: Option<SpanId>) {
        if span.is_none() || span == self.last {
            return;
        }
        self.last = span;
        match self.first {
            None => self.first = span,
            Some(_) => self.others += 1,
        }
    }
}

impl Losses {
    /// No losses yet. `placed`: the facts that the format has a place for, by their names in [`facts::all`].
    pub(crate) fn new(placed: &'static [&'static str]) -> Self {
        Self { placed, ..Self::default() }
    }

    pub(crate) fn add(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }

    /// Reports a fact, once for all its operations. `span`: the operation's; `None` for a fact of the run.
    pub(crate) fn fact(&mut self, span: Option<SpanId>, name: impl Into<String>) {
        self.facts.entry(name.into()).or_default().add(span);
    }

    /// Reports the facts of an operation in the document. `is_written`: whether a fact with a possible place was written.
    pub(crate) fn step(&mut self, run: &Run, step: &Step, is_written: impl Fn(&str, &Json<'_>) -> bool) {
        let span = run.span_of(step);
        for (key, value) in facts::all(run, step).iter() {
            if !self.placed.contains(&key) {
                match self.facts.get_mut(key) {
                    Some(written) => written.add(span),
                    None => self.fact(span, key),
                }
            } else if !is_written(key, &value) {
                self.fact(span, format!("{key} of {}", step.operation.kind.name()));
            }
        }
        if step.operation.output_messages.as_ref().is_some_and(|messages| messages.len() > 1) {
            self.add(span, "other choices", LossReason::NoPlace);
        }
    }

    /// Reports an operation without a turn: its facts, input and output, except those that turns contain.
    pub(crate) fn without_turn(&mut self, turns: &TurnFacts<'_>, step: &Step, is_written: impl Fn(&str, &Json<'_>) -> bool) {
        self.step(turns.run, step, is_written);
        let kind = step.operation.kind;
        if !hands_on(kind) {
            self.add(step.span_id, kind.name(), LossReason::NoPlace);
        } else if let Some(what) = turns.unwritten(step) {
            self.add(step.span_id, format!("{}: {what}", kind.name()), LossReason::NoPlace);
        }
    }

    /// Reports all facts of a run and its operations, for a document without a conversation.
    pub(crate) fn operations(&mut self, run: &Run) {
        let is_work = |step: &&Step| !matches!(step.operation.kind, Kind::Plain | Kind::Detail);
        for step in run.steps.iter().filter(is_work) {
            self.step(run, step, |_, _| false);
            let what = format!("words and times of {}", step.operation.kind.name());
            self.add(run.span_of(step), what, LossReason::NoPlace);
        }
        for (key, _) in facts::of_run_and_agent(run).iter() {
            self.fact(None, format!("run.{key}"));
        }
    }

    /// Reports the run's question or answer (`what`) if the document has no place for it, unless a message
    /// contains it.
    pub(crate) fn utterance(&mut self, run: &Run, utterance: Option<&Utterance>, what: &str) {
        let Some(utterance) = utterance else { return };
        let words = content::text(&utterance.content);
        let has_it = |entry: &Entry| match &entry.kind {
            EntryKind::Message(message) | EntryKind::Turn(message) => content::content(message).trim() == words.trim(),
            _ => false,
        };
        if !run.scopes.iter().flat_map(|scope| &scope.conversation).any(has_it) {
            let span = run.steps.get(utterance.step).and_then(|step| step.span_id);
            self.add(span, what, LossReason::NoPlace);
        }
    }

    /// Reports reasoning that only the provider can read.
    pub(crate) fn opaque(&mut self, message: &Message, span: Option<SpanId>) {
        let is_opaque = |part: &Part| matches!(part, Part::Reasoning { opaque, .. } if !opaque.is_empty());
        if message.parts.iter().any(is_opaque) {
            self.add(span, "opaque reasoning", LossReason::NoPlace);
        }
    }

    /// Reports an edited history before an exchange.
    pub(crate) fn branch(&mut self, exchange: &Exchange<'_>, span: Option<SpanId>) {
        if exchange.branch {
            self.add(span, "the history was edited before this message", LossReason::Ambiguous);
        }
    }

    /// Reports losses of a call of which only the last result is written. `wrapped`: whether its arguments were wrapped in an object.
    pub(crate) fn call(
        &mut self,
        turns: &TurnFacts<'_>,
        asked: &ExchangeCall<'_>,
        agent: Option<&str>,
        wrapped: bool,
        span: Option<SpanId>,
    ) {
        let id = &asked.id;
        if wrapped {
            self.add(span, format!("arguments of {id}"), LossReason::Coerced);
        }
        if asked.results.iter().any(|given| given.branch) {
            self.add(
                span,
                format!("the history was edited before the result of {id}"),
                LossReason::Ambiguous,
            );
        }
        for given in asked.results.iter().rev().skip(1) {
            self.add(span, format!("an earlier result of {id}"), LossReason::NoPlace);
            let tool = given
                .tool
                .filter(|tool| asked.tool != Some(*tool))
                .and_then(|tool| tool.of(turns.run));
            if let Some(tool) = tool {
                self.step(turns.run, tool, |key, value| match key {
                    "agent" => value.as_str() == agent,
                    "tool_call_id" => value.as_str() == Some(id),
                    _ => turns.contains(key, tool),
                });
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<Loss> {
        let facts = self.facts.into_iter().map(|(fact, written)| Loss {
            others: written.others,
            ..Loss::new(written.first, fact, LossReason::NoPlace)
        });
        self.losses.into_iter().chain(facts).collect()
    }
}

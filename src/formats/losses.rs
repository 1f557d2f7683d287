//! The losses of a format of chat turns, collected while a conversation is written.

use std::collections::BTreeSet;

use super::facts;
use super::loss::{Loss, LossReason};
use crate::operation::{Message, Part};
use crate::run::{Run, Step};
use crate::span::SpanId;
use crate::transcript::{Exchange, ExchangeCall};

/// The losses of a document.
#[derive(Debug, Default)]
pub(in crate::formats) struct Losses {
    losses: Vec<Loss>,
    /// Facts of operations without a place, each named once.
    facts: BTreeSet<String>,
    /// Facts that have a place.
    placed: &'static [&'static str],
}

impl Losses {
    /// Nothing lost yet. `placed`: the facts that the format has a place for, by their names in [`facts::all`].
    pub(in crate::formats) fn new(placed: &'static [&'static str]) -> Self {
        Self { placed, ..Self::default() }
    }

    pub(in crate::formats) fn add(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }

    /// A fact, of however many operations.
    pub(in crate::formats) fn fact(&mut self, name: impl Into<String>) {
        self.facts.insert(name.into());
    }

    /// The facts of an operation that the document tells of.
    pub(in crate::formats) fn step(&mut self, run: &Run, step: &Step) {
        let all = facts::all(run, step);
        let keys = all.iter().map(|(key, _)| key);
        self.facts.extend(keys.filter(|key| !self.placed.contains(key)).map(str::to_owned));
        if step.operation.output_messages.as_ref().is_some_and(|messages| messages.len() > 1) {
            self.add(step.span_id, "other choices", LossReason::NoPlace);
        }
    }

    /// Reasoning that only the provider can read.
    pub(in crate::formats) fn opaque(&mut self, message: &Message, span: Option<SpanId>) {
        let is_opaque = |part: &Part| matches!(part, Part::Reasoning { opaque, .. } if !opaque.is_empty());
        if message.parts.iter().any(is_opaque) {
            self.add(span, "opaque reasoning", LossReason::NoPlace);
        }
    }

    /// An edited history before an exchange.
    pub(in crate::formats) fn branch(&mut self, exchange: &Exchange<'_>, span: Option<SpanId>) {
        if exchange.branch {
            self.add(span, "the history was edited before this message", LossReason::Ambiguous);
        }
    }

    /// A call of which the last result is told. `wrapped`: whether an object was put around its arguments.
    pub(in crate::formats) fn call(&mut self, asked: &ExchangeCall<'_>, wrapped: bool, span: Option<SpanId>) {
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
        for _ in asked.results.iter().skip(1) {
            self.add(span, format!("an earlier result of {id}"), LossReason::NoPlace);
        }
    }

    pub(in crate::formats) fn finish(self) -> Vec<Loss> {
        let facts = self.facts.into_iter().map(|fact| Loss::new(None, fact, LossReason::NoPlace));
        self.losses.into_iter().chain(facts).collect()
    }
}

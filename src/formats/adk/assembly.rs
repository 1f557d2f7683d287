//! State that all cases of a run share.

use std::collections::BTreeMap;

use crate::document::json::{Json, Text};
use crate::document::loss::LossReason;
use crate::hash::HashSet;
use crate::operation::{Kind, Message};
use crate::run::{Run, Step};
use crate::span::SpanId;
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::losses::Losses;
use crate::transcript::rounds::Rounds;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{Exchange, ScopeId, StepId, Transcript};

/// A run and what its cases share.
pub(super) struct Assembly<'a, 'l> {
    pub(super) run: &'a Run,
    /// Write calls, responses and words as lists instead of events.
    pub(super) lists: bool,
    /// Write called agents as separate cases instead of events.
    pub(super) cases: bool,
    pub(super) results: Results<'a>,
    pub(super) transcript: Transcript<'a>,
    pub(super) turns: TurnFacts<'a>,
    /// Conversations not yet written, by the tool that called the agent.
    pub(super) scopes: BTreeMap<Option<StepId>, Vec<ScopeId>>,
    pub(super) losses: &'l mut Losses,
}

impl<'a> Assembly<'a, '_> {
    /// Reports what lies outside an agent's rounds.
    pub(super) fn outside_rounds(&mut self, id: ScopeId, rounds: &Rounds<'a, '_>, rest: &[StepId]) {
        let author = (!rounds.list.is_empty()).then(|| self.author(id, None));
        for exchange in &rounds.strays {
            self.losses.add(self.span(exchange), "a result of no call", LossReason::NoPlace);
        }
        for step in rest.iter().filter_map(|id| id.of(self.run)) {
            let turns = &self.turns;
            let is_written = |key: &str, value: &Json<'_>| match key {
                "state" => true,
                "agent" if value.as_str() == author.as_deref() => true,
                _ => turns.contains(key, step),
            };
            if is_state_change(step) {
                self.losses.step(self.run, step, is_written);
            } else {
                self.losses.without_turn(turns, step, is_written);
            }
        }
    }

    /// The system prompts of each agent.
    pub(super) fn prompts(&mut self, id: ScopeId, prompts: &[(&'a Message, &Exchange<'a>)]) -> BTreeMap<Text<'a>, Vec<Text<'a>>> {
        let mut known = HashSet::default();
        let mut out: BTreeMap<Text<'a>, Vec<Text<'a>>> = BTreeMap::new();
        for (message, exchange) in prompts {
            let (words, lost) = chat::content(message);
            if let Some(reason) = lost {
                self.losses.add(self.span(exchange), "instructions: a part that is no text", reason);
            }
            if known.insert(words.trim().to_owned()) {
                out.entry(self.author(id, Some(exchange))).or_default().push(words);
            }
        }
        out
    }

    /// The agent that an exchange belongs to: agents that hand a run on to one another share a conversation.
    pub(super) fn author(&self, id: ScopeId, exchange: Option<&Exchange<'a>>) -> Text<'a> {
        let run = self.run;
        let agent = |scope: ScopeId| run.scopes.get(scope)?.agent.as_deref();
        let step = exchange.and_then(|exchange| exchange.step?.of(run));
        let own = step.and_then(|step| step.operation.agent.name.as_deref().or_else(|| agent(step.scope)));
        let name = own.or_else(|| agent(id)).or(run.agent.name.as_deref());
        name.filter(|name| !name.is_empty()).unwrap_or("unknown").into()
    }

    pub(super) fn span(&self, exchange: &Exchange<'a>) -> Option<SpanId> {
        exchange.step.and_then(|step| step.of(self.run))?.span_id
    }
}

/// Whether a step only records a change of state.
fn is_state_change(step: &Step) -> bool {
    let operation = &step.operation;
    let has_more = operation.input.is_some() || operation.output.is_some() || operation.input_messages.is_some();
    operation.kind == Kind::StateChange && !has_more && operation.state.as_ref().is_some_and(|state| state.key.is_some())
}

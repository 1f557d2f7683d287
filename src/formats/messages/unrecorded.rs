//! Calls not requested by a model's recorded words: those of a model call without recorded output, and those of an agent without
//! recorded model calls. The tools' spans show what was requested.

use super::conversation::ConversationRow;
use super::row::Caller;
use crate::document::json::Text;
use crate::document::loss::LossReason;
use crate::operation::{Kind, Message};
use crate::run::{Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::{Exchange, ExchangeKind};

impl<'a> ConversationRow<'a, '_> {
    /// Who ran this tool, if its call is not recorded.
    pub(super) fn silent_caller(&self, tool: &Step) -> Option<Caller> {
        let Some(caller) = tool.dispatched_by else {
            let ends = tool.end_or_start();
            return self.silent_agent(tool).map(|agent| Caller::Agent(agent, ends));
        };
        let messages = self.run.steps.get(caller)?.operation.output_messages.as_deref().unwrap_or_default();
        // If the model call produced words, only tools that ran inside it.
        let is_inside = || tool.parent == Some(caller) && messages.iter().all(|message| message.tool_calls.is_empty());
        (messages.is_empty() || self.spoke == Some(caller) && is_inside()).then_some(Caller::Model(caller))
    }

    /// The agent that ran this tool, if it has no recorded model call and gave the run's answer.
    fn silent_agent(&self, tool: &Step) -> Option<StepId> {
        let answer = self.run.answer.as_ref().filter(|answer| !answer.in_conversation)?;
        let answers = self.run.steps.get(answer.step).is_some_and(|step| step.scope == tool.scope);
        let agent = self.run.scopes.get(tool.scope)?.step;
        agent.filter(|_| tool.operation.kind == Kind::Tool && answers && !self.turns.speaks(tool.scope))
    }

    /// Whether an exchange is a call of an agent without recorded model calls.
    pub(super) fn is_of_silent_agent(&self, exchange: &Exchange<'a>) -> bool {
        let step = exchange.step.and_then(|step| step.of(self.run));
        exchange.kind == ExchangeKind::Unasked && step.is_some_and(|step| matches!(self.silent_caller(step), Some(Caller::Agent(..))))
    }

    /// Adds calls that were not recorded as requested.
    pub(super) fn unrecorded_calls(&mut self, exchange: &Exchange<'a>, caller: Caller, span: Option<SpanId>) {
        let is_target = !self.has_failed(exchange);
        match caller {
            Caller::Model(call) => {
                if self.caller != Some(caller) {
                    if self.spoke != Some(call) {
                        self.row.assistant(Text::default(), None, is_target, span);
                    }
                    self.lose_message(call, "the message with the calls of a model call");
                }
                self.caller = Some(caller);
            }
            Caller::Agent(agent, ends) => {
                // A call that began after another had ended was requested with its result known.
                let began = exchange
                    .step
                    .and_then(|step| step.of(self.run))
                    .map_or(UnixNanos(0), |step| step.started_at);
                let first_end = match self.caller {
                    Some(Caller::Agent(before, end)) if before == agent && began < end => end.min(ends),
                    _ => {
                        self.row.assistant(Text::default(), None, is_target, span);
                        self.lose_message(agent, "the message with the calls of an agent without model calls");
                        ends
                    }
                };
                self.caller = Some(Caller::Agent(agent, first_end));
            }
        }
        self.calls(exchange, span);
    }

    fn lose_message(&mut self, of: StepId, what: &str) {
        let span = self.run.steps.get(of).and_then(|step| step.span_id);
        self.row.lose(span, what, LossReason::Synthesized);
    }

    /// Whether an answer is a piece of one that broke off: its call failed, and no reason for the end is recorded. An answer that a
    /// user stopped was shown to that user.
    pub(super) fn broke_off(&self, call: StepId, said: &Message) -> bool {
        let operation = self.run.steps.get(call).map(|step| &step.operation);
        let is_open = operation.is_some_and(|operation| {
            let failure = operation.failure.as_ref().filter(|failure| !failure.is_cancellation());
            failure.is_some() && operation.finish_reason.is_none()
        });
        is_open && said.finish_reason.is_none()
    }
}

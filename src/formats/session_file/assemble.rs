//! Runs to the records of a session.

use serde_json::Value;

use super::records::{Asked, Given, Records, is_system, text_of};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::operation::{Kind, Message, Role};
use crate::run::{Run, ScopeId, Step};
use crate::transcript::calls::{self, Results};
use crate::transcript::{CallResult, Exchange, ExchangeKind, Transcript, chat, facts, thread};

/// The session of these runs: its main file, and one a sub-agent.
pub(super) fn assemble<R: Records>(runs: &[Run]) -> Vec<Assembled<Vec<Value>>> {
    let mut main: Option<R> = None;
    let (mut losses, mut others) = (Vec::new(), Vec::new());
    for run in runs.iter().filter(|run| run.has_agent_work()) {
        let (results, transcript) = (Results::of(run), Transcript::of(run));
        let records = main.get_or_insert_with(|| R::new(run, None));
        records.begin(run);
        for (key, _) in facts::of_run_and_agent(run).iter() {
            losses.push(Loss::new(None, format!("run.{key}"), LossReason::NoPlace));
        }
        for (scope, _) in transcript.homes() {
            let Some(about) = run.scopes.get(scope) else { continue };
            match agent_id(run, scope) {
                // A file of its own.
                Some(agent) => {
                    let mut records = R::new(run, Some(agent));
                    records.begin(run);
                    let mut losses = Vec::new();
                    Conversation::new(run, &results, &mut losses).write(&transcript, scope, &mut records);
                    let document = records.finish();
                    if !document.is_empty() {
                        others.push(Assembled { document, losses });
                    }
                }
                None if about.aside => losses.push(Loss::new(None, "a conversation beside the agents", LossReason::NoPlace)),
                None => Conversation::new(run, &results, &mut losses).write(&transcript, scope, records),
            }
        }
    }
    let document = main.map(R::finish).unwrap_or_default();
    let main = (!document.is_empty()).then_some(Assembled { document, losses });
    main.into_iter().chain(others).collect()
}

/// The id of a sub-agent; `None` for agents that nothing called.
fn agent_id(run: &Run, scope: ScopeId) -> Option<String> {
    let about = run.scopes.get(scope)?;
    about.called_by?;
    let step = about.step.and_then(|step| run.steps.get(step));
    let own = step.and_then(|step| step.operation.agent.id.clone());
    own.or_else(|| {
        Some(format!(
            "a{}",
            step.and_then(|step| step.span_id)
                .map_or_else(|| scope.index().to_string(), |id| id.to_string())
        ))
    })
}

/// One conversation.
struct Conversation<'a, 'l> {
    run: &'a Run,
    results: &'l Results<'a>,
    losses: &'l mut Vec<Loss>,
    /// Whether the system prompt was not written, nor an answer.
    begins: bool,
    /// Whether what comes first takes the place of what was said.
    replaces: bool,
}

impl<'a, 'l> Conversation<'a, 'l> {
    fn new(run: &'a Run, results: &'l Results<'a>, losses: &'l mut Vec<Loss>) -> Self {
        Self {
            run,
            results,
            losses,
            begins: true,
            replaces: false,
        }
    }

    fn lose(&mut self, step: Option<&Step>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(step.and_then(|step| step.span_id), what.into(), reason));
    }

    fn write(&mut self, transcript: &Transcript<'a>, scope: ScopeId, records: &mut impl Records) {
        let exchanges = transcript.exchanges(scope);
        let about = self.run.scopes.get(scope);
        self.replaces = about.is_some_and(|scope| scope.is_unrelated);
        // Nothing was said: the turn failed.
        let question = self
            .run
            .question
            .as_ref()
            .filter(|_| exchanges.list.is_empty() && scope.index() == 0);
        if let Some(question) = question {
            let message = Message::text(Role::User, text_of(&question.content));
            records.user(self.run, question.at, &message, false);
        }
        for exchange in &exchanges.list {
            self.exchange(exchange, records);
        }
        for id in exchanges.rest {
            let Some(step) = self.run.steps.get(id) else { continue };
            if step.operation.kind != Kind::Agent {
                let name = step.operation.name.clone();
                self.lose(Some(step), format!("operation {name}"), LossReason::NoPlace);
            }
        }
    }

    fn exchange<R: Records>(&mut self, exchange: &Exchange<'a>, records: &mut R) {
        let run = self.run;
        let step = exchange.step.and_then(|step| step.of(run));
        let at = exchange.at;
        if exchange.branch {
            self.lose(step, "the history was edited or cut before it", LossReason::NoPlace);
        }
        match exchange.kind {
            ExchangeKind::Message(message) if message.is_blank() => {}
            ExchangeKind::Message(message) if is_system(message) => {
                if std::mem::take(&mut self.begins) {
                    records.system_prompt(run, at, &message.content());
                } else {
                    records.user(run, at, message, true);
                }
            }
            ExchangeKind::Message(message) if message.role == Role::Assistant => {
                self.lose(step, "an assistant message that was input", LossReason::Coerced);
                let calls = self.calls(exchange);
                records.assistant(run, at, Some(message), None, calls);
            }
            ExchangeKind::Message(message) => {
                if std::mem::take(&mut self.replaces) {
                    self.begins = false;
                    records.summary(run, at, message);
                } else {
                    records.user(run, at, message, false);
                }
            }
            ExchangeKind::Turn(message) => {
                let calls = self.calls(exchange);
                records.assistant(run, step.map_or(at, Step::end_or_start), Some(message), step, calls);
                self.model_call(step, R::HAS_PARAMETERS);
            }
            ExchangeKind::SilentTurn => {
                let calls = self.calls(exchange);
                records.assistant(run, at, None, step, calls);
                self.model_call(step, R::HAS_PARAMETERS);
            }
            ExchangeKind::Unasked => {
                for asked in &exchange.calls {
                    let name = chat::name(run, asked).to_owned();
                    self.lose(step, format!("a call of {name} that no model asked for"), LossReason::NoPlace);
                }
                return;
            }
            ExchangeKind::UserWords | ExchangeKind::AgentWords => {
                let is_user = exchange.kind == ExchangeKind::UserWords;
                let words = step.and_then(|step| thread::operation_words(run, self.results, step, is_user));
                let Some(words) = words.filter(|words| !words.trim().is_empty()) else {
                    return;
                };
                let role = if is_user { Role::User } else { Role::Assistant };
                let message = Message::text(role, words.into_owned());
                if is_user {
                    records.user(run, at, &message, false);
                } else {
                    self.lose(step, "an agent's words that no model said", LossReason::Coerced);
                    records.assistant(run, at, Some(&message), None, Vec::new());
                }
            }
        }
        for asked in &exchange.calls {
            let Some((last, earlier)) = asked.results.split_last() else {
                continue;
            };
            if !earlier.is_empty() {
                self.lose(step, format!("earlier results of {}", asked.id), LossReason::NoPlace);
            }
            let (value, is_error) = self.result(*last);
            let agent = asked.tool.and_then(|tool| {
                let mut called = run.scopes.enumerate().filter(|(_, scope)| scope.called_by == Some(tool));
                called.find_map(|(id, _)| agent_id(run, id))
            });
            records.result(
                run,
                Given {
                    at: last.at,
                    call_id: asked.id.to_string(),
                    value,
                    is_error,
                    agent,
                },
            );
        }
    }

    fn calls(&mut self, exchange: &Exchange<'a>) -> Vec<Asked> {
        let mut out = Vec::new();
        for asked in &exchange.calls {
            let (arguments, wrapped) = chat::arguments(self.run, asked);
            if wrapped {
                self.lose(None, format!("arguments of {}", asked.id), LossReason::Coerced);
            }
            out.push(Asked {
                id: asked.id.to_string(),
                name: chat::name(self.run, asked).to_owned(),
                arguments: serde_json::to_value(&arguments).unwrap_or_default(),
            });
        }
        out
    }

    /// What a record has no place for.
    fn model_call(&mut self, step: Option<&'a Step>, has_parameters: bool) {
        self.begins = false;
        let Some(step) = step else { return };
        let operation = &step.operation;
        for (what, is_there) in [
            ("cost", operation.cost.total.is_some()),
            ("parameters", !has_parameters && !operation.parameters.is_empty()),
            ("time_to_first_token", operation.time_to_first_token.is_some()),
        ] {
            if is_there {
                self.lose(Some(step), what, LossReason::NoPlace);
            }
        }
    }

    /// A result as the model was given it, and whether it is an error.
    fn result(&self, given: CallResult<'a>) -> (Value, bool) {
        let step = given.tool.and_then(|tool| tool.of(self.run));
        let failure = given.entry.and_then(|entry| entry.failure.as_ref());
        let failure = failure.or_else(|| step.and_then(|step| step.operation.failure.as_ref()));
        let of_entry = given.entry.map(|entry| &entry.result).filter(|value| !value.is_null());
        let value = of_entry.or_else(|| step.and_then(|step| self.results.get(step)));
        let value = match value {
            Some(Value::Array(blocks)) if blocks.iter().all(|block| block.get("type").is_some()) => blocks.clone().into(),
            Some(Value::Null) | None => failure.map(calls::error_text).unwrap_or_default().into(),
            Some(other) => text_of(other).into(),
        };
        (value, failure.is_some())
    }
}

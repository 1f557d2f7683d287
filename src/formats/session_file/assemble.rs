//! Converts runs to the records of a session.

use serde_json::Value;

use super::records::{Records, ToolOutput, ToolRequest, is_system, text_of};
use crate::document::json::Json;
use crate::document::loss::LossReason;
use crate::formats::format::Assembled;
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Role};
use crate::run::{Run, Step};
use crate::transcript::calls::{self, Results};
use crate::transcript::losses::Losses;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{
    CallResult, Exchange, ExchangeCall, ExchangeKind, ScopeId, StepId, Transcript, chat, content, facts, is_model_call,
};

/// The session of these runs: its main file, and one file per sub-agent.
pub(super) fn assemble<R: Records>(runs: &[Run]) -> Vec<Assembled<Vec<Value>>> {
    let mut main: Option<R> = None;
    let (mut losses, mut others) = (Vec::new(), Vec::new());
    for run in runs.iter().filter(|run| run.has_agent_work()) {
        let (results, transcript, turns) = (Results::of(run), Transcript::of(run), TurnFacts::of(run));
        let called_agents = called_agents(run);
        let records = main.get_or_insert_with(|| R::new(run, None));
        records.begin(run);
        let mut of_run = Losses::new(R::PLACED);
        for (key, _) in facts::of_run_and_agent(run).iter() {
            of_run.add(None, format!("run.{key}"), LossReason::NoPlace);
        }
        of_run.utterance(run, run.question.as_ref(), "the run's question, which no message has");
        of_run.utterance(run, run.answer.as_ref(), "the run's answer, which no model wrote");
        for (scope, _) in transcript.scopes_with_tool() {
            let Some(about) = run.scopes.get(scope) else { continue };
            let new = |losses| ConversationWriter {
                turns: &turns,
                results: &results,
                called_agents: &called_agents,
                losses,
                begins: true,
                replaces: about.is_unrelated,
            };
            match agent_id(run, scope) {
                // A sub-agent gets a separate file.
                Some(agent) => {
                    let mut records = R::new(run, Some(agent));
                    records.begin(run);
                    let mut lost = Losses::new(R::PLACED);
                    new(&mut lost).write(&transcript, scope, &mut records);
                    let (document, lost) = (records.finish(), lost.finish());
                    if document.is_empty() {
                        losses.extend(lost);
                    } else {
                        others.push(Assembled { document, losses: lost });
                    }
                }
                None if about.is_auxiliary => {
                    let span = about.step.and_then(|step| run.steps.get(step)?.span_id);
                    of_run.add(span, "a conversation outside the agents", LossReason::NoPlace);
                }
                None => new(&mut of_run).write(&transcript, scope, records),
            }
        }
        losses.extend(of_run.finish());
    }
    let document = main.map(R::finish).unwrap_or_default();
    match others.first_mut().filter(|_| document.is_empty()) {
        // Only sub-agents have messages.
        Some(first) => first.losses.append(&mut losses),
        None if document.is_empty() => {}
        None => others.insert(0, Assembled { document, losses }),
    }
    others
}

/// The id of a sub-agent; `None` for agents that were not called.
fn agent_id(run: &Run, scope: ScopeId) -> Option<String> {
    let about = run.scopes.get(scope)?;
    about.called_by?;
    let step = about.step.and_then(|step| run.steps.get(step));
    let own = step.and_then(|step| step.operation.agent.id.clone());
    let span = step.and_then(|step| step.span_id);
    own.or_else(|| Some(span.map_or_else(|| format!("a{}", scope.index()), |span| format!("a{span}"))))
}

/// The id of the first sub-agent that each tool called.
fn called_agents(run: &Run) -> HashMap<StepId, String> {
    let mut out = HashMap::default();
    for (id, scope) in run.scopes.enumerate() {
        if let (Some(tool), Some(agent)) = (scope.called_by, agent_id(run, id)) {
            out.entry(tool).or_insert(agent);
        }
    }
    out
}

/// Whether an operation has input and output (for an interrupt: input), of which its record holds only one.
fn has_more_words(run: &Run, results: &Results<'_>, step: &Step) -> bool {
    let is_there = |words: Option<Json<'_>>| words.is_some_and(|words| !words.is_null());
    is_there(content::input(run, step)) && (step.operation.kind == Kind::Interrupt || is_there(content::output(results, step)))
}

/// State while one conversation is written.
struct ConversationWriter<'a, 'l> {
    turns: &'l TurnFacts<'a>,
    results: &'l Results<'a>,
    called_agents: &'l HashMap<StepId, String>,
    losses: &'l mut Losses,
    /// Whether neither the system prompt nor an answer has been written.
    begins: bool,
    /// Whether the first record replaces the conversation.
    replaces: bool,
}

impl<'a> ConversationWriter<'a, '_> {
    fn lose(&mut self, step: Option<&Step>, what: impl Into<String>, reason: LossReason) {
        self.losses.add(step.and_then(|step| step.span_id), what, reason);
    }

    fn write<R: Records>(&mut self, transcript: &Transcript<'a>, scope: ScopeId, records: &mut R) {
        let (run, exchanges) = (self.turns.run, transcript.exchanges(scope));
        // The turn failed before there were messages.
        let is_alone = exchanges.list.is_empty() && scope.index() == 0;
        if let Some(question) = run.question.as_ref().filter(|_| is_alone) {
            let message = Message::text(Role::User, text_of(&question.content));
            records.user(run, question.at, &message, false);
        }
        for exchange in &exchanges.list {
            self.exchange(exchange, records);
        }
        let turns = self.turns;
        for step in exchanges.rest.iter().filter_map(|id| id.of(run)) {
            self.losses.without_turn(turns, step, |key, _| turns.contains(key, step));
        }
    }

    /// Reports the facts of an operation that its records lack. `asked`: the call that it ran.
    fn facts<R: Records>(&mut self, step: &'a Step, asked: Option<&ExchangeCall<'a>>) {
        let (turns, is_model_call) = (self.turns, asked.is_none() && is_model_call(step));
        self.losses.step(turns.run, step, |key, value| match key {
            "tool_call_id" => asked.is_some_and(|asked| value.as_str() == Some(&asked.id)),
            _ => is_model_call && R::contains(key, &step.operation),
        });
        if is_model_call {
            R::unwritten_counts(&step.operation.usage).for_each(|count| self.losses.fact(step.span_id, count));
        }
        if !(is_model_call && R::HAS_STARTS) {
            self.losses.fact(step.span_id, "started_at");
        }
    }

    fn exchange<R: Records>(&mut self, exchange: &Exchange<'a>, records: &mut R) {
        let run = self.turns.run;
        let step = exchange.step.and_then(|step| step.of(run));
        let at = exchange.at;
        if let Some(step) = step.filter(|_| !matches!(exchange.kind, ExchangeKind::Message(_))) {
            self.facts::<R>(step, None);
        }
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
                self.begins = false;
            }
            ExchangeKind::SilentTurn => {
                let calls = self.calls(exchange);
                records.assistant(run, at, None, step, calls);
                self.begins = false;
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
                if let Some(step) = step.filter(|step| has_more_words(run, self.results, step)) {
                    let what = format!("{}: its input or output, except its words", step.operation.kind.name());
                    self.lose(Some(step), what, LossReason::NoPlace);
                }
                if exchange.is_repeated {
                    return;
                }
                let words = step.and_then(|step| content::operation_words(run, self.results, step, is_user));
                let Some(words) = words.filter(|words| !words.trim().is_empty()) else {
                    return;
                };
                let role = if is_user { Role::User } else { Role::Assistant };
                let message = Message::text(role, words.into_owned());
                if is_user {
                    records.user(run, at, &message, false);
                } else {
                    self.lose(step, "an agent's words that no model wrote", LossReason::Coerced);
                    records.assistant(run, at, Some(&message), None, Vec::new());
                }
            }
        }
        for asked in &exchange.calls {
            let tool = asked.tool.filter(|tool| exchange.step != Some(*tool));
            if let Some(tool) = tool.and_then(|tool| tool.of(run)) {
                self.facts::<R>(tool, Some(asked));
            }
            let Some(last) = asked.results.last() else { continue };
            let (value, is_error) = self.result(*last);
            let agent = asked.tool.and_then(|tool| self.called_agents.get(&tool)).cloned();
            records.result(
                run,
                ToolOutput {
                    at: last.at,
                    call_id: asked.id.to_string(),
                    value,
                    is_error,
                    agent,
                },
            );
        }
    }

    fn calls(&mut self, exchange: &Exchange<'a>) -> Vec<ToolRequest> {
        let mut out = Vec::new();
        for asked in &exchange.calls {
            let (arguments, wrapped) = chat::arguments(self.turns.run, asked);
            let span = exchange.step.and_then(|step| step.of(self.turns.run)?.span_id);
            self.losses.call(self.turns, asked, None, wrapped, span);
            out.push(ToolRequest {
                id: asked.id.to_string(),
                name: chat::name(self.turns.run, asked).to_owned(),
                arguments: serde_json::to_value(&arguments).unwrap_or_default(),
            });
        }
        out
    }

    /// A result as passed to the model, and whether it is an error.
    fn result(&self, given: CallResult<'a>) -> (Value, bool) {
        let step = given.tool.and_then(|tool| tool.of(self.turns.run));
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

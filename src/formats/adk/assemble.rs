//! Converts runs to a set of cases.

use std::collections::BTreeMap;

use super::assembly::Assembly;
use super::event::{self, Content};
use super::invocation::{InvocationDraft, details, events, lists};
use super::table::{CASE, INVOCATION, SESSION, SET};
use crate::document::choice::Options;
use crate::document::json::{Json, Object};
use crate::document::loss::LossReason;
use crate::formats::format::Assembled;
use crate::run::Run;
use crate::transcript::calls::Results;
use crate::transcript::ids::Ids;
use crate::transcript::losses::Losses;
use crate::transcript::rounds;
use crate::transcript::rounds::{Round, Rounds};
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{ScopeId, Transcript};
use crate::transcript::{content, facts};

/// Facts that have their own field in a case.
const PLACED: [&str; 7] = ["tool_definitions", "tool_call_id", "model", "usage", "agent", "state", "error"];

/// One set of all runs; empty if the runs contain no messages.
pub(super) fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
    let (mut losses, mut names, mut cases) = (Losses::new(&PLACED), Ids::default(), Vec::new());
    let mut runs = runs.iter().filter(|run| run.has_agent_work()).peekable();
    let Some(first) = runs.peek().copied() else { return Vec::new() };
    for run in runs {
        let transcript = Transcript::of(run);
        let assembly = Assembly {
            run,
            lists: options.is("adk.intermediate", "lists"),
            cases: options.is("adk.subagents", "cases"),
            results: Results::of(run),
            turns: TurnFacts::of(run),
            scopes: transcript.scopes_by_tool(),
            transcript,
            losses: &mut losses,
        };
        assembly.of_run(&mut cases, &mut names);
    }
    if cases.is_empty() {
        return Vec::new();
    }
    let document = SET.given([
        ("eval_set_id", first.trace_id.to_string().into()),
        ("name", first.session_id.as_deref().into()),
        ("eval_cases", cases.into_iter().collect()),
        ("creation_timestamp", first.started_at.seconds_micros().into()),
    ]);
    let losses = losses.finish();
    vec![Assembled { document, losses }]
}

impl<'a> Assembly<'a, '_> {
    fn of_run(mut self, cases: &mut Vec<Object<'a>>, names: &mut Ids<'a>) {
        let count = cases.len();
        let mut own = None;
        let run = self.run;
        let is_auxiliary = |scope: &ScopeId| run.scopes.get(*scope).is_some_and(|scope| scope.is_auxiliary);
        while let Some((_, mut scopes)) = self.scopes.pop_first() {
            // Auxiliary conversations come first, so that the run's answer is the last response.
            scopes.sort_by_key(|scope| !is_auxiliary(scope));
            for scope in scopes {
                let conversation = self.conversation(scope);
                if conversation.is_empty() {
                    continue;
                }
                let trace = self.run.trace_id.to_string();
                let app = self.run.agent.name.as_deref().filter(|name| !name.is_empty());
                let person = self.run.user_id.as_deref();
                for (key, value) in [("app_name", app), ("user_id", person)] {
                    if value.is_none() {
                        self.losses.add(None, format!("session_input.{key}"), LossReason::Synthesized);
                    }
                }
                let session = SESSION.given([
                    ("app_name", app.unwrap_or("unknown").into()),
                    ("user_id", person.unwrap_or("user").into()),
                ]);
                if !is_auxiliary(&scope) {
                    let _ = own.get_or_insert(cases.len());
                }
                cases.push(CASE.given([
                    ("eval_id", names.numbered(trace, ':').into()),
                    ("conversation", conversation.into()),
                    ("session_input", session.into()),
                    ("creation_timestamp", self.run.started_at.seconds_micros().into()),
                ]));
            }
        }
        let about = facts::of_run_and_agent(self.run);
        let placed = ["otel.trace_id", "agent", "user_id", "session_id"];
        for (key, _) in about.iter().filter(|(key, _)| !placed.contains(key)) {
            self.losses.fact(None, format!("run.{key}"));
        }
        let state = self.state();
        if let Some(case) = cases.get_mut(own.unwrap_or(count)) {
            let session = case.get_mut("session_input").and_then(Json::as_object_mut);
            session.into_iter().for_each(|session| session.add_filled("state", state.0.clone()));
            case.add_filled("final_session_state", state.1);
        } else if !state.0.is_empty() || !state.1.is_empty() {
            self.losses.fact(None, "state");
        }
    }

    /// The state before the recorded changes, and after them.
    fn state(&mut self) -> (Object<'a>, Object<'a>) {
        let (mut before, mut after): (Object<'a>, Object<'a>) = Default::default();
        let mut values: BTreeMap<&'a str, Option<Json<'a>>> = BTreeMap::new();
        for step in &self.run.steps {
            let Some(state) = &step.operation.state else { continue };
            let Some(key) = state.key.as_deref() else {
                self.losses
                    .add(step.span_id, "state_change: a change without a key", LossReason::NoPlace);
                continue;
            };
            if !values.contains_key(key)
                && let Some(old) = state.old_value.as_ref().filter(|old| !old.is_null())
            {
                before.add(key, old);
            }
            if state.reason.is_some() {
                self.losses.fact(step.span_id, "state.reason");
            }
            if values.insert(key, state.new_value.as_ref().map(Json::from)).is_some() {
                self.losses.fact(step.span_id, "state between the first change and the last one");
            }
        }
        for (key, value) in values {
            after.add(key, value);
        }
        (before, after)
    }

    fn conversation(&mut self, id: ScopeId) -> Vec<Json<'a>> {
        let run = self.run;
        let Some(scope) = run.scopes.get(id) else {
            return Vec::new();
        };
        let is_first = id.index() == 0;
        let exchanges = self.transcript.exchanges(id);
        let of_rounds = Rounds::of(&exchanges.list);
        self.outside_rounds(id, &of_rounds, &exchanges.rest);
        let mut asked = match scope.called_by {
            Some(_) => content::asked_of(run, scope),
            None => rounds::words_outside(run.question.as_ref().filter(|_| is_first)),
        };
        let mut answer = rounds::words_outside(run.answer.as_ref().filter(|_| is_first));
        let mut list = of_rounds.list;
        if list.is_empty() && asked.is_some() && answer.is_some() {
            list.push(Round::default());
        }
        let mut prompts = Some(self.prompts(id, &of_rounds.prompts));
        let (mut ids, mut calls) = (Ids::default(), Ids::default());
        let last = list.len().saturating_sub(1);
        let mut out = Vec::with_capacity(list.len());
        for (at, round) in list.iter().enumerate() {
            let is_old = round.is_old();
            let mut draft = InvocationDraft::default();
            if let Some(prompts) = prompts.take_if(|prompts| !is_old && !prompts.is_empty()) {
                for (author, prompts) in prompts {
                    draft.agents.entry(author).or_default().0 = prompts;
                }
            }
            let answer_at = round.answer();
            for (at, exchange) in round.done.iter().enumerate() {
                self.exchange(&mut draft, id, exchange, answer_at == Some(at), &mut calls, 0);
            }
            if at == last
                && !is_old
                && let Some(answer) = answer.take()
            {
                self.answer(&mut draft, id, answer);
            }
            let mut parts = Vec::new();
            for (message, exchange) in &round.asked {
                let span = self.span(exchange);
                self.losses.branch(exchange, span);
                parts.extend(event::parts(message, span, self.losses));
            }
            let begin = round.asked.first().map(|(_, exchange)| *exchange).or(round.done.first().copied());
            let step = begin.and_then(|exchange| exchange.step).and_then(|step| step.of(run));
            if parts.is_empty() && !is_old {
                parts.extend(asked.take().map(event::text));
            }
            if parts.is_empty() {
                self.losses
                    .add(step.and_then(|step| step.span_id), "user_content", LossReason::Synthesized);
                parts.push(event::text(""));
            }
            let between = if self.lists { lists(draft.events) } else { events(draft.events) };
            let began = begin.map_or(run.started_at, |exchange| exchange.at);
            let invocation = INVOCATION.given([
                ("invocation_id", ids.numbered(step.map_or("", |step| &step.id), ':').into()),
                ("user_content", Content::users(parts).record().into()),
                ("final_response", draft.answer.map(Content::record).into()),
                ("intermediate_data", between.into()),
                ("creation_timestamp", began.seconds_micros().into()),
                ("app_details", details(draft.agents).into()),
            ]);
            out.push(invocation.into());
        }
        if scope.called_by.is_none() && asked.is_some() {
            self.losses
                .utterance(run, run.question.as_ref(), "the run's question, which no message contains");
        }
        if answer.is_some() {
            self.losses
                .utterance(run, run.answer.as_ref(), "the run's answer, which no model wrote");
        }
        out
    }
}

//! Converts a run to trajectories: assigns conversations to trajectories, and adds the facts around their steps.

use std::collections::BTreeMap;

use super::draft::StepList;
use super::step;
use super::table::{CALL, OBSERVATION, REFERENCE};
use crate::document::choice::Options;
use crate::document::json::{Json, Object};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::hash::HashMap;
use crate::run::{Run, Utterance};
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::conversation_words::ConversationWords;
use crate::transcript::facts;
use crate::transcript::{Exchange, ExchangeKind, NESTING_LIMIT, ScopeId, StepId, Transcript};

/// The run's trajectory, and those of sub-agents that are separate documents.
pub(super) fn of_run<'a>(run: &'a Run, options: &Options) -> Vec<Assembled<Object<'a>>> {
    let transcript = Transcript::of(run);
    let scopes = transcript.scopes_by_tool();
    let mut assembly = Assembly {
        run,
        options,
        results: Results::of(run),
        words: ConversationWords::of(run),
        transcript,
        scopes,
        files: Vec::new(),
    };
    let mut main = StepList::new(options);
    let outside = |utterance: &&Utterance| !utterance.in_conversation;
    let question = run.question.as_ref().filter(outside);
    main.steps
        .extend(question.map(|utterance| step::of_utterance(run, utterance, "user")));
    let own = assembly.scopes.remove(&None).unwrap_or_default();
    let is_auxiliary = |scope: &ScopeId| run.scopes.get(*scope).is_some_and(|scope| scope.is_auxiliary);
    let (auxiliary, own): (Vec<ScopeId>, Vec<ScopeId>) = own.into_iter().partition(is_auxiliary);
    assembly.fill(&mut main, &own, 0);
    assembly.auxiliary_trajectories(&mut main, &auxiliary);
    // Agents whose calling tool is not in the document come last.
    while let Some((_, left)) = assembly.scopes.pop_first() {
        assembly.fill(&mut main, &left, 0);
    }
    // The last step may already contain the answer.
    let is_said = |words: &Utterance| {
        main.steps.last().is_some_and(|last| {
            let is = |key: &str, words: Option<&str>| words.is_some() && last.fields.get(key).is_some_and(|value| value.as_str() == words);
            is("source", Some("agent")) && is("message", words.content.as_str())
        })
    };
    let answer = run.answer.as_ref().filter(outside).filter(|answer| !is_said(answer));
    main.steps
        .extend(answer.map(|utterance| step::of_utterance(run, utterance, "agent")));
    let mut about = facts::of_run(run);
    about.extend(std::mem::take(&mut main.extra));
    main.extra = about;
    let outermost = own.first().or(auxiliary.first()).copied();
    let first = main.finish(run, outermost, run.trace_id.to_string());
    let files = assembly.files.into_iter().flatten();
    first.ok().into_iter().chain(files).collect()
}

/// State shared by all trajectories of a run.
pub(super) struct Assembly<'a, 'o> {
    pub(super) run: &'a Run,
    options: &'o Options,
    pub(super) results: Results<'a>,
    words: ConversationWords<'a>,
    transcript: Transcript<'a>,
    /// Conversations not yet in a trajectory, by the tool that called the agent.
    scopes: BTreeMap<Option<StepId>, Vec<ScopeId>>,
    /// Documents of sub-agents; `None` while one is written.
    files: Vec<Option<Assembled<Object<'a>>>>,
}

impl<'a> Assembly<'a, '_> {
    fn fill(&mut self, draft: &mut StepList<'a>, scopes: &[ScopeId], depth: usize) {
        for exchanges in self.transcript.exchanges_of(scopes) {
            for exchange in &exchanges.list {
                self.exchange(draft, exchange, depth);
            }
            for id in exchanges.rest {
                self.operation(draft, id);
            }
        }
    }

    /// Adds an exchange as one step. An operation that only repeats others adds none.
    fn exchange(&mut self, draft: &mut StepList<'a>, exchange: &Exchange<'a>, depth: usize) {
        let (run, own) = (self.run, exchange.step.and_then(|step| step.of(self.run)));
        if let (Some(own), false) = (own, matches!(exchange.kind, ExchangeKind::Message(_))) {
            draft.spend(own.operation.cost.total.filter(|cost| cost.is_finite()));
            for name in draft.tools.add(&own.operation.tool_definitions) {
                let what = format!("another definition of {name}");
                draft.losses.push(Loss::new(own.span_id, what, LossReason::Ambiguous));
            }
        }
        let step = step::of_exchange(run, &self.results, draft, exchange);
        let Some(mut step) = step.filter(|_| !exchange.is_repeated) else {
            exchange.step.into_iter().for_each(|id| self.operation(draft, id));
            return;
        };
        let (mut written, mut inline) = (Vec::new(), Vec::new());
        for asked in exchange.calls.iter() {
            if !asked.is_recorded() && chat::known_name(run, asked).is_none() {
                let what = format!("the result of {}: neither its call nor its tool was recorded", asked.id);
                draft.losses.push(Loss::new(None, what, LossReason::NoPlace));
                let before = draft.steps.last_mut().map_or(&mut draft.extra, |step| &mut step.extra);
                before.push("results_without_call", step::lone_result(run, &self.results, asked));
                continue;
            }
            let id = draft.ids.numbered(asked.id.clone(), ':');
            let (arguments, wrapped) = chat::arguments(run, asked);
            let span = own.and_then(|own| own.span_id);
            for (happened, what, reason) in [
                (id != asked.id, "tool_call_id", LossReason::Coerced),
                (asked.id_is_derived && asked.call.is_some(), "tool_call_id", LossReason::Synthesized),
                (wrapped, "arguments", LossReason::Coerced),
                (!asked.is_recorded(), "function_name", LossReason::Synthesized),
                (
                    chat::any_shows_media(run, &self.results, asked),
                    "result: a part that is no text",
                    LossReason::Coerced,
                ),
            ] {
                if happened {
                    draft
                        .losses
                        .push(Loss::new(span, format!("tool_calls[{}].{what}", asked.id), reason));
                }
            }
            let name = chat::name(run, asked);
            let tool = asked.tool.and_then(|tool| tool.of(run));
            // A separate operation has all its facts on the step.
            let about = tool.filter(|_| asked.call.is_some() || asked.tool != exchange.step);
            let call = CALL.given([
                ("tool_call_id", id.clone().into()),
                ("function_name", name.into()),
                ("arguments", arguments.into()),
                ("extra", about.map(|tool| step::extra(run, tool)).into()),
            ]);
            step.fields.push("tool_calls", call);
            if let Some(mut result) = step::result(run, &self.results, asked, id) {
                if let Some(scopes) = asked.tool.and_then(|tool| self.called(tool, depth)) {
                    let mode = self.options.get("atif.subagents");
                    if mode == Some("inline") {
                        inline.push(scopes);
                    } else {
                        for one in side_by_side(run, &scopes) {
                            if let Some(reference) = self.subagent(draft, &one, mode == Some("files"), depth) {
                                result.push("subagent_trajectory_ref", reference);
                            }
                        }
                    }
                }
                written.push(Json::from(result));
            }
        }
        if !written.is_empty() {
            step.fields.add("observation", OBSERVATION.given([("results", written.into())]));
        }
        if exchange.kind == ExchangeKind::Unasked && !step.fields.contains_key("tool_calls") {
            return;
        }
        draft.steps.push(step);
        for scopes in inline {
            let first = draft.steps.len();
            self.fill(draft, &scopes, depth + 1);
            let agent = scopes.first().and_then(|scope| run.scopes.get(*scope)?.agent.as_ref());
            for step in draft.steps.iter_mut().skip(first) {
                agent.into_iter().for_each(|agent| step.extra.insert_new("agent", agent));
            }
        }
    }

    /// Adds conversations of judges and guardrails, as trajectories that no result refers to.
    fn auxiliary_trajectories(&mut self, draft: &mut StepList<'a>, auxiliary: &[ScopeId]) {
        let mode = self.options.get("atif.subagents");
        for scope in auxiliary {
            let one = std::slice::from_ref(scope);
            // Without other steps they are the trajectory itself.
            if mode == Some("inline") || draft.steps.is_empty() {
                self.fill(draft, one, 0);
            } else {
                let _ = self.subagent(draft, one, mode == Some("files"), 0);
            }
        }
    }

    /// Takes the conversations of the agents that a tool called.
    fn called(&mut self, tool: StepId, depth: usize) -> Option<Vec<ScopeId>> {
        (depth < NESTING_LIMIT).then(|| self.scopes.remove(&Some(tool))).flatten()
    }

    /// Writes a sub-agent's trajectory; returns a reference to it.
    fn subagent(&mut self, above: &mut StepList<'a>, scopes: &[ScopeId], as_file: bool, depth: usize) -> Option<Object<'a>> {
        let run = self.run;
        let first = scopes.first()?;
        let span = run.scopes.get(*first).and_then(|scope| run.steps.get(scope.step?)?.span_id);
        let id = match span {
            Some(span) => format!("{}-{span}", run.trace_id),
            None => format!("{}-{}", run.trace_id, first.index()),
        };
        let place = self.files.len();
        if as_file {
            self.files.push(None);
        }
        let mut draft = StepList::new(self.options);
        self.fill(&mut draft, scopes, depth + 1);
        above.spend(draft.cost);
        let written = match draft.finish(run, Some(*first), id.clone()) {
            Ok(written) => written,
            Err(silent) => {
                self.files.truncate(place);
                above.take_silent(*silent);
                return None;
            }
        };
        if let Some(slot) = self.files.get_mut(place).filter(|_| as_file) {
            *slot = Some(written);
            let path = format!("{}.{}.atif.json", run.trace_id, place + 2);
            return Some(REFERENCE.given([("trajectory_id", id.into()), ("trajectory_path", path.into())]));
        }
        above.losses.extend(written.losses);
        above.subagents.push(written.document);
        Some(REFERENCE.given([("trajectory_id", id.into())]))
    }

    /// Lists an operation that has no step.
    fn operation(&self, draft: &mut StepList<'a>, id: StepId) {
        let Some(step) = id.of(self.run) else { return };
        if let Some(content) = self.words.listed(self.run, &self.results, step) {
            let mut shown = facts::identity(step);
            shown.extend(content);
            draft.extra.push("operations", shown);
        }
    }
}

/// Groups the conversations that a tool called by agent: agents with separate spans, called in parallel, get separate
/// trajectories. Conversations nested in an agent stay with it.
fn side_by_side(run: &Run, scopes: &[ScopeId]) -> Vec<Vec<ScopeId>> {
    let mut out: Vec<Vec<ScopeId>> = Vec::new();
    let mut places: HashMap<ScopeId, usize> = HashMap::default();
    for scope in scopes {
        let about = run.scopes.get(*scope);
        let is_agent = about.is_some_and(|scope| scope.step.is_some());
        let within = about.and_then(|scope| places.get(&scope.parent?)).copied();
        let place = within
            .or_else(|| out.len().checked_sub(1).filter(|_| !is_agent))
            .unwrap_or(out.len());
        match out.get_mut(place) {
            Some(group) => group.push(*scope),
            None => out.push(vec![*scope]),
        }
        let _ = places.insert(*scope, place);
    }
    out
}

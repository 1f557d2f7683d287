//! Converts runs to Invariant documents.

use std::collections::{BTreeMap, BTreeSet};

use super::list::{EventDraft, List};
use super::offered::{TOOL, TOOLS};
use super::run_facts::RunFacts;
use super::scopes;
use super::table::{ANNOTATION, PUSH, ROW};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::run::{IdVec, Run, ScopeId, StepId, Utterance};
use crate::transcript::NESTING_LIMIT;
use crate::transcript::facts;

/// Puts all runs into the container given by the options.
pub(super) fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Json<'a>>> {
    let lists = runs
        .iter()
        .filter(|run| run.has_agent_work())
        .flat_map(|run| Assembly::of(run, &RunFacts::of(run), options).finish());
    match options.get("invariant.container") {
        Some("push") => push(lists.collect(), options).into_iter().collect(),
        Some("jsonl") => lists.map(Finished::row).collect(),
        _ => lists.map(Finished::array).collect(),
    }
}

/// A finished list of events, ready for a container.
struct Finished<'a> {
    events: Vec<EventDraft<'a>>,
    tools: Option<Object<'a>>,
    annotations: Vec<Json<'a>>,
    metadata: Object<'a>,
    losses: Vec<Loss>,
}

impl<'a> Finished<'a> {
    fn events(events: Vec<EventDraft<'a>>, tools: Option<Object<'a>>) -> Json<'a> {
        tools.into_iter().chain(events.into_iter().map(EventDraft::write)).collect()
    }

    fn array(mut self) -> Assembled<Json<'a>> {
        for (key, _) in self.metadata.iter() {
            self.losses.push(Loss::new(None, format!("metadata.{key}"), LossReason::NoPlace));
        }
        Assembled {
            document: Self::events(self.events, self.tools),
            losses: self.losses,
        }
    }

    fn row(self) -> Assembled<Json<'a>> {
        let row = ROW.given([
            ("messages", Self::events(self.events, self.tools)),
            ("annotations", self.annotations.into()),
            ("metadata", self.metadata.into()),
        ]);
        Assembled {
            document: row.into(),
            losses: self.losses,
        }
    }
}

fn push<'a>(lists: Vec<Finished<'a>>, options: &Options) -> Option<Assembled<Json<'a>>> {
    let (mut messages, mut annotations, mut metadata, mut losses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        messages.push(Finished::events(list.events, list.tools));
        annotations.push(Json::List(list.annotations));
        metadata.push(Json::from(list.metadata));
        losses.extend(list.losses);
    }
    let is_judged = annotations.iter().any(|list| !list.is_empty());
    let is_empty = messages.is_empty();
    let document = PUSH.given([
        ("messages", messages.into()),
        ("annotations", is_judged.then_some(annotations).into()),
        ("dataset", options.get("invariant.dataset").map(str::to_owned).into()),
        ("metadata", metadata.into()),
    ]);
    (!is_empty).then_some(Assembled {
        document: document.into(),
        losses,
    })
}

/// The lists of one run.
struct Assembly<'a, 'o> {
    run: &'a Run,
    options: &'o Options,
    facts: &'o RunFacts<'a>,
    scopes: BTreeMap<Option<StepId>, Vec<ScopeId>>,
    /// Sub-agents' lists that become separate documents.
    own: Vec<(List<'a, 'o>, Object<'a>)>,
    main: List<'a, 'o>,
}

impl<'a, 'o> Assembly<'a, 'o> {
    fn of(run: &'a Run, facts: &'o RunFacts<'a>, options: &'o Options) -> Self {
        let mut this = Self {
            run,
            options,
            facts,
            scopes: facts.lists(),
            own: Vec::new(),
            main: List::new(run, facts, options),
        };
        let mut main = List::new(run, facts, options);
        let only_outside = |utterance: &&Utterance| !utterance.in_conversation;
        if let Some(utterance) = run.question.as_ref().filter(only_outside) {
            main.words("user", Json::from(&utterance.content), utterance.step, utterance.at);
        }
        for scope in this.scopes.remove(&None).unwrap_or_default() {
            scopes::write(run, facts, scope, &mut main);
        }
        this.call_agents(&mut main, 0);
        // Agents whose calling tool is in no event come last.
        while let Some((_, left)) = this.scopes.pop_first() {
            for scope in left {
                scopes::write(run, facts, scope, &mut main);
            }
            this.call_agents(&mut main, 0);
        }
        if let Some(utterance) = run.answer.as_ref().filter(only_outside) {
            main.words("assistant", Json::from(&utterance.content), utterance.step, utterance.at);
        }
        this.main = main;
        this
    }

    /// Puts the turns of called agents into the outputs of the tools that called them.
    fn call_agents(&mut self, list: &mut List<'a, 'o>, depth: usize) {
        if depth == NESTING_LIMIT {
            return;
        }
        for at in 0..list.drafts.len() {
            let Some(draft) = list.drafts.get(at).filter(|draft| draft.has_role("tool")) else {
                continue;
            };
            let called: Vec<(StepId, Vec<ScopeId>)> = draft
                .steps
                .iter()
                .filter_map(|tool| Some((*tool, self.scopes.remove(&Some(*tool))?)))
                .collect();
            for (_, scopes) in called {
                let mut inner = List::new(self.run, self.facts, self.options);
                for scope in &scopes {
                    scopes::write(self.run, self.facts, *scope, &mut inner);
                }
                self.call_agents(&mut inner, depth + 1);
                if inner.drafts.is_empty() {
                    list.settle_silent(inner);
                    continue;
                }
                let mut about = self.about(scopes.first().copied());
                if self.options.is("invariant.subagents", "own") {
                    self.own.push((inner, about.clone()));
                } else {
                    let (drafts, losses) = inner.finish();
                    list.losses.extend(losses);
                    about.insert("events", Finished::events(drafts, None));
                }
                if let Some(draft) = list.drafts.get_mut(at) {
                    draft.metadata.insert("subagent", about);
                }
            }
        }
    }

    fn about(&self, scope: Option<ScopeId>) -> Object<'a> {
        let scope = scope.and_then(|scope| self.run.scopes.get(scope));
        let step = scope.and_then(|scope| self.run.steps.get(scope.step?));
        let span_id = step.and_then(|step| step.span_id).map(|id| id.to_string());
        Object::from([
            ("agent", scope.and_then(|scope| scope.agent.as_ref()).into()),
            ("span_id", span_id.into()),
        ])
    }

    fn finish(self) -> Vec<Finished<'a>> {
        let Self {
            run, options, own, main, ..
        } = self;
        let metadata = facts::of_run_and_agent(run);
        let mut lists = vec![(main, metadata.clone())];
        for (list, about) in own {
            let mut metadata = metadata.clone();
            metadata.insert("subagent", about);
            lists.push((list, metadata));
        }
        let mut out: Vec<Finished<'a>> = lists
            .into_iter()
            .map(|(list, metadata)| finish(run, options, list, metadata))
            .collect();
        if matches!(options.get("invariant.container"), Some("push" | "jsonl")) {
            annotate(run, &mut out);
        }
        out.retain(|list| !list.events.is_empty());
        out
    }
}

/// Finishes a list.
fn finish<'a>(run: &'a Run, options: &Options, list: List<'a, '_>, metadata: Object<'a>) -> Finished<'a> {
    let (events, losses) = list.finish();
    let has_tools = options.is("invariant.tools", "event");
    Finished {
        tools: has_tools.then(|| offered(run, &events)).flatten(),
        events,
        annotations: Vec::new(),
        metadata,
        losses,
    }
}

/// Turns evaluations into annotations, if the container has a place for them.
fn annotate<'a>(run: &'a Run, lists: &mut [Finished<'a>]) {
    let places = places(run, lists);
    for (index, step) in run.steps.enumerate() {
        let judged = step.operation.evaluations.iter().map(facts::evaluation);
        let reward = step
            .operation
            .training
            .reward
            .map(|reward| Object::from([("name", "reward".into()), ("score", reward.into())]));
        for judgement in judged.chain(reward) {
            let place = places.get(index).copied().flatten();
            if let Some((list, at)) = place.and_then(|(list, at)| Some((lists.get_mut(list)?, at))) {
                let at = at + usize::from(list.tools.is_some());
                list.annotations
                    .push(annotation(judgement, at, step.span_id.map(|id| id.to_string())));
            }
        }
    }
    for draft in lists.iter_mut().flat_map(|list| &mut list.events) {
        draft.metadata.remove("evaluations");
    }
}

/// For each step the last event that contains it, with its list; else the event of the nearest enclosing step; else the last event of
/// the first list, where evaluations of the whole run go.
fn places(run: &Run, lists: &[Finished<'_>]) -> IdVec<StepId, Option<(usize, usize)>> {
    let mut events: IdVec<StepId, Option<(usize, usize)>> = IdVec::filled(None, run.steps.len());
    for (number, list) in lists.iter().enumerate() {
        for (place, draft) in list.events.iter().enumerate() {
            for step in &draft.steps {
                events.set(*step, Some((number, place)));
            }
        }
    }
    let last = lists.first().and_then(|list| Some((0, list.events.len().checked_sub(1)?)));
    let mut places: IdVec<StepId, Option<(usize, usize)>> = IdVec::with_capacity(run.steps.len());
    for ((id, step), events) in run.steps.enumerate().zip(events) {
        let above = step.parent.filter(|above| *above < id);
        let place = events.or_else(|| above.map_or(last, |above| places.known(above)));
        places.push(place);
    }
    places
}

fn annotation(mut facts: Object<'_>, at: usize, span_id: Option<String>) -> Json<'_> {
    let word = |key: &str| facts.get(key).map(|value| value.into_owned().into_text());
    let mut content = word("name").map_or_else(|| "evaluation".to_owned(), Text::into_owned);
    for value in ["score", "label"].into_iter().filter_map(word) {
        content.push_str(": ");
        content.push_str(&value);
    }
    if let Some(explanation) = word("explanation") {
        content.push_str(". ");
        content.push_str(&explanation);
    }
    facts.insert_filled("span_id", span_id);
    let annotation = ANNOTATION.given([
        ("content", content.into()),
        ("address", format!("messages[{at}]").into()),
        ("extra_metadata", facts.into()),
    ]);
    annotation.into()
}

/// Every tool offered to a model whose turn is in this list, once.
fn offered<'a>(run: &'a Run, events: &[EventDraft<'_>]) -> Option<Object<'a>> {
    let mut seen = BTreeSet::new();
    let mut tools = Vec::new();
    let mut steps: Vec<StepId> = events.iter().flat_map(|draft| &draft.steps).copied().collect();
    steps.sort_unstable();
    let steps = steps.into_iter().filter_map(|step| run.steps.get(step));
    for tool in steps.flat_map(|step| &step.operation.tool_definitions) {
        if seen.insert(tool.name.as_str()) {
            let schema = tool.parameters.as_ref().filter(|schema| schema.is_object()).map(Json::from);
            let shown = TOOL.given([
                ("name", (&tool.name).into()),
                ("description", tool.description.as_ref().into()),
                (
                    "inputSchema",
                    schema.unwrap_or_else(|| Object::from([("type", "object".into())]).into()),
                ),
            ]);
            tools.push(Json::from(shown));
        }
    }
    (!tools.is_empty()).then(|| TOOLS.given([("tools", tools.into())]))
}

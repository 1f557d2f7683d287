//! Converts runs to Reflex documents.

use std::collections::BTreeMap;

use super::prompts::{self, Prompts};
use super::table::NODE;
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::hash::HashMap;
use crate::operation::{Field, Kind, Operation};
use crate::run::{IdVec, Observed, Run, ScopeId, Step, StepId};
use crate::span::UnixNanos;
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::ids::Ids;
use crate::transcript::order::Placed;
use crate::transcript::step_record::{StepRecord, take};
use crate::transcript::{content, facts, is_model_call, order};

/// Converts one run to one document.
pub(super) fn assemble<'a>(run: &'a Run, options: &Options) -> Assembled<Object<'a>> {
    let mut losses = Vec::new();
    let results = Results::of(run);
    let judging = judging(run);
    let kept = kept(run, &judging);
    let ids = ids(run);
    let mut prompts = Prompts::default();
    let prompt_ids: IdVec<StepId, Option<Text<'a>>> = run.steps.iter().map(|step| prompts.of(step, options)).collect();
    let places: Vec<Placed> = order::by_start(run, |step| kept.is_set(step))
        .into_iter()
        .filter(|place| kept.is_set(place.step))
        .collect();
    let prompts: Vec<_> = places
        .iter()
        .map(|place| (place.step, prompt_ids.get(place.step).cloned().flatten()))
        .collect();
    let target = prompts::target(run, &prompts, &ids, options, &mut losses);
    let turns = turn_numbers(run);
    let parents = order::around(run, &kept, false);
    let mut nodes: Vec<Json<'a>> = Vec::with_capacity(places.len());
    let mut rounded = false;
    for (place, (_, prompt)) in places.into_iter().zip(prompts) {
        let Some(step) = run.steps.get(place.step) else { continue };
        let mut record = StepRecord {
            run,
            results: &results,
            step,
            facts: facts::all(run, step),
            list: "nodes",
            losses: &mut losses,
        };
        let id = ids.get(place.step).cloned().unwrap_or_default();
        let output = facts_of_node(&mut record, &ids);
        if place.moved {
            record.facts.insert("recorded_started_at", step.started_at.rfc3339());
            let what = format!("nodes[{id}].started_at");
            record.losses.push(Loss::new(step.span_id, what, LossReason::Coerced));
        }
        let is_marked = step.operation.training.optimize == Some(true) && options.get("reflex.optimize").is_none();
        if is_marked && prompt != target {
            record.facts.insert("optimize", true);
        }
        rounded |= [Some(place.started_at), step.ended_at].into_iter().flatten().any(is_rounded);
        if step.observed == Observed::Messages {
            let what = format!("nodes[{id}]");
            record.losses.push(Loss::new(run.span_of(step), what, LossReason::Synthesized));
        }
        let ended_at = step.ended_at.map(|end| end.max(place.started_at));
        let optimize = target.is_some() && prompt == target;
        let parent = parents.known(place.step).and_then(|parent| ids.get(parent).cloned());
        let metadata = std::mem::take(&mut record.facts);
        let mut node = Object::with_capacity(NODE.fields.len());
        let own = [
            ("name", Some(name(run, step).into())),
            ("input", input(run, step)),
            ("output", output),
            ("id", Some(id.into())),
            ("parent_id", parent.map(Json::from)),
            ("kind", Some(kind(&step.operation).into())),
            ("prompt_id", prompt.map(Json::from)),
            ("step", turns.known(place.step).map(Json::from)),
            ("optimize", Some(optimize.into())),
            ("tokens", tokens(step).map(Json::from)),
            ("started_at", step.known_start().and_then(|_| seconds(place.started_at))),
            ("ended_at", ended_at.filter(|_| step.known_end().is_some()).and_then(seconds)),
            ("metadata", Some(metadata.into())),
        ];
        record.write(NODE.fields, own, &mut node);
        nodes.push(node.into());
    }
    let document = Object::from([
        ("nodes", nodes.into()),
        ("ideal", ideal(run, &mut losses).map_or(Json::Null, Json::from)),
        ("metadata", trace_metadata(run, &results, &ids, &judging).into()),
    ]);
    if rounded {
        let what = "nodes[].started_at, nodes[].ended_at: nanoseconds";
        losses.push(Loss::new(None, what, LossReason::Coerced));
    }
    Assembled { document, losses }
}

/// Marks evaluators and the steps inside them, which know the score.
fn judging(run: &Run) -> IdVec<StepId, bool> {
    let mut judging = IdVec::with_capacity(run.steps.len());
    for step in &run.steps {
        let inside = step.parent.is_some_and(|above| judging.is_set(above));
        judging.push(inside || step.operation.kind == Kind::Evaluator);
    }
    judging
}

/// Marks the steps that become nodes: all but evaluators, and steps without agent facts that have no kept child.
fn kept(run: &Run, judging: &IdVec<StepId, bool>) -> IdVec<StepId, bool> {
    let is_node = |(step, judging): (&Step, &bool)| !judging && !matches!(step.operation.kind, Kind::Plain | Kind::Detail);
    let mut kept: IdVec<StepId, bool> = run.steps.iter().zip(judging).map(is_node).collect();
    for (id, step) in run.steps.enumerate().rev() {
        if kept.is_set(id)
            && let Some(above) = step.parent.filter(|above| *above < id)
        {
            kept.set(above, true);
        }
    }
    kept
}

/// The scope whose turns are counted together: unrelated calls count with those of their agent.
fn counted_in(run: &Run, scope: ScopeId) -> ScopeId {
    let around = run
        .scopes
        .get(scope)
        .filter(|scope| scope.is_unrelated)
        .and_then(|scope| scope.parent);
    around.unwrap_or(scope)
}

/// The number of each step's turn: its own, else that of its model call.
fn turn_numbers(run: &Run) -> IdVec<StepId, Option<i64>> {
    let mut named: HashMap<ScopeId, BTreeMap<u32, i64>> = HashMap::default();
    for step in run.steps.iter().filter(|step| is_model_call(step)) {
        if let (Some(turn), Some(number)) = (step.turn, step.operation.training.step) {
            named.entry(counted_in(run, step.scope)).or_default().entry(turn).or_insert(number);
        }
    }
    let of_caller = |step: &Step| run.steps.get(step.dispatched_by?)?.operation.training.step;
    run.steps
        .iter()
        .map(|step| {
            let own = step.operation.training.step.or_else(|| of_caller(step));
            // Continue counting from the last recorded number.
            let of_turn = || {
                let turn = step.turn?;
                let (before, number) = named.get(&counted_in(run, step.scope))?.range(..=turn).next_back()?;
                number.checked_add(i64::from(turn - before))
            };
            own.or_else(of_turn).or(step.turn.map(i64::from))
        })
        .collect()
}

fn ids(run: &Run) -> IdVec<StepId, Text<'_>> {
    let mut ids = Ids::default();
    // Reserve the empty id, because the reader replaces it.
    ids.numbered("", ':');
    run.steps.iter().map(|step| ids.numbered(&step.id, ':')).collect()
}

fn kind(operation: &Operation) -> &'static str {
    match operation.kind {
        Kind::Llm | Kind::Decision => "reason",
        Kind::Tool => "tool",
        Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => "retrieve",
        Kind::Agent | Kind::Handoff => "agent",
        _ => "other",
    }
}

fn name<'a>(run: &'a Run, step: &'a Step) -> &'a str {
    match step.operation.kind {
        Kind::Tool => calls::tool_name(run, step),
        _ => &step.operation.name,
    }
}

/// Prompt and completion tokens of a model call.
fn tokens(step: &Step) -> Option<u64> {
    is_model_call(step).then(|| step.operation.usage.sum()).flatten()
}

fn input<'a>(run: &'a Run, step: &'a Step) -> Option<Json<'a>> {
    let asked = || {
        let question = run.question.as_ref().filter(|question| !question.in_conversation)?;
        let here = run.steps.get(question.step).is_some_and(|asked| asked.id == step.id);
        here.then(|| Json::from(&question.content))
    };
    content::input(run, step).or_else(asked)
}

/// The output of a node; its facts become its metadata.
fn facts_of_node<'a>(record: &mut StepRecord<'a, '_>, ids: &IdVec<StepId, Text<'a>>) -> Option<Json<'a>> {
    let (run, step, operation) = (record.run, record.step, &record.step.operation);
    let said = is_model_call(step).then(|| record.answer()).flatten();
    let output = said.map(|(_, chat)| chat).or_else(|| content::output(record.results, step));
    let metadata = &mut record.facts;
    let input = input(run, step);
    let placed = [
        ("memory", "query"),
        ("memory", "results"),
        ("memory", "data"),
        ("interrupt", "prompt"),
        ("interrupt", "response"),
    ];
    for (group, key) in placed {
        if let Some(Json::Object(map)) = metadata.get_mut(group)
            && let Some(value) = map.get(key)
            && (input.as_ref() == Some(&*value) || output.as_ref() == Some(&*value))
        {
            map.remove(key);
        }
    }
    metadata.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    // Facts that a grader must not see are written with the trace.
    for key in ["optimize", "step", "ideal", "reward", "evaluations"] {
        metadata.remove(key);
    }
    let tokens = tokens(step);
    if tokens.is_some() && operation.usage.total.is_none_or(|total| Some(total) == tokens) {
        take(metadata, Field::UsageTotal);
    }
    if name(run, step) != operation.name {
        metadata.insert("span_name", operation.name.as_str());
    }
    if operation.kind == Kind::Tool {
        if let Some(id) = calls::call_id(run, step) {
            metadata.insert("tool_call_id", id);
        }
        if let Some(caller) = step.dispatched_by.and_then(|caller| ids.get(caller)) {
            metadata.insert("dispatched_by", caller.clone());
        }
    }
    if matches!(operation.kind, Kind::Guardrail | Kind::Evaluator | Kind::Unknown | Kind::Rerank) {
        metadata.insert("kind", operation.kind.name());
    }
    if let Some(failure) = &operation.failure {
        metadata.remove("error");
        for (key, value) in [("error_code", &failure.error_type), ("stacktrace", &failure.stacktrace)] {
            if let Some(text) = value.as_deref().filter(|text| !text.is_empty()) {
                metadata.insert(key, text);
            }
        }
    }
    output
}

/// A time in seconds; 0 means that the span had none.
fn seconds(time: UnixNanos) -> Option<Json<'static>> {
    (time.0 > 0).then(|| time.seconds().into())
}

/// Whether a time has digits that seconds in `f64` cannot hold: anything below microseconds.
fn is_rounded(time: UnixNanos) -> bool {
    !time.0.is_multiple_of(1_000)
}

/// The reference output: the first one that an operation records.
fn ideal<'a>(run: &'a Run, losses: &mut Vec<Loss>) -> Option<Text<'a>> {
    let root = run.root.and_then(|root| run.steps.get(root));
    let mut ideals = root
        .into_iter()
        .chain(&run.steps)
        .filter_map(|step| Some((step, step.operation.training.ideal.as_ref()?)))
        .filter(|(_, ideal)| !ideal.is_null());
    let (step, first) = ideals.next()?;
    if !first.is_string() {
        losses.push(Loss::new(step.span_id, "ideal", LossReason::Coerced));
    }
    for (step, other) in ideals {
        if other != first {
            losses.push(Loss::new(step.span_id, "ideal", LossReason::Ambiguous));
        }
    }
    Some(content::text(first))
}

fn trace_metadata<'a>(run: &'a Run, results: &Results<'a>, ids: &IdVec<StepId, Text<'a>>, judging: &IdVec<StepId, bool>) -> Object<'a> {
    let mut metadata = facts::of_run_and_agent(run);
    for ((id, step), judges) in run.steps.enumerate().zip(judging) {
        if *judges && !matches!(step.operation.kind, Kind::Plain | Kind::Detail) {
            let mut entry = facts::identity(step);
            entry.extend(facts::in_and_out(run, results, step));
            entry.extend(facts::all(run, step));
            metadata.push("evaluators", entry);
            continue;
        }
        let node = ids.get(id).cloned().unwrap_or_default();
        if let Some(reward) = step.operation.training.reward {
            let entry = Object::from([("node", node.clone().into()), ("reward", reward.into())]);
            metadata.push("rewards", entry);
        }
        for judged in &step.operation.evaluations {
            let mut entry = Object::from([("node", node.clone().into())]);
            entry.extend(facts::evaluation(judged));
            metadata.push("evaluations", entry);
        }
    }
    metadata
}

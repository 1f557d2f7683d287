//! Converts runs to ContextForge documents.

use serde_json::Value;

use super::input_output;
use super::step::{self, Side, StepDraft, StepParts};
use super::table::group;
use super::words::words;
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::source::Otherwise;
use crate::formats::format::Assembled;
use crate::hash::HashMap;
use crate::operation::{Field, Kind};
use crate::run::{IdVec, Run, ScopeId, Step, StepId, Utterance};
use crate::span::{TraceId, UnixNanos, hex};
use crate::transcript::calls::Results;
use crate::transcript::fact_groups::{self, FactGroup};
use crate::transcript::ids::Ids;
use crate::transcript::step_record::StepRecord;
use crate::transcript::{facts, order};

/// Converts one run to one document.
pub(super) fn assemble<'a>(run: &'a Run, options: &Options) -> Assembled<Object<'a>> {
    let mut losses = Vec::new();
    let results = Results::of(run);
    let mut make = |step: &'a Step| {
        let record = StepRecord {
            run,
            results: &results,
            step,
            facts: facts::all(run, step),
            list: "steps",
            losses: &mut losses,
        };
        step::make(record, options)
    };
    let mut made: IdVec<StepId, Option<StepParts<'a>>> = run.steps.iter().map(&mut make).collect();
    let shown: IdVec<StepId, bool> = made.iter().map(Option::is_some).collect();
    let parents = parents(run, &shown);
    let metadata = run_metadata(run, &results, &mut made, &parents);
    hand_prompts_on(run, &mut made);

    let mut list = Vec::new();
    let mut ids = Ids::default();
    let step_ids: IdVec<StepId, Text<'a>> = run.steps.iter().map(|step| ids.numbered(step.id.as_str(), ':')).collect();
    let mut starts: HashMap<StepId, UnixNanos> = HashMap::default();
    for place in order::by_start(run, |step| shown.is_set(step)) {
        starts.insert(place.step, place.started_at);
        let Some(step) = run.steps.get(place.step) else { continue };
        let Some(mut made) = made.get_mut(place.step).and_then(Option::take) else {
            continue;
        };
        if place.moved {
            made.metadata.insert("recorded_timestamp", step.started_at.rfc3339());
            let what = format!("steps[{}].timestamp", step.id);
            losses.push(Loss::new(step.span_id, what, LossReason::Coerced));
        }
        let parent = parents.known(place.step).and_then(|parent| step_ids.get(parent).cloned());
        let id = step_ids.get(place.step).cloned().unwrap_or_default();
        list.push(StepDraft::new(
            place.started_at,
            (place.step.index(), Side::Itself),
            id,
            parent,
            made,
        ));
    }
    let first = list.iter().map(|draft| draft.at).min();
    list.extend(input_output::user_inputs(run, first, &starts, &mut ids, &mut losses));
    list.extend(input_output::final_output(run, &mut ids));
    list.sort_by_key(|draft| (draft.at, draft.place));

    let mut document = Object::with_capacity(7);
    document.add("run_id", run_id(run.trace_id));
    document.add("started_at", run.started_at.rfc3339());
    if let Some(end) = run.ended_at {
        document.add("ended_at", end.max(run.started_at).rfc3339());
    }
    document.add("agent_info", agent_info(run, &mut losses));
    document.add_filled("task_info", task_info(run));
    document.add("steps", list.into_iter().map(|draft| draft.step).collect::<Json<'_>>());
    document.add("metadata", metadata);
    Assembled { document, losses }
}

/// Formats the trace id as a UUID (version 4, variant 10).
fn run_id(trace: TraceId) -> String {
    let mut bytes = *trace.bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut digits = hex(&bytes);
    for place in [20, 16, 12, 8] {
        digits.insert(place, '-');
    }
    digits
}

/// The parent of each step: a tool's model call, else the nearest ancestor with a step. For an agent, the ancestor is the
/// call that made it run.
fn parents(run: &Run, shown: &IdVec<StepId, bool>) -> IdVec<StepId, Option<StepId>> {
    let dispatcher = |(at, step): (StepId, &Step)| step.dispatched_by.filter(|caller| *caller < at && shown.is_set(*caller));
    let dispatchers = run.steps.enumerate().map(dispatcher);
    let around = order::around(run, shown, true);
    dispatchers.zip(around).map(|(dispatcher, around)| dispatcher.or(around)).collect()
}

/// The run's metadata. Facts of operations without a step go to the nearest ancestor with a step, else here.
fn run_metadata<'a>(
    run: &'a Run,
    results: &Results<'a>,
    made: &mut IdVec<StepId, Option<StepParts<'a>>>,
    parents: &IdVec<StepId, Option<StepId>>,
) -> Object<'a> {
    let mut metadata = facts::of_run(run);
    for (index, step) in run.steps.enumerate() {
        for judged in &step.operation.evaluations {
            let mut evaluation = facts::evaluation(judged);
            evaluation.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
            metadata.push("evaluations", evaluation);
        }
        if made.get(index).is_none_or(Option::is_some) {
            continue;
        }
        let Some(group) = group(step.operation.kind) else { continue };
        let mut all = facts::all(run, step);
        all.remove("evaluations");
        let mut words = facts::in_and_out(run, results, step);
        if run.root == Some(index) {
            words.retain(|_, value| !is_written(run, value));
            if all.is_empty() && words.is_empty() {
                continue;
            }
        }
        let mut entry = facts::identity(step);
        entry.extend(words);
        entry.extend(all);
        let above = parents.known(index);
        let above = above.and_then(|above| made.get_mut(above)?.as_mut());
        let home = above.map_or(&mut metadata, |above| &mut above.metadata);
        home.push(group, entry);
    }
    metadata
}

/// Whether a value of the root is already written as the question, the answer or the task's input.
fn is_written(run: &Run, value: &Json<'_>) -> bool {
    let same = |utterance: &Option<Utterance>| utterance.as_ref().is_some_and(|utterance| *value == utterance.content);
    let is_input = || root_input(run).is_some_and(|input| *value == *input);
    same(&run.question) || same(&run.answer) || value.as_object().is_some() && is_input()
}

fn root_input(run: &Run) -> Option<&Value> {
    run.steps.get(run.root?)?.operation.input.get()
}

/// Adds each fetched prompt to the next model call of the same agent.
fn hand_prompts_on<'a>(run: &'a Run, made: &mut IdVec<StepId, Option<StepParts<'a>>>) {
    let mut fetched: HashMap<ScopeId, Json<'a>> = HashMap::default();
    for (step, made) in run.steps.iter().zip(made) {
        match (step.operation.kind, made) {
            (Kind::Prompt, _) => {
                let prompt = step.operation.prompt.get().map(FactGroup::facts);
                if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
                    fetched.insert(step.scope, prompt.into());
                }
            }
            (Kind::Llm, Some(made)) => {
                if let Some(prompt) = fetched.remove(&step.scope) {
                    made.metadata.insert_new("prompt", prompt);
                }
            }
            _ => {}
        }
    }
}

fn agent_info<'a>(run: &'a Run, losses: &mut Vec<Loss>) -> Object<'a> {
    let agent = &run.agent;
    let name = agent.name.as_deref().unwrap_or_else(|| {
        losses.push(Loss::new(None, "agent_info.name", LossReason::Synthesized));
        Otherwise::UNKNOWN
    });
    facts::known([
        ("name", Some(name.into())),
        ("version", agent.version.as_ref().map(Json::from)),
        ("framework", agent.framework.as_ref().map(Json::from)),
        ("framework_version", agent.framework_version.as_ref().map(Json::from)),
    ])
}

/// Each value comes from the first task that has it; the root's comes before all others.
fn task_info(run: &Run) -> Object<'_> {
    let tasks = || run.root.and_then(|root| run.steps.get(root)).into_iter().chain(&run.steps);
    let first = |field: Field| tasks().find_map(|step| field.value(&step.operation)).map(fact_groups::to_json);
    let asked = || words(&run.question.as_ref()?.content).map(|words| words.text.into());
    let inputs = || tasks().filter_map(|step| step.operation.task.input.as_ref());
    let input = inputs().chain(root_input(run)).find_map(Value::as_object);
    facts::known([
        ("description", first(Field::TaskDescription).or_else(asked)),
        ("goal", first(Field::TaskGoal)),
        ("input", input.map(Json::from)),
    ])
}

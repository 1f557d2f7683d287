//! Converts runs to a log.

use std::collections::BTreeMap;

use super::check::{LOG, POOL, SAMPLE};
use super::events::{Events, seconds};
use super::message;
use super::model::{self, Usage};
use super::threads::Threads;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::run::{Run, RunStatus, Step, Utterance};
use crate::span::UnixNanos;
use crate::transcript::ids::Ids;
use crate::transcript::{ScopeId, Transcript, is_model_call};
use crate::transcript::{content, facts};

/// The version of logs that readers support.
const VERSION: u32 = 2;

/// An output with the run's answer, recorded on an agent or a workflow, not a model call. `output`: that of the last model call.
fn answered<'a>(mut output: Object<'a>, answer: &'a Utterance) -> Object<'a> {
    let message = Object::from([("role", "assistant".into()), ("content", content::text(&answer.content).into())]);
    let choice = Object::from([("message", message.into()), ("stop_reason", "stop".into())]);
    let mut whole = Object::new();
    whole.add("model", output.remove("model").unwrap_or_default());
    whole.add("choices", Json::List(vec![choice.into()]));
    whole
}

/// The log of runs, one sample each.
pub(super) fn of_runs<'a>(runs: &[&'a Run]) -> Assembled<Object<'a>> {
    let mut losses = Vec::new();
    let samples: Vec<Sample<'a>> = runs.iter().map(|run| sample(run, &mut losses)).collect();
    let steps = || runs.iter().flat_map(|run| run.steps.iter());
    let model = steps()
        .filter(|step| is_model_call(step))
        .find_map(|step| step.operation.model.name());
    let agents = runs.iter().filter_map(|run| run.agent.name.as_deref());
    let agent = agents.into_iter().find(|name| !name.is_empty());
    for (what, is_missing) in [("eval.model", model.is_none()), ("eval.task", agent.is_none())] {
        if is_missing {
            losses.push(Loss::new(None, what, LossReason::Synthesized));
        }
    }
    for (number, _) in samples.iter().enumerate().filter(|(_, sample)| !sample.has_input) {
        losses.push(Loss::new(None, format!("samples[{number}].input"), LossReason::Synthesized));
    }
    let started = runs.iter().map(|run| run.started_at).min().unwrap_or_default();
    let ended: Option<Vec<UnixNanos>> = runs.iter().map(|run| run.ended_at).collect();
    let ended = ended.and_then(|all| all.into_iter().max());
    let mut stats = Object::from([("started_at", started.rfc3339_micros().into())]);
    stats.add_filled("completed_at", ended.map(|end| Text::from(end.rfc3339_micros())));
    stats.add_filled("model_usage", usage(runs));
    let mut plan = Object::from([("name", "plan".into())]);
    plan.add("steps", Json::List(Vec::new()));
    plan.add("config", Object::new());
    let statuses: Vec<RunStatus> = runs.iter().map(|run| run.status()).collect();
    let status = match statuses.as_slice() {
        [RunStatus::Error] => "error",
        [RunStatus::Cancelled] => "cancelled",
        // An evaluation of several samples is complete, whatever happened to each.
        _ if statuses.contains(&RunStatus::Running) => "started",
        _ => "success",
    };
    let error = match runs {
        [one] => error(one),
        _ => None,
    };
    let document = LOG.given([
        ("version", VERSION.into()),
        ("status", status.into()),
        ("eval", spec(runs, agent.unwrap_or("unknown"), model.unwrap_or("unknown")).into()),
        ("plan", plan.into()),
        ("stats", stats.into()),
        ("error", error.unwrap_or_default().into()),
        ("samples", samples.into_iter().map(|sample| sample.document).collect()),
    ]);
    Assembled { document, losses }
}

fn error(run: &Run) -> Option<Object<'_>> {
    run.failure.as_ref().map(|failed| message::eval_error(&failed.failure))
}

struct Sample<'a> {
    document: Object<'a>,
    has_input: bool,
}

fn sample<'a>(run: &'a Run, losses: &mut Vec<Loss>) -> Sample<'a> {
    let transcript = Transcript::of(run);
    let mut scopes = transcript.scopes_by_tool();
    let top = scopes.remove(&None).unwrap_or_default();
    let is_auxiliary = |scope: &ScopeId| run.scopes.get(*scope).is_some_and(|scope| scope.is_auxiliary);
    let (auxiliary, own): (Vec<ScopeId>, Vec<ScopeId>) = top.into_iter().partition(is_auxiliary);
    let main = if own.is_empty() { &auxiliary } else { &own };
    let threads = Threads::of(run, &transcript, main);
    let mut events = Events::new(&threads, scopes);
    for scope in own.iter().chain(&auxiliary) {
        events.scope(*scope, usize::from(!main.contains(scope)));
    }
    events.finish();
    let Events {
        list,
        losses: mut of_events,
        output,
        ..
    } = events;
    losses.append(&mut of_events);
    let outside = run.answer.as_ref().filter(|answer| !answer.in_conversation);
    let output = match outside.filter(|_| !output.is_empty()) {
        Some(answer) => answered(output, answer),
        None => output,
    };
    let input = threads.input(main);
    let has_input = !input.is_null();
    let trace = run.trace_id.to_string();
    let ended = run.ended_at.map(|end| Text::from(end.rfc3339_micros()));
    let messages = main.iter().flat_map(|scope| threads.messages(*scope)).collect::<Json<'_>>();
    let ideal = run.steps.iter().find_map(|step| step.operation.training.ideal.as_ref());
    let document = SAMPLE.given([
        ("id", trace.clone().into()),
        ("epoch", 1_u64.into()),
        ("input", if has_input { input } else { "".into() }),
        ("target", ideal.map(content::text).unwrap_or_default().into()),
        ("messages", messages),
        ("output", output.into()),
        ("scores", scores(run).into()),
        ("metadata", Object::from([("otel.trace_id", trace.clone().into())]).into()),
        ("events", list.into_iter().collect()),
        ("model_usage", usage(&[run]).into()),
        ("started_at", run.started_at.rfc3339_micros().into()),
        ("completed_at", ended.into()),
        ("total_time", run.ended_at.map(|end| seconds(run.started_at, end)).into()),
        ("uuid", trace.into()),
        ("error", error(run).unwrap_or_default().into()),
        (
            "events_data",
            POOL.given([("messages", threads.pool()), ("calls", Json::List(Vec::new()))]).into(),
        ),
    ]);
    Sample { document, has_input }
}

/// What was evaluated, taken from the first run.
fn spec<'a>(runs: &[&'a Run], task: &'a str, model: &'a str) -> Object<'a> {
    let Some(run) = runs.first() else { return Object::new() };
    let id = Text::from(run.trace_id.to_string());
    let session = run.session_id.as_deref().map_or_else(|| id.clone(), Text::from);
    let mut dataset = Object::from([("name", task.into()), ("samples", (runs.len() as u64).into())]);
    dataset.add("sample_ids", runs.iter().map(|run| run.trace_id.to_string()).collect::<Json<'_>>());
    let mut out = Object::from([
        ("eval_id", id.clone().into()),
        ("run_id", session.into()),
        ("created", run.started_at.rfc3339_micros().into()),
        ("task", task.into()),
        ("task_id", id.into()),
    ]);
    out.add_filled("task_version", run.agent.version.as_deref());
    out.add("dataset", dataset);
    out.add("model", model);
    out.add("config", Object::new());
    let (framework, version) = (run.agent.framework.as_deref(), run.agent.framework_version.as_deref());
    if let (Some(framework), Some(version)) = (framework, version) {
        out.add("packages", Object::from([(framework, version.into())]));
    }
    let mut about = facts::of_run(run);
    if let Some(framework) = framework {
        about.insert_new("framework", framework);
    }
    out.add("metadata", about);
    out
}

fn usage<'a>(runs: &[&'a Run]) -> Object<'a> {
    let mut by_model: BTreeMap<Text<'a>, Usage> = BTreeMap::new();
    for step in runs.iter().flat_map(|run| run.steps.iter()).filter(|step| is_model_call(step)) {
        let usage = Usage::of(&step.operation);
        if !usage.object().is_empty() {
            by_model.entry(model::name(&step.operation)).or_default().add(usage);
        }
    }
    let mut out = Object::new();
    for (model, usage) in by_model {
        out.add(model, usage.object());
    }
    out
}

fn scores(run: &Run) -> Object<'_> {
    let (mut out, mut ids) = (Object::new(), Ids::default());
    let judged = |step: &'_ Step| step.operation.evaluations.len();
    for step in run.steps.iter().filter(|step| judged(step) > 0) {
        for evaluation in &step.operation.evaluations {
            if let Some(score) = message::score(evaluation) {
                let name = ids.numbered(evaluation.name.as_deref().unwrap_or(&step.operation.name), ':');
                out.add(name, score);
            }
        }
    }
    out
}

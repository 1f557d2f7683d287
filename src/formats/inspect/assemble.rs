//! A run to a log.

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
use crate::transcript::ids::Ids;
use crate::transcript::{ScopeId, Transcript, is_model_call};
use crate::transcript::{content, facts};

/// The version of logs that readers know.
const VERSION: u32 = 2;

/// An output with the run's answer, which an agent or a workflow gave and no model call. `output`: that of the last model call.
fn answered<'a>(mut output: Object<'a>, answer: &'a Utterance) -> Object<'a> {
    let message = Object::from([("role", "assistant".into()), ("content", content::text(&answer.content).into())]);
    let choice = Object::from([("message", message.into()), ("stop_reason", "stop".into())]);
    let mut whole = Object::new();
    whole.add("model", output.remove("model").unwrap_or_default());
    whole.add("choices", Json::List(vec![choice.into()]));
    whole
}

/// The run's log.
pub(super) fn of_run(run: &Run) -> Assembled<Object<'_>> {
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
        list, mut losses, output, ..
    } = events;
    let outside = run.answer.as_ref().filter(|answer| !answer.in_conversation);
    let output = match outside.filter(|_| !output.is_empty()) {
        Some(answer) => answered(output, answer),
        None => output,
    };

    let steps = || run.steps.iter();
    let model = steps()
        .filter(|step| is_model_call(step))
        .find_map(|step| step.operation.model.name());
    let agent = run.agent.name.as_deref().filter(|name| !name.is_empty());
    for (what, is_missing) in [("eval.model", model.is_none()), ("eval.task", agent.is_none())] {
        if is_missing {
            losses.push(Loss::new(None, what, LossReason::Synthesized));
        }
    }
    let input = threads.input(main);
    if input.is_null() {
        losses.push(Loss::new(None, "samples[0].input", LossReason::Synthesized));
    }
    let trace = run.trace_id.to_string();
    let ended = run.ended_at.map(|end| Text::from(end.rfc3339_micros()));
    let usage = usage(run);
    let error = run
        .failure
        .as_ref()
        .map(|failed| message::eval_error(&failed.failure))
        .unwrap_or_default();
    let mut stats = Object::from([("started_at", run.started_at.rfc3339_micros().into())]);
    stats.add_filled("completed_at", ended.clone());
    stats.add_filled("model_usage", usage.clone());
    let messages = main.iter().flat_map(|scope| threads.messages(*scope)).collect::<Json<'_>>();
    let target = steps().find_map(|step| step.operation.training.ideal.as_ref()).map(content::text);
    let sample = SAMPLE.given([
        ("id", trace.clone().into()),
        ("epoch", 1_u64.into()),
        ("input", if input.is_null() { "".into() } else { input }),
        ("target", target.unwrap_or_default().into()),
        ("messages", messages),
        ("output", output.into()),
        ("scores", scores(run).into()),
        ("metadata", Object::from([("otel.trace_id", trace.clone().into())]).into()),
        ("events", list.into_iter().collect()),
        ("model_usage", usage.into()),
        ("started_at", run.started_at.rfc3339_micros().into()),
        ("completed_at", ended.clone().into()),
        ("total_time", run.ended_at.map(|end| seconds(run.started_at, end)).into()),
        ("uuid", trace.clone().into()),
        ("error", error.clone().into()),
        (
            "events_data",
            POOL.given([("messages", threads.pool()), ("calls", Json::List(Vec::new()))]).into(),
        ),
    ]);
    let mut plan = Object::from([("name", "plan".into())]);
    plan.add("steps", Json::List(Vec::new()));
    plan.add("config", Object::new());
    let status = match run.status() {
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Ok => "success",
        RunStatus::Running => "started",
    };
    let document = LOG.given([
        ("version", VERSION.into()),
        ("status", status.into()),
        (
            "eval",
            spec(run, trace, agent.unwrap_or("unknown"), model.unwrap_or("unknown")).into(),
        ),
        ("plan", plan.into()),
        ("stats", stats.into()),
        ("error", error.into()),
        ("samples", Json::List(vec![sample.into()])),
    ]);
    Assembled { document, losses }
}

fn spec<'a>(run: &'a Run, trace: String, task: &'a str, model: &'a str) -> Object<'a> {
    let id = Text::from(trace);
    let session = run.session_id.as_deref().map_or_else(|| id.clone(), Text::from);
    let mut dataset = Object::from([("name", task.into()), ("samples", 1_u64.into())]);
    dataset.add("sample_ids", Json::List(vec![id.clone().into()]));
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

fn usage(run: &Run) -> Object<'_> {
    let mut by_model: BTreeMap<Text<'_>, Usage> = BTreeMap::new();
    for step in run.steps.iter().filter(|step| is_model_call(step)) {
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

//! A run as JSON, for programs: the output of `spanbridge show --json`. Unknown values are left out.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::outline;
use super::step::{has_times, name, nanos, offset};
use super::totals::{self, Group, Totals};
use crate::document::json::{Json, Object};
use crate::run::{Annotation, Run, Step, StepId};
use crate::span::LogRecord;
use crate::trace::Finding;
use crate::transcript::calls::Results;
use crate::transcript::{content, facts};
use crate::withheld::is_withheld;

/// A run, its totals, and all facts of its steps. Times ending in `_unix_nano` are nanoseconds since 1970, other times and
/// durations ending in `_nanos` are nanoseconds. Written step by step, so that input shared by several steps is in memory once.
#[derive(Debug)]
pub(crate) struct WholeRun<'a> {
    /// The run.
    pub(crate) run: &'a Run,
    /// Its log records.
    pub(crate) logs: &'a [LogRecord],
}

impl Serialize for WholeRun<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.run;
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in head(run) {
            out.serialize_entry(&key, &value)?;
        }
        let (has_times, results) = (has_times(run), &Results::of(run));
        let all = move || steps(run).map(move |(depth, of)| step(run, of, depth, has_times, results));
        out.serialize_entry("steps", &Each(all))?;
        out.serialize_entry("findings", &Each(|| run.findings.iter().map(finding)))?;
        if !run.annotations.is_empty() {
            out.serialize_entry("annotations", &Each(|| run.annotations.iter().map(annotation)))?;
        }
        out.serialize_entry("log_records", &Each(|| self.logs.iter().map(log_record)))?;
        out.end()
    }
}

/// A list whose items are created while it is written.
struct Each<F>(F);

impl<I: IntoIterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Adds a value, if there is one.
fn add<'a>(out: &mut Object<'a>, key: &'static str, value: Option<impl Into<Json<'a>>>) {
    if let Some(value) = value {
        out.add(key, value);
    }
}

/// Everything before the steps.
fn head(run: &Run) -> Object<'_> {
    let mut out = Object::new();
    out.add("trace_id", run.trace_id.to_string());
    out.add("status", run.status().name());
    let has_times = has_times(run);
    if has_times {
        out.add("start_unix_nano", run.started_at.0);
    }
    if let Some(end) = run.ended_at.filter(|_| has_times) {
        out.add("end_unix_nano", end.0);
        out.add("duration_nanos", end.0.saturating_sub(run.started_at.0));
    }
    for (key, said) in [("question", &run.question), ("answer", &run.answer)] {
        add(&mut out, key, said.as_ref().map(|said| &said.content));
    }
    out.add("totals", sums(&Totals::of(run), has_times));
    out.add("agents", groups(&totals::by_agent(run), has_times));
    out.add("models", groups(&totals::by_model(run), has_times));
    out.add("facts", facts::of_run_and_agent(run));
    out
}

/// The steps in the order of the outline, each with its depth.
pub(crate) fn steps(run: &Run) -> impl Iterator<Item = (usize, &Step)> {
    let rows = outline::rows(run).into_iter();
    rows.filter_map(|row| Some((row.depth, run.steps.get(row.step)?)))
}

/// One step, as in the list of steps.
pub(crate) fn step_at<'a>(run: &'a Run, of: &'a Step, depth: usize, results: &Results<'a>) -> Json<'a> {
    Json::from(step(run, of, depth, has_times(run), results))
}

/// The same, without its depth.
pub(crate) fn one_step<'a>(run: &'a Run, of: &'a Step) -> Json<'a> {
    let mut out = step(run, of, 0, has_times(run), &Results::of(run));
    let _ = out.remove("depth");
    Json::from(out)
}

/// A finding about the spans.
pub(crate) fn finding(finding: &Finding) -> Json<'_> {
    let mut shown = Object::new();
    add(&mut shown, "span_id", finding.span_id.map(|span| span.to_string()));
    shown.add("kind", Json::from(serde_json::to_value(finding.kind).unwrap_or_default()));
    shown.add("detail", &finding.detail);
    Json::from(shown)
}

/// A person's judgement after the run, even if it was corrected or withdrawn since.
fn annotation(of: &Annotation) -> Json<'_> {
    let mut out = Object::new();
    out.add("span_id", of.span_id.to_string());
    add(&mut out, "evaluates", of.judged.map(|judged| judged.to_string()));
    add(&mut out, "annotator", of.annotator.as_ref());
    add(&mut out, "at_unix_nano", of.at.map(|at| at.0));
    out.add("counts", of.counts);
    if of.withdraws {
        out.add("withdraws", true);
    }
    out.add("evaluation", facts::evaluation(&of.evaluation));
    Json::from(out)
}

fn step<'a>(run: &'a Run, step: &'a Step, depth: usize, has_times: bool, results: &Results<'a>) -> Object<'a> {
    let operation = &step.operation;
    let mut out = Object::with_capacity(16);
    let id_of = |index: Option<StepId>| index.and_then(|index| run.steps.get(index)).map(|step| step.id.as_str());
    out.add("id", &step.id);
    for (key, id) in [
        ("parent", id_of(step.parent)),
        ("asked_by", id_of(step.dispatched_by)),
        ("called_by", id_of(step.called_by)),
    ] {
        add(&mut out, key, id);
    }
    add(&mut out, "span_id", step.span_id.map(|span| span.to_string()));
    out.add("depth", depth as u64);
    out.add("kind", operation.kind.name());
    out.add("name", name(run, step));
    out.add("span_name", &operation.name);
    if has_times {
        out.add("start_unix_nano", step.started_at.0);
        out.add("offset_nanos", offset(run, step.started_at));
    }
    if let (Some(end), Some(nanos), true) = (step.ended_at, nanos(step), has_times) {
        out.add("end_unix_nano", end.0);
        out.add("duration_nanos", nanos);
    }
    add(&mut out, "turn", step.turn.map(u64::from));
    add(&mut out, "input", content::input(run, step));
    add(&mut out, "output", content::output(results, step));
    if let Some((trace, span)) = step.same_call_as {
        out.add("same_call_as", format!("{trace}/{span}"));
    }
    add(&mut out, "agent", totals::agent_of(run, step));
    for (key, value) in facts::all(run, step) {
        out.insert(key, value);
    }
    out
}

fn sums(totals: &Totals, has_times: bool) -> Object<'static> {
    let mut out = Object::new();
    out.add("model_calls", totals.model_calls);
    out.add("model_calls_without_tokens", totals.unmetered_calls);
    out.add("tool_calls", totals.tool_calls);
    out.add("failures", totals.failures);
    let tokens = &totals.tokens;
    for (key, count) in [
        ("input_tokens", tokens.input),
        ("output_tokens", tokens.output),
        ("total_tokens", tokens.total),
        ("cache_read_tokens", tokens.cache_read),
        ("cache_write_tokens", tokens.cache_write),
        ("reasoning_tokens", tokens.reasoning),
    ] {
        add(&mut out, key, count);
    }
    if let Some(cost) = totals.cost {
        out.add("cost_usd", cost.dollars);
        if cost.is_computed {
            out.add("cost_computed", true);
        }
    }
    if has_times {
        out.add("busy_nanos", totals.busy_nanos);
    }
    out
}

fn groups<'a>(groups: &[Group<'a>], has_times: bool) -> Json<'a> {
    let shown = groups.iter().map(|group| {
        let mut out = Object::new();
        add(&mut out, "name", group.name);
        for (key, value) in sums(&group.totals, has_times) {
            out.add(key, value);
        }
        out
    });
    shown.collect()
}

/// Replaces texts that mark withheld values by null.
fn without_withheld(value: Value) -> Value {
    match value {
        Value::String(text) if is_withheld(&text) => Value::Null,
        Value::Array(items) => items.into_iter().map(without_withheld).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, without_withheld(value))).collect(),
        other => other,
    }
}

/// A log record: its time, span and content.
fn log_record(record: &LogRecord) -> Object<'_> {
    let mut out = Object::new();
    if record.when().0 > 0 {
        out.add("time_unix_nano", record.when().0);
    }
    add(&mut out, "span_id", record.span_id.map(|span| span.to_string()));
    for (key, text) in [("name", record.name()), ("severity", record.severity_text.as_str())] {
        if !text.is_empty() {
            out.add(key, text);
        }
    }
    if !record.body.is_empty() {
        out.add("body", Json::from(without_withheld(record.body.to_json())));
    }
    let attributes = record.attributes.iter().map(|(key, value)| (key.clone(), value.to_json()));
    let attributes: serde_json::Map<String, Value> = attributes.collect();
    if !attributes.is_empty() {
        out.add("attributes", Json::from(Value::Object(attributes)));
    }
    out
}

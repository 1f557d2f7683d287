//! Eval logs to spans.
//!
//! | log | span |
//! |---|---|
//! | sample | a trace: its id is taken from `uuid`, else derived from the sample's ids |
//! | `eval.task`, `packages`, `metadata`, `run_id`; `target`, `metadata`, `error` of the sample | the root: agent, framework, session; ideal, metadata, failure |
//! | span of the type `agent` | an agent: below the tool that refers to it or encloses it, else below the enclosing agent; the first outermost one is the root |
//! | span or step of the type `scorer` | an evaluator below the root, if a model or a tool runs inside it: its words are not the agent's |
//! | other spans | none: their events belong to the enclosing agent |
//! | `model` event | a model call with `input`, or the messages in `input_refs`, as its input |
//! | `tool` event | the execution of a call |
//! | `score` event, `scores` | evaluations, with the scorer's name: an intermediate one of the preceding operation, else of the root |
//! | `info` event of this program | the operation that it describes |
//! | `messages`, if no event is a model call | a conversation |
//! | `attachment://` | the text that it refers to |
//!
//! Other events (states, stores, sandboxes, limits) have no place in spans and stay in the attribute.

mod attachments;
mod call;
mod event;
mod frames;
mod input;
mod judges;
mod message;
mod sample;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::formats::back::{At, Result, TraceBuilder, trace_id};
use crate::span::TraceId;

/// The traces of a log.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let eval = at.need("eval")?;
    eval.object()?;
    let samples = at.items_of("samples")?;
    let log = at.value.to_string();
    if samples.is_empty() {
        let mut builder = TraceBuilder::new("inspect", trace_id("inspect", &log), None);
        sample::root(at, &eval, None, true, &mut builder)?;
        return Ok(vec![builder]);
    }
    drop(log);
    let several = samples.len() > 1;
    let mut taken = HashSet::new();
    let mut out = Vec::with_capacity(samples.len());
    for (index, sample) in samples.iter().enumerate() {
        sample.object()?;
        let trace = trace_of(&eval, sample, index, &mut taken);
        let document = several.then(|| part(at.value, sample.value, index == 0));
        let mut builder = TraceBuilder::new("inspect", trace, document);
        sample::read(at, &eval, sample, index == 0, &mut builder)?;
        out.push(builder);
    }
    Ok(out)
}

/// The trace id of a sample: the recorded one if this program wrote it, else derived.
fn trace_of(eval: &At<'_>, sample: &At<'_>, index: usize, taken: &mut HashSet<TraceId>) -> TraceId {
    let uuid = sample.value.get("uuid").and_then(Value::as_str);
    if let Some(id) = uuid.and_then(TraceId::from_hex).filter(|id| taken.insert(*id)) {
        return id;
    }
    let named = |value: &Value, key: &str| value.get(key).map(Value::to_string).unwrap_or_default();
    let mut own = format!(
        "{}\n{}\n{}\n{}",
        named(eval.value, "eval_id"),
        named(sample.value, "id"),
        named(sample.value, "epoch"),
        named(sample.value, "uuid")
    );
    if uuid.is_none() {
        own = format!("{own}\n{}", sample.value);
    }
    loop {
        let made = trace_id("inspect", &own);
        if taken.insert(made) {
            return made;
        }
        own = format!("{own}\n{index}");
    }
}

/// The log with only this sample. Members that not every log must have go with the first sample.
fn part(log: &Value, sample: &Value, is_first: bool) -> Value {
    const NEEDED: [&str; 3] = ["version", "status", "eval"];
    let mut out = Map::new();
    for (key, value) in log.as_object().into_iter().flatten() {
        let kept = match key.as_str() {
            "samples" => Value::from(vec![sample.clone()]),
            "eval" if !is_first => eval_alone(value),
            key if is_first || NEEDED.contains(&key) => value.clone(),
            _ => continue,
        };
        out.insert(key.clone(), kept);
    }
    out.into()
}

/// The members of `eval` that readers require or that identify it. Its lists grow with the number of samples.
fn eval_alone(eval: &Value) -> Value {
    const EVAL_KEYS: [&str; 6] = ["eval_id", "run_id", "created", "task", "task_id", "model"];
    /// Longest name that is kept.
    const MAX_NAME_LENGTH: usize = 255;
    let Some(eval) = eval.as_object() else { return eval.clone() };
    let is_kept = |key: &str, value: &Value| EVAL_KEYS.contains(&key) && value.as_str().is_none_or(|text| text.len() <= MAX_NAME_LENGTH);
    let mut out: Map<String, Value> = eval
        .iter()
        .filter(|(key, value)| is_kept(key, value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for empty in ["dataset", "config"] {
        out.insert(empty.to_owned(), Map::new().into());
    }
    out.into()
}

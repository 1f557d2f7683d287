//! Eval logs to spans.
//!
//! | log | span |
//! |---|---|
//! | sample | a trace: its id is the one in `uuid`, else made of what names the sample |
//! | `eval.task`, `packages`, `metadata`, `run_id`; `target`, `metadata`, `error` of the sample | the root: agent, framework, session; ideal, metadata, failure |
//! | span of the type `agent` | an agent: below the tool whose event names it or whose span is around it, else below the agent around it; the outermost first one is the root |
//! | span or step of the type `scorer` | an evaluator below the root, if a model or a tool works inside: its words are not the agent's |
//! | other spans | none: what is inside belongs to the agent around |
//! | `model` event | a model call, which was given `input` or what `input_refs` name |
//! | `tool` event | the execution of a call |
//! | `score` event, `scores` | judgements, with the scorer's name: an intermediate one of the operation before it, else of the root |
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
    let samples = at.some("samples").map(|samples| samples.items()).transpose()?.unwrap_or_default();
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

/// The trace of a sample: its own, where it is one of this program's.
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

/// The log with only this sample. Its other members are with the first sample, except those that every log must have.
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

/// What readers demand of `eval`, and what names it. Its lists grow with the samples.
fn eval_alone(eval: &Value) -> Value {
    const KEPT: [&str; 6] = ["eval_id", "run_id", "created", "task", "task_id", "model"];
    /// No name is longer.
    const LONGEST: usize = 255;
    let Some(eval) = eval.as_object() else { return eval.clone() };
    let is_kept = |key: &str, value: &Value| KEPT.contains(&key) && value.as_str().is_none_or(|text| text.len() <= LONGEST);
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

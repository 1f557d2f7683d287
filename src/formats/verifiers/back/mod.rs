//! Episodes to spans.
//!
//! | episode | span |
//! |---|---|
//! | each of its `traces` | a trace, with its id |
//! | `agent.name`, `env.id`, `info.run`; `task.data`; `errors`; `timing` | the root: agent; task and metadata; failure; times |
//! | sampled node, with the entry of `calls` that refers to it | a model call, whose input is the path to the node |
//! | node of a tool after a call of the run | the execution of the call; `info.results` has its times and failure |
//! | root node that `info.agents` or a `semantic_parents` link of a tool's result refers to | an agent, below the tool |
//! | branch | a conversation that repeats the messages before it |
//! | `token_ids`, `mask`, `logprobs` | token ids of prompt and completion |
//! | `rewards`, `metrics` | the root's reward, evaluations |
//! | `info.operations`, `info.model_calls` | the operations that they describe |
//!
//! User messages after the last model call become user input.

mod agents;
mod graph;
mod message;
mod rest;
mod tokens;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::formats::back::{At, Result, TraceBuilder, read_run_facts, seconds, trace_id};
use crate::operation::Evaluation;
use crate::span::TraceId;

use graph::Graph;

/// Longest name that is kept.
const MAX_NAME_LENGTH: usize = 255;

/// The traces of an episode.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let task = at.need("task")?;
    let traces = at.need("traces")?.items()?;
    if traces.is_empty() {
        let mut builder = TraceBuilder::new("verifiers", trace_id("verifiers", &at.value.to_string()), None);
        root(at, &task, None, &mut builder)?;
        return Ok(vec![builder]);
    }
    let several = traces.len() > 1;
    let mut taken = HashSet::new();
    let mut out = Vec::with_capacity(traces.len());
    for (index, trace) in traces.iter().enumerate() {
        trace.object()?;
        let own = trace.value.get("id").and_then(Value::as_str);
        let id = own.and_then(TraceId::from_hex).filter(|id| taken.insert(*id));
        let id = id.unwrap_or_else(|| made(trace.value, index, &mut taken));
        let document = several.then(|| part(at.value, trace.value, index == 0));
        let mut builder = TraceBuilder::new("verifiers", id, document);
        Graph::read(trace, &mut builder)?;
        root(at, &trace.some("task").unwrap_or_else(|| task.clone()), Some(trace), &mut builder)?;
        out.push(builder);
    }
    Ok(out)
}

fn made(trace: &Value, index: usize, taken: &mut HashSet<TraceId>) -> TraceId {
    let mut own = trace.to_string();
    loop {
        let id = trace_id("verifiers", &own);
        if taken.insert(id) {
            return id;
        }
        own = format!("{own}\n{index}");
    }
}

/// The episode with only this trace. Other members go with the first trace, unless readers require them.
fn part(episode: &Value, trace: &Value, is_first: bool) -> Value {
    let mut out = Map::new();
    for (key, value) in episode.as_object().into_iter().flatten() {
        let kept = match key.as_str() {
            "traces" => Value::from(vec![trace.clone()]),
            "task" if !is_first => trace.get("task").cloned().unwrap_or_default(),
            _ if is_first => value.clone(),
            _ => continue,
        };
        out.insert(key.clone(), kept);
    }
    out.into()
}

/// Reads facts of the whole trace into the root.
fn root(episode: &At<'_>, task: &At<'_>, trace: Option<&At<'_>>, builder: &mut TraceBuilder) -> Result<()> {
    const OF_MESSAGES: [&str; 5] = ["id", "name", "description", "prompt", "system_prompt"];
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let about = trace.map_or(episode, |trace| trace);
    let info = about.object_of("info")?;
    if let Some(Value::Object(run)) = info.get("run") {
        read_run_facts(run.clone(), builder);
    }
    let known: HashSet<u64> = builder
        .drafts
        .iter()
        .flat_map(|draft| draft.operation.evaluations.iter().filter_map(|score| score.score.map(f64::to_bits)))
        .collect();
    let timing = about.value.get("timing");
    let time = |path: &str| timing.and_then(|timing| timing.pointer(path)?.as_f64()).and_then(seconds);
    if let Some(root) = builder.drafts.first_mut() {
        let began = time("/agent/start").or_else(|| time("/start"));
        let said = |key: &str| about.value.get(key).and_then(Value::as_bool);
        root.start = root.start.or(began);
        root.end = root.end.or(time("/agent/end"));
        root.running |= root.end.is_none() && root.start.is_some() && said("is_completed") == Some(false);
    }
    let Some(root) = builder.operation(0) else { return Ok(()) };
    let name = text(about.value.pointer("/agent/name")).filter(|name| name != "agent");
    let name = name.or_else(|| text(episode.value.pointer("/env/id")).filter(|id| id.len() <= MAX_NAME_LENGTH));
    if root.agent.name.is_none()
        && let Some(name) = name
    {
        root.name.clone_from(&name);
        root.agent.name = Some(name);
    }
    let data = task.object_of("data")?;
    root.task.description = root.task.description.take().or_else(|| text(data.get("description")));
    if let Some(answer) = data.get("answer").filter(|answer| !answer.is_null())
        && root.training.ideal.is_none()
    {
        root.training.ideal = Some(answer.clone());
    }
    let others = data
        .into_iter()
        .filter(|(key, value)| !OF_MESSAGES.contains(&key.as_str()) && key != "answer" && !value.is_null());
    root.metadata.extend(others);
    let errors = about.items_of("errors")?;
    if let Some(error) = errors.last().filter(|_| root.failure.is_none()) {
        error.object()?;
        root.failure = Some(message::failure(error.value));
    }
    let rewards = about.object_of("rewards")?;
    let parts: Vec<(&String, f64, f64)> = rewards.iter().filter_map(|(name, reward)| weighted(name, reward)).collect();
    if !parts.is_empty() {
        root.training.reward = Some(parts.iter().map(|(_, score, weight)| score * weight).sum());
    }
    let only = rewards.len() == 1 && rewards.contains_key("reward");
    let named = parts.iter().filter(|_| !only).map(|(name, score, _)| judged(name, Some(*score)));
    let metrics = about.object_of("metrics")?;
    let metrics = metrics.iter().map(|(name, score)| judged(name, score.as_f64()));
    let is_new = |score: &Evaluation| score.score.is_some_and(|score| !known.contains(&score.to_bits()));
    let scores: Vec<Evaluation> = named.chain(metrics).filter(is_new).collect();
    root.evaluations.extend(scores);
    Ok(())
}

/// A reward with its weight; it may be written as a number or with both.
fn weighted<'v>(name: &'v String, reward: &Value) -> Option<(&'v String, f64, f64)> {
    let score = reward.as_f64().or_else(|| reward.get("score")?.as_f64())?;
    let weight = reward.get("weight").and_then(Value::as_f64).unwrap_or(1.0);
    Some((name, score, weight))
}

fn judged(name: &str, score: Option<f64>) -> Evaluation {
    Evaluation {
        name: Some(name.to_owned()),
        score,
        ..Evaluation::default()
    }
}

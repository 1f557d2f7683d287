//! Synth documents to spans.
//!
//! | document | span |
//! |---|---|
//! | session `metadata` | the root, an agent |
//! | LMCAISEvent | a model call for each of its call records, with their messages |
//! | EnvironmentEvent `tool:...`, `retrieval:...`, ... | the operation of that kind; arguments from the `action` with its call id |
//! | RuntimeEvent | the operation of `metadata.kind`; without one a chain |
//! | `<agent>/` before a system's name | the operation is a child of that agent |
//! | `user_input`, `agent_response` that are in no call record | user input, an answer |
//! | `action` without an event | a tool, with the `result` of its call id |
//!
//! Both vocabularies of messages are read: the documentation's, and the store's (`user`, `assistant`, `tool_use`, `tool_result`).

mod calls;
mod events;
mod messages;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use messages::exact;

use super::check::{DOCUMENT, Digest, digest};
use crate::formats::back::{At, Result, TraceBuilder, read_run_facts, time, trace_id};
use crate::span::TraceId;

/// The trace of a session.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let session_id = at.need("session_id")?.text()?;
    let metadata = at.object_of("metadata")?;
    let steps = check_steps(at)?;
    let history = at.items_of("event_history")?;
    let history = if history.is_empty() { steps } else { history };
    // Several sessions may name one trace: only the session's id distinguishes them, or without one the content of the
    // document.
    let of_session = TraceId::from_hex(&session_id.replace('-', ""));
    let own = || match session_id {
        "" => at.value.to_string(),
        named => named.to_owned(),
    };
    let id = of_session.unwrap_or_else(|| trace_id("synth", &own()));
    let mut builder = TraceBuilder::new("synth", id, written_form(at, &history));
    let session_messages = messages::read(at)?;
    about_run(at, metadata, &mut builder);
    let event_words = events::read(&history, &session_messages, &mut builder)?;
    events::judged(&history, &mut builder);
    messages::unwritten(&session_messages, &event_words, &mut builder);
    Ok(vec![builder])
}

/// The document that an export must reproduce, if it differs: the Rust core's form has tags and omits fields, while exports
/// have every field.
fn written_form(at: &At<'_>, history: &[At<'_>]) -> Option<Value> {
    let is_tagged = history.iter().any(|event| event.get("event_type").is_some());
    is_tagged.then(|| {
        let mut session = at.value.clone();
        classify(session.get_mut("event_history"));
        for step in session
            .get_mut("session_time_steps")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            classify(step.get_mut("events"));
        }
        DOCUMENT.completed(&session)
    })
}

/// Gives tagged events the fields that distinguish untagged events.
fn classify(events: Option<&mut Value>) {
    for event in events
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let (field, value) = match event.get("event_type").and_then(Value::as_str) {
            Some("runtime") => ("actions", json!([])),
            Some("environment") => ("reward", json!(0.0)),
            Some("cais") => ("call_records", json!([])),
            _ => continue,
        };
        let _ = event.entry(field).or_insert(value);
    }
}

/// Checks that steps count from 0, have unique ids, and that their items are in the history; returns the events of all steps.
fn check_steps<'a>(at: &At<'a>) -> Result<Vec<At<'a>>> {
    let mut out = Vec::new();
    let Some(steps) = at.some("session_time_steps") else {
        return Ok(out);
    };
    let events = known(at, "event_history")?;
    let messages = known(at, "markov_blanket_message_history")?;
    let mut ids = HashSet::new();
    for (index, step) in steps.items()?.into_iter().enumerate() {
        step.object()?;
        if let Some(number) = step.some("step_index")
            && number.value.as_u64() != Some(index as u64)
        {
            return Err(number.refuse(format!("steps count from 0: expected {index}")));
        }
        if let Some(id) = step.text_of("step_id")?.filter(|id| !id.is_empty())
            && !ids.insert(id)
        {
            let place = step.get("step_id").unwrap_or(step);
            return Err(place.refuse(format!("another step has the id `{id}`")));
        }
        out.extend(in_history(&step, "events", &events, "event_history")?);
        in_history(&step, "markov_blanket_messages", &messages, "markov_blanket_message_history")?;
    }
    Ok(out)
}

/// The members of a history, by digests that are independent of key order.
fn known(at: &At<'_>, key: &str) -> Result<HashSet<Digest>> {
    let history = at.items_of(key)?;
    Ok(history.iter().map(|item| digest(item.value)).collect())
}

/// The members of a step's list; an empty history allows any.
fn in_history<'a>(step: &At<'a>, key: &str, known: &HashSet<Digest>, history: &str) -> Result<Vec<At<'a>>> {
    let list = step.items_of(key)?;
    match list.iter().find(|item| !known.is_empty() && !known.contains(&digest(item.value))) {
        Some(item) => Err(item.refuse(format!("this is not in `{history}`"))),
        None => Ok(list),
    }
}

/// Reads facts of the session into the root.
fn about_run(at: &At<'_>, mut metadata: Map<String, Value>, builder: &mut TraceBuilder) {
    let (start, end) = exact(&mut metadata);
    let created = at.value.get("created_at").and_then(Value::as_str).and_then(time);
    let mut root = match metadata.shift_remove("root") {
        Some(Value::Object(root)) => root,
        _ => Map::new(),
    };
    let (from, to) = exact(&mut root);
    let mut word = |key: &str| root.shift_remove(key).and_then(|value| value.as_str().map(str::to_owned));
    let (span_id, name, _) = (word("span_id"), word("name"), word("kind"));
    builder.root_id(span_id.as_deref());
    builder.times(0, from.or(start).or(created), to.or(end));
    let task = ["task_description", "task_goal", "task_input"].map(|key| metadata.shift_remove(key));
    for key in ["trace_id", "model"] {
        metadata.shift_remove(key);
    }
    let env_name = metadata.get("env_name").and_then(Value::as_str).map(str::to_owned);
    if let Some(operation) = builder.operation(0) {
        operation.agent.name = env_name.clone();
        operation.name = name.or(env_name).unwrap_or_else(|| operation.name.clone());
        let [description, goal, input] = task;
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        operation.task.description = text(description);
        operation.task.goal = text(goal);
        operation.task.input = input;
    }
    // If the agent has its own name, `env_name` is another one.
    if !metadata.contains_key("agent") {
        metadata.shift_remove("env_name");
    }
    metadata.extend(root);
    read_run_facts(metadata, builder);
}

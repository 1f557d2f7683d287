//! Reads events as operations.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::calls;
use super::messages::{EventWords, Messages, event_time, exact};
use crate::formats::back::{At, Result, TraceBuilder, milliseconds, read_facts, searched, take_text, time};
use crate::operation::{Group as _, Kind, Operation, TokenCount, ToolUse};
use crate::span::{SpanId, UnixNanos};

struct EventReader<'s> {
    builder: &'s mut TraceBuilder,
    /// Agents by the prefix of their systems' names.
    agents: HashMap<String, usize>,
    noted: EventWords,
}

/// Adds the events to the builder; returns the words and calls in them.
pub(super) fn read(history: &[At<'_>], messages: &Messages, builder: &mut TraceBuilder) -> Result<EventWords> {
    let mut reader = EventReader {
        builder,
        agents: HashMap::new(),
        noted: EventWords::default(),
    };
    // Agents first, because their operations become their children.
    let is_agent = |event: &&At<'_>| event.value.pointer("/metadata/kind").and_then(Value::as_str) == Some("agent");
    for event in history.iter().filter(is_agent) {
        reader.runtime(event)?;
    }
    for event in history.iter().filter(|event| !is_agent(event)) {
        event.object()?;
        let has = |key: &str| event.get(key).is_some();
        if judges(event) {
            continue;
        }
        match event.text_of("event_type")? {
            Some("cais") => reader.model(event)?,
            Some("environment") => reader.environment(event, messages)?,
            Some("runtime") => reader.runtime(event)?,
            _ if has("actions") => reader.runtime(event)?,
            _ if has("reward") => reader.environment(event, messages)?,
            _ if has("call_records") || has("model_name") => reader.model(event)?,
            _ => return Err(event.refuse("an event has `actions`, `reward` or `call_records`")),
        }
    }
    Ok(reader.noted)
}

/// Whether an event is a reward or an evaluation of another operation.
fn judges(event: &At<'_>) -> bool {
    let kind = event.value.pointer("/metadata/kind").and_then(Value::as_str);
    matches!(kind, Some("reward" | "evaluation")) && event.value.pointer("/metadata/judged_span_id").is_some()
}

/// Adds rewards and evaluations to the operations that they refer to, else to the root.
pub(super) fn judged(history: &[At<'_>], builder: &mut TraceBuilder) {
    let places = builder.places();
    for event in history.iter().filter(|event| judges(event)) {
        let about = |key: &str| event.value.pointer(&format!("/metadata/{key}"));
        let span = about("judged_span_id").and_then(Value::as_str).and_then(SpanId::from_hex);
        let place = span.and_then(|span| places.get(&span).copied()).unwrap_or(0);
        let Some(operation) = builder.operation(place) else { continue };
        match about("evaluation") {
            Some(evaluation) => {
                let mut facts = Map::from_iter([("evaluations".to_owned(), Value::from(vec![evaluation.clone()]))]);
                let mut read = Operation::default();
                read_facts(&mut facts, &mut read);
                operation.evaluations.append(&mut read.evaluations);
            }
            None => operation.training.reward = event.value.get("reward").and_then(Value::as_f64),
        }
    }
}

/// The agent before the system's name (`<agent>/`), and the system's own name.
fn system<'a>(event: &At<'a>) -> Result<(Option<&'a str>, &'a str)> {
    let whole = event.text_of("system_instance_id")?.unwrap_or_default();
    let kind_end = whole.find(':').unwrap_or(whole.len());
    let slash = whole.get(..kind_end).and_then(|before| before.rfind('/'));
    Ok(match slash {
        Some(slash) => (whole.get(..slash), whole.get(slash + 1..).unwrap_or_default()),
        None => (None, whole),
    })
}

/// A system's name after the first colon.
fn own_name(system: &str) -> &str {
    system.split_once(':').map_or(system, |(_, name)| name)
}

impl EventReader<'_> {
    fn around(&mut self, agent: Option<&str>) -> usize {
        let Some(agent) = agent else { return 0 };
        if let Some(known) = self.agents.get(agent) {
            return *known;
        }
        let outer = agent.rsplit_once('/').map(|(outer, _)| outer);
        let around = self.around(outer);
        let name = agent.rsplit('/').next().unwrap_or(agent);
        let name = name.rsplit_once('#').map_or(name, |(name, _)| name);
        let mut operation = Operation::named(Kind::Agent, name);
        operation.agent.name = Some(name.to_owned());
        let id = self.builder.id(None, &format!("agents.{agent}"));
        let index = self.builder.add(id, around, operation);
        self.agents.insert(agent.to_owned(), index);
        index
    }

    fn add(&mut self, event: &At<'_>, span_id: Option<&str>, around: usize, operation: Operation) -> usize {
        let id = self.builder.id_at(span_id, event);
        self.builder.add(id, around, operation)
    }

    fn model(&mut self, event: &At<'_>) -> Result<()> {
        let (agent, _) = system(event)?;
        let around = self.around(agent);
        let mut metadata = event.object_of("metadata")?;
        let (start, end) = exact(&mut metadata);
        let records = event.items_of("call_records")?;
        let mut operation = Operation {
            kind: Kind::Llm,
            ..Operation::default()
        };
        let model = event
            .text_of("model_name")?
            .filter(|model| !model.is_empty() && *model != "unknown");
        operation.model.response = model.map(str::to_owned);
        operation.name = model.unwrap_or("model call").to_owned();
        operation.model.provider = event.text_of("provider")?.map(str::to_owned);
        let count = |key: &str| event.value.get(key).and_then(Value::as_u64);
        operation.usage.input = count("input_tokens");
        operation.usage.output = count("output_tokens");
        let sum = operation
            .usage
            .input
            .zip(operation.usage.output)
            .and_then(|(a, b)| a.checked_add(b));
        operation.usage.total = count("total_tokens").filter(|total| Some(*total) != sum);
        operation.cost.total = event.value.get("cost_usd").and_then(Value::as_f64);
        self.take(metadata, &mut operation);
        if let Some(first) = records.first() {
            calls::read(first, &mut operation, &mut self.noted)?;
        }
        let span_id = event.text_of("span_id")?;
        let index = self.add(event, span_id, around, operation);
        let latency = count("latency_ms").map(|latency| latency.saturating_mul(1_000_000));
        let start = start.or(event_time(event)?);
        let end = end.or_else(|| Some(UnixNanos(start?.0.saturating_add(latency?))));
        self.builder.times(index, start, end);
        // Further records of an event are separate calls.
        for record in records.iter().skip(1) {
            let mut operation = Operation::named(Kind::Llm, "model call");
            operation.model.response = record.text_of("model_name")?.map(str::to_owned);
            operation.model.provider = record.text_of("provider")?.map(str::to_owned);
            calls::read(record, &mut operation, &mut self.noted)?;
            let index = self.add(record, None, around, operation);
            let at = |key: &str| Ok(record.text_of(key)?.and_then(time));
            self.builder.times(index, at("started_at")?.or(end), at("completed_at")?);
        }
        Ok(())
    }

    fn environment(&mut self, event: &At<'_>, messages: &Messages) -> Result<()> {
        let (agent, system) = system(event)?;
        let around = self.around(agent);
        let mut metadata = event.object_of("metadata")?;
        let (start, end) = exact(&mut metadata);
        let kind = system
            .split_once(':')
            .and_then(|(kind, _)| Kind::from_name(kind))
            .unwrap_or(Kind::Tool);
        let call_id = metadata
            .get("call_id")
            .or_else(|| metadata.get("tool_call_id"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        let recorded = metadata.shift_remove("tool_call_id").and_then(|id| id.as_str().map(str::to_owned));
        let arguments = call_id.as_deref().and_then(|id| messages.arguments(id)).cloned();
        self.noted.calls.extend(call_id);
        let after = event.some("system_state_after").map(|after| after.value);
        let only = after.and_then(|after| after.as_object().filter(|map| map.len() == 1)?.get("result"));
        let result = only.or(after).cloned();
        let mut operation = Operation::named(kind, own_name(system).to_owned());
        let number = |key: &str| metadata.get(key).and_then(Value::as_f64);
        let took = number("duration_ms").filter(|took| (0.0..1e12).contains(took));
        let span_id = metadata.get("span_id").and_then(Value::as_str).map(str::to_owned);
        match kind {
            Kind::Tool => {
                let span = span_id.as_deref();
                operation.tool = Some(Box::new(ToolUse {
                    name: Some(operation.name.clone()),
                    call_id: recorded.filter(|id| Some(id.as_str()) != span && !self.noted.derived_ids.contains(id)),
                    arguments,
                    result,
                    ..ToolUse::default()
                }));
            }
            Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => {
                let query = metadata
                    .shift_remove("query")
                    .map(|query| Map::from_iter([("query".to_owned(), query)]).into());
                let documents = result.as_ref().and_then(|found| found.get("documents")).cloned();
                if documents.is_some() {
                    operation.kind = Kind::Retrieval;
                }
                searched(&mut operation, query.as_ref(), documents.or(result));
                operation.kind = kind;
            }
            _ => operation.output = result.map(Into::into).unwrap_or_default(),
        }
        self.take(metadata, &mut operation);
        let reward = event.some("reward").and_then(|reward| reward.value.as_f64());
        operation.training.reward = operation.training.reward.or(reward.filter(|reward| *reward != 0.0));
        let index = self.add(event, span_id.as_deref(), around, operation);
        let end = end.or(event_time(event)?);
        let start = start.or_else(|| Some(UnixNanos(end?.0.saturating_sub(milliseconds(took?)))));
        self.builder.times(index, start, end);
        Ok(())
    }

    fn runtime(&mut self, event: &At<'_>) -> Result<()> {
        event.object()?;
        let (agent, system) = system(event)?;
        let mut metadata = event.object_of("metadata")?;
        let (start, end) = exact(&mut metadata);
        let mut word = |key: &str| take_text(&mut metadata, key);
        let kind = word("kind").as_deref().and_then(Kind::from_name).unwrap_or(Kind::Chain);
        let name = word("name").unwrap_or_else(|| own_name(system).to_owned());
        let span_id = word("span_id");
        let took = metadata
            .get("duration_ms")
            .and_then(Value::as_f64)
            .filter(|took| (0.0..1e12).contains(took));
        // An agent's event has the agent itself as prefix.
        let is_agent = kind == Kind::Agent && agent.is_some();
        let outer = if is_agent {
            agent.and_then(|agent| agent.rsplit_once('/')).map(|(outer, _)| outer)
        } else {
            agent
        };
        let around = self.around(outer);
        let mut operation = Operation::named(kind, name);
        operation.input = metadata.shift_remove("input").map(Into::into).unwrap_or_default();
        operation.output = metadata.shift_remove("output").map(Into::into).unwrap_or_default();
        self.take(metadata, &mut operation);
        let index = self.add(event, span_id.as_deref(), around, operation);
        if let Some(agent) = agent.filter(|_| is_agent) {
            self.agents.insert(agent.to_owned(), index);
        }
        let start = start.or(event_time(event)?);
        let end = end.or_else(|| Some(UnixNanos(start?.0.saturating_add(milliseconds(took?)))));
        self.builder.times(index, start, end);
        Ok(())
    }

    /// Reads an event's metadata into an operation.
    fn take(&self, mut metadata: Map<String, Value>, operation: &mut Operation) {
        for key in [
            "step_id",
            "span_id",
            "call_id",
            "duration_ms",
            "evidence",
            "observed",
            "operation_id",
        ] {
            metadata.shift_remove(key);
        }
        if let Some(name) = metadata.get("span_name").and_then(Value::as_str) {
            operation.name = name.to_owned();
            metadata.shift_remove("span_name");
        }
        if let Some(extras) = metadata.shift_remove("format_extras") {
            metadata.entry("spanbridge").or_insert(extras);
        }
        if operation.kind == Kind::Agent
            && let Some(description) = metadata.shift_remove("description")
        {
            metadata.entry("agent_description").or_insert(description);
        }
        if let Some(cost) = metadata.get("cost_usd").and_then(Value::as_f64) {
            operation.cost.total = Some(cost);
            metadata.shift_remove("cost_usd");
        }
        let fact = |name: &str| {
            name.strip_suffix("_tokens")
                .filter(|fact| TokenCount::NAMES.contains(fact))
                .map(str::to_owned)
        };
        if let Some(Value::Object(counts)) = metadata.get_mut("usage")
            && let Some(read) = counts.iter().map(|(name, count)| Some((fact(name)?, count.clone()))).collect()
        {
            *counts = read;
        }
        if let Some(Value::Object(training)) = metadata.shift_remove("training") {
            metadata.extend(training);
        }
        if let Some(error) = metadata.get("error").and_then(Value::as_str) {
            operation.failure = Some(error.to_owned().into());
            metadata.shift_remove("error");
        }
        read_facts(&mut metadata, operation);
        operation.metadata.extend(metadata);
    }
}

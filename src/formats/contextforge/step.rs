//! Converts one operation to a step: whatever the table does not describe.

use serde_json::Value;

use super::memory_values::{changes, numbers, replaces, texts};
use super::table;
use super::words::{Words, joined, joined_words, words};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::document::text::compact;
use crate::operation::{Document, Field, Kind, Operation};
use crate::run::Observed;
use crate::span::UnixNanos;
use crate::transcript::step_record::{StepRecord, take};
use crate::transcript::{calls, content, facts, is_model_call};

/// The step made from an operation.
pub(super) struct StepParts<'a> {
    pub(super) step_type: &'static str,
    pub(super) body: Object<'a>,
    pub(super) metadata: Object<'a>,
}

/// Orders steps of the same time: input words before the call that received them, the answer at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Before,
    Itself,
    After,
}

/// A step with its sort key.
pub(super) struct StepDraft<'a> {
    pub(super) at: UnixNanos,
    pub(super) place: (usize, Side),
    pub(super) step: Object<'a>,
}

impl<'a> StepDraft<'a> {
    pub(super) fn new(at: UnixNanos, place: (usize, Side), id: Text<'a>, parent: Option<Text<'a>>, made: StepParts<'a>) -> Self {
        let mut step = Object::with_capacity(5 + made.body.len());
        step.add("step_id", id);
        step.add("step_type", made.step_type);
        step.add("timestamp", at.rfc3339());
        if let Some(parent) = parent {
            step.add("parent_step_id", parent);
        }
        for (name, value) in made.body {
            step.add(name, value);
        }
        step.add_filled("metadata", made.metadata);
        Self { at, place, step }
    }
}

/// The step for an operation; `None` if ContextForge has no step for it.
pub(super) fn make<'a>(mut record: StepRecord<'a, '_>, options: &Options) -> Option<StepParts<'a>> {
    let (step, operation) = (record.step, &record.step.operation);
    // Evaluations are in the run's metadata.
    record.facts.remove("evaluations");
    let (step_type, body) = match operation.kind {
        _ if is_model_call(step) => llm_call(&mut record),
        Kind::Tool => tool_call(&mut record),
        Kind::Retrieval | Kind::Rerank => retrieval(&mut record),
        Kind::Embedding if options.is("contextforge.embeddings", "retrieval") => embedding(&mut record),
        Kind::MemoryRead => memory_read(&mut record),
        Kind::MemoryWrite => memory_write(&mut record),
        Kind::Interrupt => interrupt(&mut record),
        Kind::UserInput => user_input(&mut record)?,
        Kind::FinalOutput => final_output(&mut record)?,
        Kind::StateChange | Kind::Handoff => state_change(&mut record),
        Kind::Plain | Kind::Detail => return None,
        _ if operation.state.as_ref().is_some_and(|state| state.key.is_some()) => state_change(&mut record),
        _ => return None,
    };
    let is_named = body.get("tool_name").is_some_and(|name| name.as_str() == Some(&operation.name));
    if !operation.name.is_empty() && !is_named {
        record.facts.insert("span_name", operation.name.as_str());
    }
    let has_latency = matches!(step_type, "llm_call" | "tool_call" | "retrieval" | "interrupt");
    if let Some(latency) = step.latency_ms().filter(|_| !has_latency) {
        record.facts.insert("latency_ms", latency);
    }
    if step.observed == Observed::Messages {
        record.lose("timestamp", LossReason::Synthesized);
    }
    Some(StepParts {
        step_type,
        body,
        metadata: record.facts,
    })
}

/// A step's type and fields.
type Body<'a> = (&'static str, Object<'a>);

fn body<'a, const N: usize>(record: &mut StepRecord<'a, '_>, step_type: &'static str, own: [(&str, Option<Json<'a>>); N]) -> Body<'a> {
    let fields = table::fields(step_type).unwrap_or_default();
    let mut out = Object::with_capacity(fields.len());
    record.write(fields, own, &mut out);
    (step_type, out)
}

/// The answer's body; `None` if there is none.
pub(super) fn answer<'a>(content: Json<'a>, format: Option<&'a str>) -> Option<Object<'a>> {
    let kind = match &content {
        Json::Null => return None,
        Json::Text(text) if text.trim().is_empty() => return None,
        Json::Text(_) => "text",
        _ => "json",
    };
    Some(Object::from([("content", content), ("format", format.unwrap_or(kind).into())]))
}

/// User words recorded as a separate operation.
pub(super) fn user_words(operation: &Operation) -> Option<Words<'_>> {
    let messages = operation.input_messages.as_deref().or(operation.output_messages.as_deref());
    joined_words(messages)
        .or_else(|| words(operation.input.get()?))
        .or_else(|| words(operation.output.get()?))
}

fn llm_call<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let operation = &record.step.operation;
    let (input, output) = (llm_input(record), llm_output(record));
    match (input.is_some(), output.is_some()) {
        (true, true) => {}
        (false, false) => record.note_silence(),
        _ if operation.has_unread_words => {}
        (false, true) => record.facts.insert("input_captured", false),
        (true, false) if operation.failure.is_none() => record.facts.insert("output_captured", false),
        _ => {}
    }
    body(record, "llm_call", [("input", input), ("output", output)])
}

fn llm_input<'a>(record: &mut StepRecord<'a, '_>) -> Option<Json<'a>> {
    let operation = &record.step.operation;
    if let Some(messages) = &operation.input_messages {
        return Some(content::chats(messages));
    }
    match operation.input.get()? {
        Value::Null => None,
        text @ Value::String(_) => Some(text.into()),
        list @ Value::Array(items) if items.iter().all(Value::is_object) => Some(list.into()),
        object @ Value::Object(_) => Some(Json::List(vec![object.into()])),
        other => {
            record.lose("input", LossReason::Coerced);
            Some(compact(other).into())
        }
    }
}

fn llm_output<'a>(record: &mut StepRecord<'a, '_>) -> Option<Json<'a>> {
    let operation = &record.step.operation;
    if let Some((first, chat)) = record.answer() {
        let is_only_text = first.tool_calls.is_empty() && !first.has_media() && first.name.is_none();
        return Some(if is_only_text { content::content(first).into() } else { chat });
    }
    match operation.output.get()? {
        Value::Null => None,
        kept @ (Value::String(_) | Value::Object(_)) => Some(kept.into()),
        other => {
            record.lose("output", LossReason::Coerced);
            Some(Object::from([("output", other.into())]).into())
        }
    }
}

fn tool_call<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let (run, step) = (record.run, record.step);
    let (arguments, wrapped) = calls::arguments_object(calls::arguments(run, step));
    if wrapped {
        record.lose("arguments", LossReason::Coerced);
    }
    if let Some(id) = calls::call_id(run, step) {
        record.facts.insert("tool_call_id", id);
    }
    let failure = step.operation.failure.as_ref();
    if failure.is_some_and(|failure| failure.error_type.is_none() && failure.stacktrace.is_none()) {
        record.facts.remove("error");
    }
    let is_from_messages = step.observed == Observed::Messages;
    let is_known = step.ended_at.is_some() && !(is_from_messages && record.results.get(step).is_none());
    let success = failure.map(|_| false).or(is_known.then_some(true));
    let impact = impact(record);
    body(
        record,
        "tool_call",
        [
            ("arguments", Some(arguments.into())),
            ("latency_ms", step.latency_ms().filter(|_| !is_from_messages).map(Json::from)),
            ("success", success.map(Json::from)),
            ("resource_impact", impact),
        ],
    )
}

/// What a tool consumed, if amount and unit are known; else its cost.
fn impact<'a>(record: &mut StepRecord<'a, '_>) -> Option<Json<'a>> {
    let operation = &record.step.operation;
    let amount = match &operation.resource_impact {
        Some(impact) => impact.amount.filter(|_| impact.unit.is_some()),
        None => operation.cost.total,
    };
    amount.filter(|amount| amount.is_finite())?;
    let mut out = Object::new();
    record.write(table::IMPACT.fields, [], &mut out);
    Some(out.into())
}

fn retrieval<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let operation = &record.step.operation;
    if operation.kind == Kind::Rerank {
        record.facts.insert("reranker", true);
    }
    let documents = operation.search.as_ref().and_then(|search| search.documents.as_deref());
    if documents.is_none() {
        match operation.output.get() {
            Some(output) if !output.is_null() => record.facts.insert("output", output),
            _ => record.note_silence(),
        }
    }
    let documents = documents.unwrap_or_default();
    let count = match_count(record, documents.len());
    let results = documents.iter().map(result).collect();
    body(record, "retrieval", [("results", Some(results)), ("match_count", count)])
}

/// A document; a score outside 0..1 goes to the metadata.
fn result(document: &Document) -> Object<'_> {
    let mut metadata = Object::from(&document.metadata);
    if let Some(id) = &document.id {
        metadata.insert_new("id", id);
    }
    if document.content.is_none() {
        metadata.insert_new("content_captured", false);
    }
    let score = document.score.filter(|score| (0.0..=1.0).contains(score));
    if score.is_none()
        && let Some(recorded) = document.score.filter(|score| score.is_finite())
    {
        metadata.insert_new("score", recorded);
    }
    table::RESULT.given([
        ("content", document.content.as_deref().unwrap_or_default().into()),
        ("score", score.into()),
        ("metadata", metadata.into()),
    ])
}

/// The recorded number of matches, but at least the number of results written.
fn match_count<'a>(record: &mut StepRecord<'a, '_>, results: usize) -> Option<Json<'a>> {
    let recorded = record.step.operation.search.as_ref().and_then(|search| search.match_count);
    let written = recorded.unwrap_or(0).max(results as u64);
    if recorded == Some(written) {
        record.facts.remove("match_count");
    }
    Some(written.into())
}

fn embedding<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let texts = record.step.operation.embedded_texts.join("\n");
    record.facts.insert("embedding", true);
    let query = (!texts.is_empty()).then(|| Json::from(texts));
    let own = [
        ("query", query),
        ("results", Some(Json::List(Vec::new()))),
        ("match_count", Some(0_u64.into())),
    ];
    body(record, "retrieval", own)
}

fn user_input<'a>(record: &mut StepRecord<'a, '_>) -> Option<Body<'a>> {
    let spoken = user_words(&record.step.operation)?;
    if spoken.coerced {
        record.lose("content", LossReason::Coerced);
    }
    if let Some(original) = spoken.original {
        record.facts.insert("content", original);
    }
    Some(body(record, "user_input", [("content", Some(spoken.text.into()))]))
}

fn final_output<'a>(record: &mut StepRecord<'a, '_>) -> Option<Body<'a>> {
    let operation = &record.step.operation;
    let format = operation.content_type.output.as_deref();
    let messages = operation.output_messages.as_deref().or(operation.input_messages.as_deref());
    let message = joined(messages);
    let content = if message.has_media() {
        message.chat_content()
    } else {
        message.content().into()
    };
    let body = answer(content.into(), format)
        .or_else(|| answer(operation.output.get()?.into(), format))
        .or_else(|| answer(operation.input.get()?.into(), format))?;
    record.facts.remove("format");
    Some(("final_output", body))
}

fn memory_read<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let operation = &record.step.operation;
    let results = match content::output(record.results, record.step) {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::List(items)) => items,
        Some(Json::Values(items)) => items.iter().map(Json::from).collect(),
        Some(other) => vec![other],
    };
    take(&mut record.facts, Field::MemoryResults);
    let scores = operation.memory.as_ref().and_then(|memory| numbers(memory.scores.as_ref()?));
    if scores.is_some() {
        take(&mut record.facts, Field::MemoryScores);
    }
    let of_documents = || {
        let documents = operation.search.as_ref()?.documents.as_deref()?;
        let scores: Option<Vec<f64>> = documents.iter().map(|document| document.score).collect();
        scores.filter(|scores| !scores.is_empty())
    };
    let scores = scores.or_else(of_documents).map(|scores| scores.into_iter().collect());
    let count = match_count(record, results.len());
    let own = [
        ("results", Some(Json::List(results))),
        ("match_count", count),
        ("relevance_scores", scores),
    ];
    body(record, "memory_read", own)
}

fn memory_write<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let operation = &record.step.operation;
    let memory = operation.memory.as_ref();
    let data = memory.and_then(|memory| memory.data.as_ref());
    let data = match data.or_else(|| operation.input.get()) {
        Some(Value::Object(map)) => map.into(),
        None | Some(Value::Null) => Object::new(),
        Some(other) => {
            record.lose("data", LossReason::Coerced);
            Object::from([("value", other.into())])
        }
    };
    let recorded = memory.and_then(|memory| memory.operation.as_deref());
    let word = match recorded.map(str::to_ascii_lowercase).as_deref() {
        Some("update") => Some("update"),
        Some("delete") => Some("delete"),
        Some("put") if memory.is_some_and(|memory| replaces(memory)) => Some("update"),
        Some("add" | "create" | "upsert" | "insert" | "put") => Some("add"),
        _ => None,
    };
    let namespace = memory.and_then(|memory| texts(memory.namespace.as_ref()?));
    let changes = memory.and_then(|memory| changes(memory.changes.as_ref()?));
    let taken = [
        (Field::MemoryOperation, true),
        (Field::MemoryData, true),
        (Field::MemoryNamespace, namespace.is_some()),
        (Field::MemoryChanges, changes.is_some()),
    ];
    for (field, _) in taken.into_iter().filter(|(_, is_taken)| *is_taken) {
        take(&mut record.facts, field);
    }
    if let Some(recorded) = recorded.filter(|recorded| *recorded != word.unwrap_or("add")) {
        record.facts.insert("operation", recorded);
    }
    if let Some(output) = operation.output.get() {
        record.facts.insert("output", output);
    }
    let own = [
        ("namespace", namespace),
        ("operation", word.map(Json::from)),
        ("data", Some(data.into())),
        ("changes", changes),
    ];
    body(record, "memory_write", own)
}

fn state_change<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let operation = &record.step.operation;
    let state = operation.state.as_ref();
    let is_handoff = operation.kind == Kind::Handoff;
    let key = match state.and_then(|state| state.key.as_deref()) {
        Some(key) => key,
        None if is_handoff => "active_agent",
        None => {
            record.lose("state_key", LossReason::Synthesized);
            &operation.name
        }
    };
    let named = || operation.agent.name.as_ref().filter(|_| is_handoff).map(Json::from);
    let from_state = state.and_then(|state| state.new_value.as_ref());
    let new_value = from_state.filter(|value| !value.is_null()).map(Json::from).or_else(named);
    let new_value = new_value.unwrap_or_else(|| {
        let reason = match from_state {
            Some(_) => LossReason::Coerced,
            None => LossReason::Synthesized,
        };
        record.lose("new_value", reason);
        "".into()
    });
    let mut words = facts::in_and_out(record.run, record.results, record.step);
    if operation.kind == Kind::StateChange || operation.output.is_none() {
        words.retain(|_, value| *value != new_value);
    }
    let body = body(
        record,
        "state_change",
        [("state_key", Some(key.into())), ("new_value", Some(new_value))],
    );
    record.facts.remove("state");
    if operation.kind != Kind::StateChange {
        record.facts.insert("kind", operation.kind.name());
    }
    record.facts.extend(words);
    body
}

fn interrupt<'a>(record: &mut StepRecord<'a, '_>) -> Body<'a> {
    let body = body(record, "interrupt", []);
    record.facts.remove("interrupt");
    body
}

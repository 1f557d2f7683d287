//! Represents operations outside the conversations as a tool call with its result.

use super::facts::{self, documents, filled};
use crate::document::json::{Json, Object};
use crate::document::json_read::recorded;
use crate::operation::{Kind, Operation};
use crate::run::Step;
use crate::transcript::calls::arguments_object;
use crate::transcript::content;

/// A call and its result.
pub(super) struct Pair<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Object<'a>,
    pub(super) output: Json<'a>,
    /// The operation's recorded words.
    pub(super) raw: Object<'a>,
    /// Facts of the operation that call and result do not contain.
    pub(super) beside: Object<'a>,
}

/// The pair for a step.
pub(super) fn pair(step: &Step) -> Pair<'_> {
    let operation = &step.operation;
    let mut beside = facts::about(operation);
    let (arguments, output) = match operation.kind {
        Kind::Tool => tool(operation, &mut beside),
        Kind::MemoryRead | Kind::MemoryWrite if operation.memory.is_some() => memory(operation, &mut beside),
        Kind::Handoff => handoff(operation, &mut beside),
        _ => search(operation, &mut beside),
    };
    let named = operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    let name = [named, Some(operation.name.as_str())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or(operation.kind.name());
    let (input, whole_output) = (
        Json::from(content::whole_input(operation)),
        Json::from(content::whole_output(operation)),
    );
    facts::take_repeated(&mut beside, name, &input, &output);
    Pair {
        name,
        arguments,
        output,
        raw: Object::from([
            ("span_id", step.span_id.map(|span| span.to_string()).into()),
            ("name", (&operation.name).into()),
            ("kind", operation.kind.name().into()),
            ("input", input),
            ("output", whole_output),
        ]),
        beside,
    }
}

fn tool<'a>(operation: &'a Operation, beside: &mut Object<'a>) -> (Object<'a>, Json<'a>) {
    take(beside, &["arguments", "result"]);
    let tool = operation.tool.as_ref();
    let (arguments, _) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
    (arguments, tool.and_then(|tool| tool.result.as_ref()).into())
}

fn search<'a>(operation: &'a Operation, beside: &mut Object<'a>) -> (Object<'a>, Json<'a>) {
    take(beside, &["query", "top_k", "documents"]);
    let search = operation.search.as_ref();
    let query = search
        .and_then(|search| search.query.as_ref())
        .or_else(|| operation.input.get())
        .into();
    let found = search
        .and_then(|search| search.documents.as_deref())
        .map(documents)
        .or_else(|| recorded(&operation.output))
        .unwrap_or_default();
    let arguments = filled([("query", query), ("top_k", search.and_then(|search| search.top_k).into())]);
    (arguments, found)
}

fn memory<'a>(operation: &'a Operation, beside: &mut Object<'a>) -> (Object<'a>, Json<'a>) {
    let Some(memory) = &operation.memory else {
        return search(operation, beside);
    };
    take(beside, &["memory", "top_k"]);
    beside.retain(|key, value| match key {
        "query" => memory.query.as_ref().is_some_and(|query| *value != *query),
        "documents" => memory.results.as_ref().is_some_and(|results| *value != *results),
        _ => true,
    });
    let search = operation.search.as_ref();
    let read = operation.kind == Kind::MemoryRead;
    let query = memory
        .query
        .as_ref()
        .or_else(|| search.and_then(|search| search.query.as_ref()))
        .or_else(|| operation.input.get().filter(|_| read));
    let arguments = filled([
        ("operation", memory.operation.as_ref().into()),
        ("entity_type", memory.entity_type.as_ref().into()),
        ("entity_id", memory.entity_id.as_ref().into()),
        ("namespace", memory.namespace.as_ref().into()),
        ("key", memory.key.as_ref().into()),
        ("data", memory.data.as_ref().into()),
        ("changes", memory.changes.as_ref().into()),
        ("query", query.into()),
        ("top_k", search.and_then(|search| search.top_k).into()),
    ]);
    let found = search.and_then(|search| search.documents.as_deref()).map(documents);
    let results = memory.results.as_ref().map(Json::from).or(found);
    let results = results.or_else(|| recorded(&operation.output));
    let results = results.unwrap_or_default();
    let beside = || {
        filled([
            ("results", results.clone()),
            ("scores", memory.scores.as_ref().into()),
            ("total_available", memory.total_available.into()),
        ])
    };
    let output = if memory.scores.is_some() || memory.total_available.is_some() {
        beside().into()
    } else {
        results
    };
    (arguments, output)
}

fn handoff<'a>(operation: &'a Operation, beside: &mut Object<'a>) -> (Object<'a>, Json<'a>) {
    let state = operation.state.as_ref();
    if let Some(Json::Object(written)) = beside.get_mut("state") {
        take(written, &["old_value", "new_value", "reason"]);
    }
    beside.retain(|_, value| !value.is_empty());
    let from = state.and_then(|state| state.old_value.as_ref()).into();
    let to = Json::from(state.and_then(|state| state.new_value.as_ref()));
    let reason = state.and_then(|state| state.reason.as_ref()).into();
    let arguments = filled([("from", from), ("to", to.clone()), ("reason", reason)]);
    let output = recorded(&operation.output).unwrap_or(to);
    (arguments, output)
}

/// Removes facts that are written elsewhere.
fn take(facts: &mut Object<'_>, written: &[&str]) {
    if !facts.is_empty() {
        facts.retain(|key, _| !written.contains(&key));
    }
}

//! Operations that no conversation tells of, as a tool call with its result.

use super::facts::{documents, filled, number};
use crate::formats::calls::arguments_object;
use crate::formats::json::{Json, Object};
use crate::formats::json_read::recorded;
use crate::operation::{Kind, Operation};
use crate::run::Step;

/// A call and its result.
pub(super) struct Pair<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Object<'a>,
    pub(super) output: Json<'a>,
    /// The operation's own words.
    pub(super) raw: Object<'a>,
}

/// The pair that stands for a step.
pub(super) fn pair(step: &Step) -> Pair<'_> {
    let operation = &step.operation;
    let (arguments, output) = match operation.kind {
        Kind::Tool => tool(operation),
        Kind::MemoryRead | Kind::MemoryWrite if operation.memory.is_some() => memory(operation),
        Kind::Handoff => handoff(operation),
        _ => search(operation),
    };
    let named = operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    let name = [named, Some(operation.name.as_str())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or(operation.kind.name());
    Pair {
        name,
        arguments,
        output,
        raw: Object::from([
            ("span_id", step.span_id.map(|span| span.to_string()).into()),
            ("name", (&operation.name).into()),
            ("kind", operation.kind.name().into()),
            ("input", recorded(&operation.input).into()),
            ("output", recorded(&operation.output).into()),
        ]),
    }
}

fn tool(operation: &Operation) -> (Object<'_>, Json<'_>) {
    let tool = operation.tool.as_ref();
    let (arguments, _) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
    (arguments, tool.and_then(|tool| tool.result.as_ref()).into())
}

fn search(operation: &Operation) -> (Object<'_>, Json<'_>) {
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

fn memory(operation: &Operation) -> (Object<'_>, Json<'_>) {
    let Some(memory) = &operation.memory else {
        return search(operation);
    };
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

fn handoff(operation: &Operation) -> (Object<'_>, Json<'_>) {
    let state = operation.state.as_ref();
    let from = state.and_then(|state| state.old_value.as_ref()).into();
    let to = Json::from(state.and_then(|state| state.new_value.as_ref()));
    let reason = state.and_then(|state| state.reason.as_ref()).into();
    let cost = number(operation.cost.total);
    let arguments = filled([("from", from), ("to", to.clone()), ("reason", reason), ("cost_usd", cost)]);
    let output = recorded(&operation.output).unwrap_or(to);
    (arguments, output)
}

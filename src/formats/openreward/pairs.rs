//! Operations that no conversation tells of, as a tool call with its result.

use serde_json::{Map, Value, json};

use super::facts::{documents, filled, number};
use crate::operation::{Kind, Operation};
use crate::run::Step;

/// A call and its result.
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) output: Value,
    /// The operation's own words.
    pub(super) raw: Value,
}

/// The pair that stands for a step.
pub(super) fn pair(step: &Step) -> Pair {
    let operation = &step.operation;
    let (arguments, output) = match operation.kind {
        Kind::Tool => tool(operation),
        Kind::MemoryRead | Kind::MemoryWrite if operation.memory.is_some() => memory(operation),
        Kind::Handoff => handoff(operation),
        _ => search(operation),
    };
    let named = operation.tool.as_ref().and_then(|tool| tool.name.clone());
    let name = [named, Some(operation.name.clone())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| operation.kind.name().to_owned());
    Pair {
        name,
        arguments: match arguments {
            Value::Object(map) => map,
            _ => Map::new(),
        },
        output,
        raw: json!({
            "span_id": step.span_id.map(|span| span.to_string()),
            "name": operation.name,
            "kind": operation.kind.name(),
            "input": operation.input,
            "output": operation.output,
        }),
    }
}

fn tool(operation: &Operation) -> (Value, Value) {
    let tool = operation.tool.as_ref();
    let (arguments, _) = crate::operation::message::arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
    (arguments.into(), tool.and_then(|tool| tool.result.clone()).unwrap_or_default())
}

fn search(operation: &Operation) -> (Value, Value) {
    let search = operation.search.as_ref();
    let query = search
        .and_then(|search| search.query.clone())
        .or_else(|| operation.input.clone())
        .unwrap_or_default();
    let found = search
        .and_then(|search| search.documents.as_deref())
        .map(documents)
        .or_else(|| operation.output.clone())
        .unwrap_or_default();
    let arguments = filled([("query", query), ("top_k", search.and_then(|search| search.top_k).into())]);
    (arguments, found)
}

fn memory(operation: &Operation) -> (Value, Value) {
    let Some(memory) = &operation.memory else {
        return search(operation);
    };
    let search = operation.search.as_ref();
    let read = operation.kind == Kind::MemoryRead;
    let query = memory
        .query
        .clone()
        .or_else(|| search.and_then(|search| search.query.clone()))
        .or_else(|| operation.input.clone().filter(|_| read));
    let arguments = filled([
        ("operation", memory.operation.clone().into()),
        ("entity_type", memory.entity_type.clone().into()),
        ("entity_id", memory.entity_id.clone().into()),
        ("namespace", memory.namespace.clone().unwrap_or_default()),
        ("key", memory.key.clone().into()),
        ("data", memory.data.clone().unwrap_or_default()),
        ("changes", memory.changes.clone().unwrap_or_default()),
        ("query", query.unwrap_or_default()),
        ("top_k", search.and_then(|search| search.top_k).into()),
    ]);
    let found = search.and_then(|search| search.documents.as_deref()).map(documents);
    let results = memory.results.clone().or(found).or_else(|| operation.output.clone());
    let beside = filled([
        ("results", results.clone().unwrap_or_default()),
        ("scores", memory.scores.clone().unwrap_or_default()),
        ("total_available", memory.total_available.into()),
    ]);
    let output = if memory.scores.is_some() || memory.total_available.is_some() {
        beside
    } else {
        results.unwrap_or_default()
    };
    (arguments, output)
}

fn handoff(operation: &Operation) -> (Value, Value) {
    let state = operation.state.as_ref();
    let from = state.and_then(|state| state.old_value.clone()).unwrap_or_default();
    let to = state.and_then(|state| state.new_value.clone()).unwrap_or_default();
    let reason = state.and_then(|state| state.reason.clone()).into();
    let cost = number(operation.cost.total);
    let arguments = filled([("from", from), ("to", to.clone()), ("reason", reason), ("cost_usd", cost)]);
    let output = operation.output.clone().or(Some(to).filter(|to| !to.is_null())).unwrap_or_default();
    (arguments, output)
}

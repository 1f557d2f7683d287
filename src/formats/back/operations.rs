//! Reads operations that documents list next to their messages: sub-agents, input not passed to a model, searches.

use serde_json::{Map, Value};

use super::at::{At, time};
use super::facts::read as read_facts;
use super::note::NoteKind;
use super::trace_builder::TraceBuilder;
use crate::operation::{Document, Kind, Message, Operation, Role, ToolCall, ToolUse};
use crate::span::UnixNanos;

/// Reads operations attached to an event: they become its children if it is a tool, else its siblings under the agent.
pub(in crate::formats) fn read(list: Option<&Value>, event: usize, around: usize, builder: &mut TraceBuilder) {
    for (number, item) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let Some(map) = item.as_object() else { continue };
        one(map, event, number, around, builder);
    }
}

fn one(facts: &Map<String, Value>, event: usize, number: usize, around: usize, builder: &mut TraceBuilder) {
    let mut facts = facts.clone();
    let mut word = |key: &str| facts.shift_remove(key).and_then(|value| value.as_str().map(str::to_owned));
    let kind = word("kind").as_deref().and_then(Kind::from_name).unwrap_or(Kind::Unknown);
    let (name, span_id) = (word("name").unwrap_or_default(), word("span_id"));
    let (start, end) = (word("started_at"), word("ended_at"));
    let exact = facts.shift_remove("time");
    for group in ["model_call", "facts"] {
        if let Some(Value::Object(inner)) = facts.shift_remove(group) {
            facts.extend(inner);
        }
    }
    let (input, output) = (facts.shift_remove("input"), facts.shift_remove("output"));
    let mut operation = Operation::named(kind, name);
    read_facts(&mut facts, &mut operation);
    operation.metadata.extend(facts);
    if matches!(kind, Kind::Tool | Kind::Handoff) {
        let tool: &mut ToolUse = operation.tool.get_or_insert_default();
        tool.name = Some(operation.name.clone());
        (tool.arguments, tool.result) = (input, output);
    } else if matches!(kind, Kind::Retrieval | Kind::Rerank | Kind::MemoryRead) {
        searched(&mut operation, input.as_ref(), output);
    } else {
        operation.input = input.map(Into::into).unwrap_or_default();
        operation.output = output.map(Into::into).unwrap_or_default();
    }
    // An agent listed for the whole document is the root.
    let is_root = kind == Kind::Agent
        && builder
            .drafts
            .first()
            .is_some_and(|root| root.operation.agent.name.is_none() && root.start.is_none());
    let index = if is_root && around == 0 {
        operation.agent.name.get_or_insert_with(|| operation.name.clone());
        builder.set_root(span_id.as_deref(), operation)
    } else {
        let id = builder.id(span_id.as_deref(), &format!("{event}.operations[{number}]"));
        builder.add(id, around, operation)
    };
    let (from, to) = exact.as_ref().map(exact_times).unwrap_or_default();
    builder.times(
        index,
        start.as_deref().and_then(time).or(from),
        end.as_deref().and_then(time).or(to),
    );
    builder.running(index, true);
}

/// The operations listed with a question, if they include the one that asked it and the metadata has nothing else.
pub(in crate::formats) fn asked_operation(metadata: &Map<String, Value>, id: &str) -> Option<Value> {
    let operations = metadata.get("operations").filter(|_| metadata.len() == 2)?;
    let is_asked = |operation: &Value| operation.get("span_id").and_then(Value::as_str) == Some(id);
    operations.as_array()?.iter().any(is_asked).then(|| operations.clone())
}

/// Adds the agent that a tool ran, as named in the metadata of its call.
pub(in crate::formats) fn add_sub_agent(at: &At<'_>, tool: usize, builder: &mut TraceBuilder) -> usize {
    let text = |key| at.value.get(key).and_then(Value::as_str);
    let id = builder.id_at(text("span_id"), at);
    let name = text("agent").map(str::to_owned);
    let mut operation = Operation::named(Kind::Agent, name.clone().unwrap_or_else(|| "agent".to_owned()));
    operation.agent.name = name;
    builder.add(id, tool, operation)
}

/// Messages of a conversation without a model call: instructions become the agent's own. Returns the others.
pub(in crate::formats) fn take_instructions<T>(
    messages: Vec<T>,
    agent: usize,
    builder: &mut TraceBuilder,
    message: impl Fn(&mut T) -> &mut Message,
) -> Vec<T> {
    let is_instruction = |one: &mut T| matches!(message(one).role, Role::System | Role::Developer);
    let (mut instructions, mut others) = (Vec::new(), Vec::new());
    for mut one in messages {
        match is_instruction(&mut one) {
            true => instructions.push(std::mem::take(message(&mut one))),
            false => others.push(one),
        }
    }
    if let Some(agent) = builder.operation(agent).filter(|_| !instructions.is_empty()) {
        agent.input_messages = Some(instructions.into());
    }
    others
}

/// Adds a message after the last model call as user input.
pub(in crate::formats) fn add_left_over_input(message: &Message, agent: usize, builder: &mut TraceBuilder) {
    if message.role != Role::User {
        let detail = format!("`{}` after the last model call: read as input", message.role.name());
        builder.note("$", NoteKind::ByPosition, detail);
    }
    let own = format!("left over {}", builder.drafts.len());
    let id = builder.id(None, &own);
    let operation = Operation {
        input: message.content().into(),
        ..Operation::named(Kind::UserInput, "input")
    };
    builder.add(id, agent, operation);
}

/// Reads times as `{start_unix_nano, end_unix_nano}`, both text.
pub(in crate::formats) fn exact_times(times: &Value) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let nanos = |key: &str| {
        times
            .get(key)
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok())
            .map(UnixNanos)
    };
    (nanos("start_unix_nano"), nanos("end_unix_nano"))
}

/// Sets what ran for a call: the tool with its result, else the query and results of a search.
pub(in crate::formats) fn executed(operation: &mut Operation, call: &ToolCall, call_id: Option<&str>, result: Option<Value>) {
    if !matches!(operation.kind, Kind::Tool | Kind::Handoff) {
        return searched(operation, call.arguments.as_ref(), result);
    }
    let tool: &mut ToolUse = operation.tool.get_or_insert_default();
    tool.name = Some(call.name.clone());
    tool.call_id = call_id.map(str::to_owned);
    tool.arguments.clone_from(&call.arguments);
    tool.result = result;
}

/// Sets the query and results of a search.
pub(in crate::formats) fn searched(operation: &mut Operation, arguments: Option<&Value>, found: Option<Value>) {
    let argument = |key: &str| arguments.and_then(|arguments| arguments.get(key)).cloned();
    let query = argument("query").or_else(|| arguments.cloned());
    if matches!(operation.kind, Kind::MemoryRead | Kind::MemoryWrite) {
        let text = |key: &str| argument(key).and_then(|value| value.as_str().map(str::to_owned));
        let memory = operation.memory.get_or_insert_default();
        memory.entity_type = text("entity_type");
        memory.entity_id = text("entity_id");
        memory.key = text("key");
        memory.operation = text("operation");
        memory.namespace = argument("namespace");
        memory.data = argument("data");
        memory.changes = argument("changes");
        memory.query = argument("query");
        // An empty text means that nothing was recorded.
        memory.results = found.filter(|found| found.as_str() != Some(""));
        return;
    }
    if !matches!(operation.kind, Kind::Retrieval | Kind::Rerank) {
        operation.input = arguments.cloned().map(Into::into).unwrap_or_default();
        operation.output = found.map(Into::into).unwrap_or_default();
        return;
    }
    let search = operation.search.get_or_insert_default();
    search.query = query;
    search.top_k = argument("top_k").and_then(|value| value.as_u64()).or(search.top_k);
    match found {
        Some(Value::Array(list)) => search.documents = Some(list.iter().map(document).collect()),
        Some(other) => operation.output = other.into(),
        None => {}
    }
}

fn document(value: &Value) -> Document {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Document {
        id: text("id"),
        content: text("content").or_else(|| value.as_str().map(str::to_owned)),
        score: value.get("score").and_then(Value::as_f64),
        metadata: value.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

//! Reads one node as an operation.

use serde_json::{Map, Value, json};

use super::super::table::{KINDS, NODE};
use crate::dialect::messages::{self, Direction};
use crate::formats::back::{At, Result, read_model_output, read_record, read_thoughts, searched, take_text};
use crate::operation::{Failure, Kind, Operation, ToolUse};

/// The operation of a node, without its metadata.
pub(super) fn read(at: &At<'_>) -> Result<Operation> {
    let name = at.need("name")?.text()?.to_owned();
    let value = |key: &str| at.some(key).map(|at| at.value.clone());
    let (input, output) = (value("input"), value("output"));
    let about = |key: &str| at.value.get("metadata").and_then(|metadata| metadata.get(key)).is_some();
    let kind = match at.text_of("kind")? {
        Some("reason") => Kind::Llm,
        Some("tool") => Kind::Tool,
        Some("retrieve") if about("memory") => Kind::MemoryRead,
        Some("retrieve") => Kind::Retrieval,
        Some("agent") if about("state") => Kind::Handoff,
        Some("agent") => Kind::Agent,
        None | Some("other") => other(at),
        // The package accepts any kind.
        Some(_) => other(at),
    };
    let mut operation = Operation::named(kind, name);
    read_record(at, NODE.fields, &mut operation)?;
    match kind {
        Kind::Llm => {
            let list = input.as_ref().filter(|input| input.is_array());
            operation.input_messages = list.and_then(|input| messages::read(input, Direction::Input)).map(Into::into);
            if operation.input_messages.is_none() {
                operation.input = input.map(Into::into).unwrap_or_default();
            }
            read_model_output(output, &mut operation);
        }
        Kind::Tool => {
            let tool: &mut ToolUse = operation.tool.get_or_insert_default();
            tool.name = Some(operation.name.clone());
            (tool.arguments, tool.result) = (input, output);
        }
        Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => {
            let query = input.map(|input| json!({ "query": input }));
            searched(&mut operation, query.as_ref(), output);
        }
        Kind::MemoryWrite => {
            operation.memory.get_or_insert_default().data = input;
            operation.output = output.map(Into::into).unwrap_or_default();
        }
        Kind::Interrupt => {
            let asked = operation.interrupt.get_or_insert_default();
            asked.prompt = input.as_ref().and_then(Value::as_str).map(str::to_owned);
            operation.input = input.filter(|input| !input.is_string()).map(Into::into).unwrap_or_default();
            asked.response = output;
        }
        _ => {
            operation.input = input.map(Into::into).unwrap_or_default();
            operation.output = output.map(Into::into).unwrap_or_default();
        }
    }
    tokens(at, &mut operation)?;
    if let Some(error) = at.text_of("error")? {
        operation.failure = Some(error.to_owned().into());
    }
    operation.training.optimize = (at.value.get("optimize") == Some(&Value::Bool(true))).then_some(true);
    Ok(operation)
}

/// A kind that only the writing program knows.
pub(super) fn own_kind<'a>(at: &At<'a>) -> Result<Option<&'a str>> {
    Ok(at.text_of("kind")?.filter(|kind| !KINDS.contains(kind)))
}

/// The kind of a node of type `other`, by its metadata.
fn other(at: &At<'_>) -> Kind {
    let about = |key: &str| at.value.get("metadata").and_then(|metadata| metadata.get(key));
    let named = about("kind").and_then(Value::as_str).and_then(Kind::from_name);
    let by_key = [
        ("memory", Kind::MemoryWrite),
        ("state", Kind::StateChange),
        ("interrupt", Kind::Interrupt),
        ("prompt", Kind::Prompt),
        ("vector_count", Kind::Embedding),
    ];
    let by_key = by_key.into_iter().find(|(key, _)| about(key).is_some()).map(|(_, kind)| kind);
    named.or(by_key).unwrap_or(Kind::Chain)
}

/// Sets the total, unless the metadata have parts that add up to it.
fn tokens(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let Some(tokens) = at.some("tokens") else { return Ok(()) };
    let Some(count) = tokens.integer()? else { return Ok(()) };
    let count = u64::try_from(count).map_err(|_| tokens.refuse(format!("a whole number that is not negative is wanted, found {count}")))?;
    let part = |key: &str| at.value.pointer(&format!("/metadata/usage/{key}")).and_then(Value::as_u64);
    let parts = part("input")
        .zip(part("output"))
        .and_then(|(input, output)| input.checked_add(output));
    if count > 0 && parts != Some(count) {
        operation.usage.total = Some(count);
    }
    Ok(())
}

/// Reads what this program writes to a node's metadata, besides the facts that all formats share.
pub(super) fn about(metadata: &mut Map<String, Value>, operation: &mut Operation) {
    let mut word = |key: &str| take_text(metadata, key);
    if operation.kind == Kind::Tool {
        let (call_id, server) = (word("tool_call_id"), word("mcp_server"));
        let tool: &mut ToolUse = operation.tool.get_or_insert_default();
        (tool.call_id, tool.mcp_server) = (call_id, server);
        word("dispatched_by");
    }
    if let Some(name) = word("span_name") {
        operation.name = name;
    }
    if operation.failure.is_some() {
        let (code, stacktrace) = (word("error_code"), word("stacktrace"));
        let failure: &mut Failure = operation.failure.get_or_insert_default();
        (failure.error_type, failure.stacktrace) = (code, stacktrace);
    }
    // Already read with the node.
    word("kind");
    if operation.kind == Kind::Agent && !metadata.contains_key("agent") {
        operation.agent.name = Some(operation.name.clone());
    }
    if operation.kind == Kind::Llm {
        read_thoughts(metadata, operation);
    }
    for key in ["evidence", "recorded_started_at"] {
        metadata.shift_remove(key);
    }
}

//! Reads facts of events other than their words.

use serde_json::{Map, Value};

use crate::formats::back::{At, Result, read_facts, tool_definition};
use crate::operation::{Operation, ToolDefinition};
use crate::span::UnixNanos;

/// The start time, if the end and the duration are known.
pub(super) fn started(metadata: &Map<String, Value>, end: Option<UnixNanos>) -> Option<UnixNanos> {
    let took = metadata.get("latency_ms")?.as_u64()?.checked_mul(1_000_000)?;
    Some(UnixNanos(end?.0.checked_sub(took)?))
}

/// The tools that an event offers.
pub(super) fn tools(event: &At<'_>) -> Result<Vec<ToolDefinition>> {
    let tools = event.need("tools")?.items()?;
    tools
        .iter()
        .map(|tool| {
            tool.object()?;
            tool.need("name")?.text()?;
            tool_definition(tool.value).ok_or_else(|| tool.refuse("a tool has a name"))
        })
        .collect()
}

/// Moves an event's metadata into an operation; facts without a field go to the operation's metadata.
pub(super) fn take(mut said: Map<String, Value>, operation: &mut Operation) {
    for key in [
        "span_id",
        "latency_ms",
        "reasoning",
        "reasoning_opaque",
        "synthesized",
        "synthesized_call_ids",
        "subagent",
    ] {
        said.shift_remove(key);
    }
    if let Some(name) = said.get("span_name").and_then(Value::as_str) {
        operation.name = name.to_owned();
        said.shift_remove("span_name");
    }
    read_facts(&mut said, operation);
    operation.metadata.extend(said);
}

//! Reads facts of a block outside its payload.

use serde_json::{Map, Value};

use crate::formats::back::{TraceBuilder, exact_times, failure_of, read_facts, read_operations};
use crate::operation::Operation;
use crate::span::UnixNanos;

/// Keys that describe a block's origin, not the operation.
const ORIGIN_KEYS: [&str; 11] = [
    "span_id",
    "step",
    "time",
    "parent_reason",
    "kind",
    "part",
    "run",
    "around",
    "subagent",
    "call_id",
    "call_id_derived",
];

/// A block's metadata; null is empty.
pub(super) fn metadata(block: &Value) -> Map<String, Value> {
    block.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Exact times, as written by this program.
pub(super) fn times(metadata: &Map<String, Value>) -> (Option<UnixNanos>, Option<UnixNanos>) {
    metadata.get("time").map(exact_times).unwrap_or_default()
}

/// Moves a block's metadata and extra fields into an operation; those without a field go to its metadata.
pub(super) fn take(block: &Value, operation: &mut Operation) {
    let mut metadata = metadata(block);
    for key in ORIGIN_KEYS {
        metadata.shift_remove(key);
    }
    spread(&mut metadata);
    read_facts(&mut metadata, operation);
    operation.metadata.extend(metadata);
    let mut extra = block.get("extra").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Object(training)) = extra.shift_remove("training") {
        extra.extend(training);
    }
    extra.shift_remove("status");
    extra.shift_remove("guardrails");
    read_facts(&mut extra, operation);
    operation.metadata.extend(extra);
}

/// Flattens the groups in which this program writes facts, to the names that all formats share.
fn spread(metadata: &mut Map<String, Value>) {
    if let Some(Value::Object(call)) = metadata.shift_remove("model_call") {
        metadata.extend(call);
    }
    if let Some(Value::Object(mut tool)) = metadata.shift_remove("tool") {
        for (from, to) in [("description", "tool_description"), ("parameters", "tool_parameters")] {
            metadata.extend(tool.shift_remove(from).map(|value| (to.to_owned(), value)));
        }
    }
    if let Some(Value::Object(training)) = metadata.shift_remove("training") {
        metadata.extend(training);
    }
    for (from, to) in [("cost_usd", "cost"), ("tools", "tool_definitions"), ("format_extras", "spanbridge")] {
        if let Some(value) = metadata.shift_remove(from) {
            metadata.insert(to.to_owned(), value);
        }
    }
}

/// Reads facts of the whole run from the last block.
pub(super) fn run(facts: &Value, builder: &mut TraceBuilder) {
    let Some(map) = facts.as_object() else { return };
    let mut facts = map.clone();
    for key in ["trace_id", "instrumentation", "framework_version"] {
        facts.shift_remove(key);
    }
    let (start, end) = facts.shift_remove("time").as_ref().map(exact_times).unwrap_or_default();
    builder.times(0, start, end);
    if let Some(Value::Object(resource)) = facts.shift_remove("resource") {
        builder.resource = resource;
    }
    let failure = facts.shift_remove("failure");
    let mut about = facts
        .shift_remove("root")
        .and_then(|root| root.as_object().cloned())
        .unwrap_or_default();
    about.shift_remove("kind");
    builder.root_id(about.shift_remove("span_id").as_ref().and_then(Value::as_str));
    let Some(root) = builder.operation(0) else { return };
    let name = about.shift_remove("name").and_then(|name| name.as_str().map(str::to_owned));
    if let Some(name) = name.or_else(|| facts.get("agent")?.as_str().map(str::to_owned)) {
        root.name = name;
    }
    spread(&mut about);
    read_facts(&mut facts, root);
    read_facts(&mut about, root);
    root.metadata.extend(facts);
    root.metadata.extend(about);
    if let Some(failure) = failure {
        root.failure = Some(failure_of(&failure));
    }
}

/// Reads the run and the operations that a block describes besides its own.
pub(super) fn beside(block: &Value, number: usize, agent: usize, builder: &mut TraceBuilder) {
    let metadata = metadata(block);
    if agent == 0
        && let Some(run_facts) = metadata.get("run")
    {
        run(run_facts, builder);
    }
    let mut around = metadata.get("around").cloned();
    for item in around.as_mut().and_then(Value::as_array_mut).into_iter().flatten() {
        item.as_object_mut().into_iter().for_each(spread);
    }
    read_operations(around.as_ref(), number, agent, builder);
}

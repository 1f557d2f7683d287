//! Reads facts of the whole run from a document: the inverse of `facts::of_run`.

use serde_json::{Map, Value};

use super::facts::{failure_of, read as read_facts};
use super::trace_builder::TraceBuilder;
use crate::operation::{Kind, Operation};
use crate::span::SpanId;

/// Moves a document's metadata to the root and the resource. The failure of the run goes to the span that failed, if that is a
/// model call or tool that has already been read.
pub(in crate::formats) fn read(mut facts: Map<String, Value>, builder: &mut TraceBuilder) {
    for key in ["otel.trace_id", "instrumentation", "framework_version"] {
        facts.shift_remove(key);
    }
    if let Some(Value::Object(resource)) = facts.get("resource") {
        builder.resource = resource.clone();
        facts.shift_remove("resource");
    }
    let failed = facts.shift_remove("error").filter(|failed| !failed.is_null());
    let failed = failed.filter(|failed| {
        let span = failed.get("span_id").and_then(Value::as_str).and_then(SpanId::from_hex);
        let has_it = |operation: &Operation| operation.failure.is_some() && matches!(operation.kind, Kind::Llm | Kind::Tool);
        !builder
            .drafts
            .iter()
            .any(|draft| Some(draft.id) == span && has_it(&draft.operation))
    });
    let Some(root) = builder.operation(0) else { return };
    read_facts(&mut facts, root);
    root.metadata.extend(facts);
    if let Some(failed) = failed {
        root.failure = Some(failure_of(&failed));
    }
}

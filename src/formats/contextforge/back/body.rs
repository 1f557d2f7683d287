//! Reads what the table does not describe of a step.

use serde_json::{Map, Value};

use super::super::table;
use crate::dialect::messages::{self, Direction};
use crate::formats::back::{At, Result, read_model_output, read_record, read_thoughts, take_text, whole};
use crate::operation::{Document, Failure, Kind, Operation, Search, ToolUse};

/// The operation for a step of a known type.
pub(super) fn read(at: &At<'_>, step_type: &str) -> Result<Option<Operation>> {
    let (Some(kind), Some(fields)) = (table::kind(step_type), table::fields(step_type)) else {
        return Ok(None);
    };
    let mut operation = Operation::named(kind, step_type);
    read_record(at, fields, &mut operation)?;
    match kind {
        Kind::Llm => llm_call(at, &mut operation)?,
        Kind::Tool => {
            let error = at.text_of("error")?.map(str::to_owned);
            if error.is_some() || at.value.get("success") == Some(&Value::Bool(false)) {
                operation.failure = Some(Failure {
                    message: error,
                    ..Failure::default()
                });
            }
        }
        Kind::Retrieval => {
            let documents = at.need("results")?.items()?.iter().map(document).collect::<Result<Vec<_>>>()?;
            let search: &mut Search = operation.search.get_or_insert_default();
            search.match_count = count(at).filter(|count| *count != documents.len() as u64);
            search.documents = Some(documents);
        }
        Kind::MemoryRead => {
            let found = at.need("results")?.items()?.len() as u64;
            if let Some(count) = count(at).filter(|count| *count != found) {
                operation.search.get_or_insert_default().match_count = Some(count);
            }
        }
        _ => {}
    }
    Ok(Some(operation))
}

fn count(at: &At<'_>) -> Option<u64> {
    at.value.get("match_count").and_then(Value::as_number).and_then(whole)
}

/// Reads what this program writes to a step's metadata, besides the facts that all formats share.
pub(super) fn about(metadata: &mut Map<String, Value>, operation: &mut Operation) {
    let mut word = |key: &str| take_text(metadata, key);
    if let Some(name) = word("span_name") {
        operation.name = name;
    }
    match operation.kind {
        Kind::Tool => {
            let call_id = word("tool_call_id");
            let tool: &mut ToolUse = operation.tool.get_or_insert_default();
            operation.name = tool.name.clone().unwrap_or_default();
            tool.call_id = call_id;
        }
        Kind::StateChange => {
            if let Some(kind) = word("kind").as_deref().and_then(Kind::from_name) {
                operation.kind = kind;
                operation.input = metadata.shift_remove("input").map(Into::into).unwrap_or_default();
                operation.output = metadata.shift_remove("output").map(Into::into).unwrap_or_default();
            }
        }
        Kind::Retrieval if metadata.get("reranker") == Some(&Value::Bool(true)) => {
            operation.kind = Kind::Rerank;
            metadata.shift_remove("reranker");
        }
        Kind::MemoryWrite => operation.output = metadata.shift_remove("output").map(Into::into).unwrap_or_default(),
        Kind::Llm => read_thoughts(metadata, operation),
        _ => {}
    }
    if matches!(operation.kind, Kind::Retrieval | Kind::Rerank) && operation.output.is_none() {
        operation.output = metadata.shift_remove("output").map(Into::into).unwrap_or_default();
    }
    // Derived again when the document is written.
    for key in ["latency_ms", "evidence", "recorded_timestamp", "content_unread"] {
        metadata.shift_remove(key);
    }
    for key in ["content_captured", "input_captured", "output_captured"] {
        if metadata.get(key) == Some(&Value::Bool(false)) {
            metadata.shift_remove(key);
        }
    }
}

fn llm_call(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let input = at.need("input")?;
    match input.value {
        Value::String(text) if text.is_empty() => {}
        Value::Array(list) if list.is_empty() => {}
        Value::Array(_) => {
            for item in input.items()? {
                item.object()?;
            }
            operation.input_messages = messages::read(input.value, Direction::Input).map(Into::into);
            if operation.input_messages.is_none() {
                operation.input = input.value.clone().into();
            }
        }
        other => operation.input = other.clone().into(),
    }
    read_model_output(at.value.get("output").cloned(), operation);
    Ok(())
}

/// Whether only the call of a tool is recorded.
pub(super) fn is_running(at: &At<'_>) -> bool {
    at.get("tool_name").is_some() && ["result", "success", "error"].iter().all(|key| at.some(key).is_none())
}

fn document(found: &At<'_>) -> Result<Document> {
    read_record(found, table::RESULT.fields, &mut Operation::default())?;
    let mut metadata = found.object_of("metadata")?;
    let id = metadata.get("id").and_then(Value::as_str).map(str::to_owned);
    if id.is_some() {
        metadata.shift_remove("id");
    }
    let is_captured = metadata.shift_remove("content_captured").is_none();
    let content = found.text_of("content")?.filter(|_| is_captured);
    let score = found.value.get("score").and_then(Value::as_f64);
    Ok(Document {
        id,
        content: content.map(str::to_owned),
        score: score.or_else(|| metadata.shift_remove("score")?.as_f64()),
        metadata,
    })
}

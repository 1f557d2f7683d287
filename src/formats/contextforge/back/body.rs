//! One step as an operation.

use serde_json::{Map, Value};

use super::aliases::member;
use crate::dialect::messages::{self, Direction};
use crate::document::shape::kind_of;
use crate::formats::back::{At, Result, read_model_output, read_thoughts};
use crate::operation::{Document, Failure, Interrupt, Kind, Memory, Operation, ResourceImpact, Search, StateChange, ToolUse};

/// The operation of a step of a known type.
pub(super) fn read(at: &At<'_>, step_type: &str) -> Result<Option<Operation>> {
    let kind = match step_type {
        "user_input" => Kind::UserInput,
        "llm_call" => Kind::Llm,
        "tool_call" => Kind::Tool,
        "retrieval" => Kind::Retrieval,
        "memory_read" => Kind::MemoryRead,
        "memory_write" => Kind::MemoryWrite,
        "state_change" => Kind::StateChange,
        "interrupt" => Kind::Interrupt,
        "final_output" => Kind::FinalOutput,
        _ => return Ok(None),
    };
    let mut operation = Operation {
        kind,
        name: step_type.to_owned(),
        ..Operation::default()
    };
    match kind {
        Kind::UserInput => {
            operation.input = at.need("content")?.text()?.to_owned().into();
            operation.content_type.input = at.text_of("input_type")?.map(str::to_owned);
        }
        Kind::Llm => llm_call(at, &mut operation)?,
        Kind::Tool => tool_call(at, &mut operation)?,
        Kind::Retrieval => retrieval(at, &mut operation)?,
        Kind::MemoryRead => memory_read(at, &mut operation)?,
        Kind::MemoryWrite => memory_write(at, &mut operation)?,
        Kind::StateChange => state_change(at, &mut operation)?,
        Kind::Interrupt => interrupt(at, &mut operation)?,
        _ => {
            operation.output = at.need("content")?.value.clone().into();
            operation.content_type.output = at.text_of("format")?.map(str::to_owned);
        }
    }
    Ok(Some(operation))
}

/// What our own documents have in a step's metadata, besides the facts that all formats share.
pub(super) fn about(metadata: &mut Map<String, Value>, operation: &mut Operation) {
    let mut word = |key: &str| match metadata.get(key) {
        Some(Value::String(_)) => metadata.shift_remove(key).and_then(|value| value.as_str().map(str::to_owned)),
        _ => None,
    };
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
    // What is derived when the document is written.
    for key in ["latency_ms", "evidence", "recorded_timestamp"] {
        metadata.shift_remove(key);
    }
    metadata.shift_remove("content_unread");
    for key in ["content_captured", "input_captured", "output_captured"] {
        if metadata.get(key) == Some(&Value::Bool(false)) {
            metadata.shift_remove(key);
        }
    }
}

fn llm_call(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let model = member(at, "model").map_or_else(|| at.need("model"), Ok)?.text()?;
    operation.model.response = (model != "unknown").then(|| model.to_owned());
    operation.model.provider = at.text_of("provider")?.map(str::to_owned);
    let input = at.need("input")?;
    match input.value {
        Value::String(text) if text.is_empty() => {}
        Value::Array(list) if list.is_empty() => {}
        Value::String(_) => operation.input = input.value.clone().into(),
        Value::Array(_) => {
            for item in input.items()? {
                item.object()?;
            }
            operation.input_messages = messages::read(input.value, Direction::Input).map(Into::into);
            if operation.input_messages.is_none() {
                operation.input = input.value.clone().into();
            }
        }
        other => return Err(input.refuse(format!("text or a list of objects is wanted, found {}", kind_of(other)))),
    }
    let output = at.need("output")?;
    if !output.value.is_string() && !output.value.is_object() {
        return Err(output.refuse(format!("text or an object is wanted, found {}", kind_of(output.value))));
    }
    read_model_output(Some(output.value.clone()), operation);
    let count = |name: &str| member(at, name).map_or(Ok(None), |at| whole(&at));
    operation.usage.input = count("tokens_in")?;
    operation.usage.output = count("tokens_out")?;
    operation.usage.total = count("tokens_total")?;
    operation.cost.total = number(at, "cost_estimate")?;
    Ok(())
}

fn tool_call(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let name = at.need("tool_name")?.text()?;
    let arguments = at.need("arguments")?;
    arguments.object()?;
    operation.tool = Some(Box::new(ToolUse {
        name: Some(name.to_owned()),
        arguments: Some(arguments.value.clone()),
        result: at.some("result").map(|result| result.value.clone()),
        ..ToolUse::default()
    }));
    let error = at.text_of("error")?.map(str::to_owned);
    let success = match at.some("success") {
        Some(success) => Some(
            success
                .value
                .as_bool()
                .ok_or_else(|| success.refuse(format!("expected a boolean, found {}", kind_of(success.value))))?,
        ),
        None => None,
    };
    if error.is_some() || success == Some(false) {
        operation.failure = Some(Failure {
            message: error,
            ..Failure::default()
        });
    }
    if let Some(impact) = at.some("resource_impact") {
        impact.object()?;
        operation.resource_impact = Some(Box::new(ResourceImpact {
            amount: number(&impact, "amount")?
                .map(Ok)
                .unwrap_or_else(|| impact.need("amount").map(|_| 0.0))
                .map(Some)?,
            unit: Some(impact.need("unit")?.text()?.to_owned()),
            breakdown: impact.some("breakdown").map(|breakdown| breakdown.value.clone()),
        }));
    }
    Ok(())
}

/// A tool that nothing is known of but its call.
pub(super) fn is_running(at: &At<'_>) -> bool {
    at.get("tool_name").is_some() && ["result", "success", "error"].iter().all(|key| at.some(key).is_none())
}

fn retrieval(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let query = at.need("query")?.text()?;
    let mut documents = Vec::new();
    for found in at.need("results")?.items()? {
        found.object()?;
        let mut metadata = found.object_of("metadata")?;
        let id = match metadata.get("id") {
            Some(Value::String(id)) => Some(id.clone()),
            _ => None,
        };
        if id.is_some() {
            metadata.shift_remove("id");
        }
        let content = found.need("content")?.text()?.to_owned();
        let is_captured = metadata.shift_remove("content_captured").is_none();
        documents.push(Document {
            id,
            content: is_captured.then_some(content),
            score: number(&found, "score")?.or_else(|| metadata.shift_remove("score")?.as_f64()),
            metadata,
        });
    }
    let count = whole(&at.need("match_count")?)?;
    operation.search = Some(Box::new(Search {
        query: Some(query.into()),
        match_count: count.filter(|count| *count != documents.len() as u64),
        documents: Some(documents),
        ..Search::default()
    }));
    Ok(())
}

fn memory_read(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let query = at.need("query")?;
    if !query.value.is_string() && !query.value.is_object() {
        return Err(query.refuse(format!("text or an object is wanted, found {}", kind_of(query.value))));
    }
    let results = at.need("results")?;
    let found = results.items()?.len() as u64;
    let count = whole(&at.need("match_count")?)?;
    operation.memory = Some(Box::new(Memory {
        query: Some(query.value.clone()),
        results: Some(results.value.clone()),
        scores: at.some("relevance_scores").map(|scores| scores.value.clone()),
        total_available: at.some("total_available").and_then(|total| total.value.as_i64()),
        ..Memory::default()
    }));
    if count != Some(found) {
        operation.search = Some(Box::new(Search {
            match_count: count,
            ..Search::default()
        }));
    }
    Ok(())
}

fn memory_write(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let data = at.need("data")?;
    data.object()?;
    let text = |key: &str| Ok(at.text_of(key)?.map(str::to_owned));
    let value = |key: &str| at.some(key).map(|at| at.value.clone());
    operation.memory = Some(Box::new(Memory {
        entity_type: text("entity_type")?.filter(|word| word != "unknown"),
        entity_id: text("entity_id")?,
        namespace: value("namespace"),
        key: text("key")?,
        operation: Some(at.need("operation")?.text()?.to_owned()),
        data: Some(data.value.clone()),
        changes: value("changes"),
        ..Memory::default()
    }));
    Ok(())
}

fn state_change(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    operation.state = Some(Box::new(StateChange {
        key: Some(at.need("state_key")?.text()?.to_owned()),
        old_value: at.some("old_value").map(|at| at.value.clone()),
        new_value: Some(at.need("new_value")?.value.clone()),
        reason: at.text_of("reason")?.map(str::to_owned),
    }));
    Ok(())
}

fn interrupt(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let response = at.need("response")?;
    if !response.value.is_string() && !response.value.is_object() {
        return Err(response.refuse(format!("text or an object is wanted, found {}", kind_of(response.value))));
    }
    operation.interrupt = Some(Box::new(Interrupt {
        prompt: Some(at.need("prompt")?.text()?.to_owned()),
        response: Some(response.value.clone()),
        wait_ms: whole(&at.need("wait_duration_ms")?)?,
    }));
    Ok(())
}

/// A count: a whole number; 12.0 is one, as the package reads it. `None` for null, and for what counts nothing: -1.
pub(super) fn whole(at: &At<'_>) -> Result<Option<u64>> {
    match at.value {
        Value::Null => Ok(None),
        Value::Number(number) => match as_whole(number) {
            Some(count) => Ok(Some(count)),
            None => at.integer().map(|_| None),
        },
        other => Err(at.refuse(format!("a whole number is wanted, found {}", kind_of(other)))),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only numbers without a fraction and not below zero come here; `as` saturates"
)]
fn as_whole(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
    })
}

fn number(at: &At<'_>, key: &str) -> Result<Option<f64>> {
    let Some(at) = at.some(key) else { return Ok(None) };
    let value = at.value.as_f64();
    value
        .map(Some)
        .ok_or_else(|| at.refuse(format!("a number is wanted, found {}", kind_of(at.value))))
}

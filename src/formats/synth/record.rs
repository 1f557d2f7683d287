//! A model call as a call record: request, response, tokens, outcome.

use serde_json::{Map, Value, json};

use super::document::{LlmCallRecord, LlmContentPart, LlmMessage, LlmRequestParams, LlmUsage, ToolCallSpec};
use super::facts::{self, count, filled, put, put_filled};
use crate::formats::{Loss, LossReason, Options};
use crate::operation::{Failure, Message, Operation, Part, ToolDefinition};
use crate::run::{Run, Step};

/// The record of a model call. `call_ids` gives the ids under which the session tells the calls, with the recorded ones, by place.
pub(super) fn record(
    run: &Run,
    step: &Step,
    call_ids: &[(Option<String>, String)],
    options: &Options,
    losses: &mut Vec<Loss>,
) -> LlmCallRecord {
    let operation = &step.operation;
    let span = step.span_id.map(|span| span.to_string());
    let mut metadata = Map::new();
    if operation.input_messages.is_none() && operation.output_messages.is_none() && operation.input.is_none() && operation.output.is_none()
    {
        put(&mut metadata, "content_captured", false);
    }
    put_filled(&mut metadata, "requested_model", requested(operation));
    put_filled(&mut metadata, "time_to_first_token", facts::number(operation.time_to_first_token));
    let output = operation.output_messages.as_deref().unwrap_or_default();
    let mut record = LlmCallRecord {
        call_id: span.clone().unwrap_or_else(|| step.id.clone()),
        api_type: api_type(operation).to_owned(),
        provider: operation.model.provider.clone(),
        model_name: operation.model.name().unwrap_or_default().to_owned(),
        started_at: Some(step.started_at.rfc3339_offset()),
        completed_at: step.ended_at.map(|end| end.rfc3339_offset()),
        latency_ms: count(step.latency_ms()),
        input_messages: operation.input_messages.iter().flatten().map(message).collect(),
        output_messages: output.iter().take(1).map(message_without_calls).map(answer).collect(),
        usage: usage(operation),
        finish_reason: finish_reason(operation),
        choice_index: (!output.is_empty()).then_some(0),
        response_raw_json: operation.raw_response.as_ref().map(Value::to_string),
        span_id: span,
        trace_id: Some(run.trace_id.to_string()),
        provider_request_id: operation.response_id.clone(),
        outcome: outcome(step).map(str::to_owned),
        error: operation.failure.as_ref().map(error),
        token_traces: token_traces(operation),
        metadata,
        ..LlmCallRecord::default()
    };
    if output.len() > 1 {
        record.outputs = output.iter().map(message).map(answer).collect();
    }
    if operation.input_messages.is_none() {
        record.input_text = operation.input.as_ref().map(text);
    }
    if options.is("synth.output_text", "raw") {
        record.output_text = operation.raw_response.as_ref().map(Value::to_string);
    }
    if record.output_text.is_none() && operation.output_messages.is_none() {
        record.output_text = operation.output.as_ref().map(text);
    }
    let (params, tool_choice) = request(operation);
    record.request_params = params;
    record.tool_choice = tool_choice;
    for (index, call) in output
        .first()
        .map(|message| message.tool_calls.as_slice())
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let (arguments, coerced) = call.arguments_object();
        let mut metadata = Map::new();
        if coerced {
            losses.push(Loss::new(
                step.span_id,
                format!("tool call {}: arguments are no object", call.name),
                LossReason::Coerced,
            ));
        }
        // A conversation may hold more calls of this turn than its own, or not all.
        let by_id = || call_ids.iter().rfind(|(recorded, _)| *recorded == call.id);
        let by_place = || call_ids.get(index).filter(|_| call.id.is_none());
        let told = call.id.as_ref().and_then(|_| by_id()).or_else(by_place).map(|(_, told)| told);
        if call.id.is_none() && told.is_some() {
            put(&mut metadata, "call_id_derived", true);
            losses.push(Loss::new(
                step.span_id,
                format!("tool call {}: call_id", call.name),
                LossReason::Synthesized,
            ));
        } else if let Some(told) = told
            && call.id.as_ref() != Some(told)
        {
            put(&mut metadata, "message_call_id", told.as_str());
        }
        record.output_tool_calls.push(ToolCallSpec {
            name: call.name.clone(),
            arguments_json: call.arguments_json(),
            arguments: Some(Value::Object(arguments)),
            call_id: call.id.clone().or_else(|| told.cloned()),
            index: i64::try_from(index).ok(),
            parent_call_id: None,
            metadata,
        });
    }
    record
}

fn requested(operation: &Operation) -> Value {
    operation
        .model
        .requested
        .clone()
        .filter(|requested| operation.model.name() != Some(requested))
        .into()
}

fn api_type(operation: &Operation) -> &'static str {
    let object = operation
        .raw_response
        .as_ref()
        .and_then(|raw| raw.get("object"))
        .and_then(Value::as_str);
    match object {
        Some("response") => "responses",
        Some("text_completion") => "completions",
        _ => "chat_completions",
    }
}

/// OpenAI's words, which the record's API types have.
fn finish_reason(operation: &Operation) -> Option<String> {
    let reason = operation
        .finish_reason
        .clone()
        .or_else(|| operation.output_messages.as_ref()?.first()?.finish_reason.clone())?;
    Some(if reason == "tool_call" { "tool_calls".to_owned() } else { reason })
}

fn outcome(step: &Step) -> Option<&'static str> {
    let Some(failure) = &step.operation.failure else {
        return step.ended_at.map(|_| "success");
    };
    let word = failure.error_type.as_deref().unwrap_or_default().to_lowercase();
    Some(if word.contains("timeout") {
        "timeout"
    } else if word.contains("cancel") {
        "cancelled"
    } else {
        "error"
    })
}

fn error(failure: &Failure) -> Value {
    json!({
        "code": null,
        "message": failure.text(),
        "type": failure.error_type,
        "raw": failure.stacktrace.as_ref().map(|trace| json!({ "stacktrace": trace })),
    })
}

/// Tokens, the total never below its parts.
pub(super) fn total_tokens(operation: &Operation) -> Option<u64> {
    let usage = &operation.usage;
    let least = usage.input.unwrap_or(0).max(usage.output.unwrap_or(0));
    match usage.sum() {
        Some(total) if total >= least => Some(total),
        Some(_) => Some(usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0))),
        None => None,
    }
}

/// Money, finite.
pub(super) fn cost(operation: &Operation) -> Option<f64> {
    let cost = &operation.cost;
    let parts = || match (cost.input, cost.output) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0.0) + output.unwrap_or(0.0)),
    };
    cost.total.or_else(parts).filter(|cost| cost.is_finite())
}

fn usage(operation: &Operation) -> Option<LlmUsage> {
    let tokens = &operation.usage;
    let cost = cost(operation);
    (!tokens.is_empty() || cost.is_some()).then(|| LlmUsage {
        input_tokens: count(tokens.input),
        output_tokens: count(tokens.output),
        total_tokens: count(total_tokens(operation)),
        reasoning_tokens: count(tokens.reasoning),
        cache_write_tokens: count(tokens.cache_write),
        cache_read_tokens: count(tokens.cache_read),
        cost_usd: cost,
        ..LlmUsage::default()
    })
}

/// One object for what the training facts say; where they have no log probabilities, one for each choice of the response.
fn token_traces(operation: &Operation) -> Option<Vec<Value>> {
    let training = &operation.training;
    let trace = filled([
        ("prompt_token_ids", training.prompt_token_ids.clone().unwrap_or_default()),
        ("completion_token_ids", training.completion_token_ids.clone().unwrap_or_default()),
        ("logprobs", training.logprobs.clone().unwrap_or_default()),
    ]);
    let mut traces = Vec::new();
    if trace.as_object().is_some_and(|map| !map.is_empty()) {
        traces.push(trace);
    }
    if training.logprobs.is_none() {
        traces.extend(operation.raw_response.iter().flat_map(response_logprobs));
    }
    (!traces.is_empty()).then_some(traces)
}

/// Log probabilities in the body of a chat completion, a completion or an answer of the Responses API.
fn response_logprobs(body: &Value) -> Vec<Value> {
    let members = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let told = |value: &Value| match value {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => map.values().any(|value| !value.is_null()),
        _ => false,
    };
    let choices = members(body, "choices").into_iter().enumerate().filter_map(|(index, choice)| {
        let all = choice.get("logprobs")?;
        let content = all.get("content").filter(|content| told(content)).unwrap_or(all);
        let index = choice.get("index").cloned().unwrap_or_else(|| index.into());
        told(content).then(|| json!({"choice_index": index, "logprobs": content}))
    });
    let parts = members(body, "output").into_iter().flat_map(|item| members(&item, "content"));
    let texts = parts.filter_map(|part| {
        let all = part.get("logprobs").filter(|all| told(all))?;
        Some(json!({ "logprobs": all }))
    });
    choices.chain(texts).collect()
}

/// Parameters in the record's fields; those of another name or type stay in `raw_params`.
fn request(operation: &Operation) -> (LlmRequestParams, Option<String>) {
    let mut params = LlmRequestParams::default();
    let mut tool_choice = None;
    for (key, value) in &operation.parameters {
        let taken = match key.as_str() {
            "temperature" => set(&mut params.temperature, value.as_f64()),
            "top_p" => set(&mut params.top_p, value.as_f64()),
            "max_tokens" => set(&mut params.max_tokens, value.as_i64()),
            "stop" | "stop_sequences" => set(&mut params.stop, texts(value)),
            "top_k" => set(&mut params.top_k, integer(value)),
            "presence_penalty" => set(&mut params.presence_penalty, value.as_f64()),
            "frequency_penalty" => set(&mut params.frequency_penalty, value.as_f64()),
            "repetition_penalty" => set(&mut params.repetition_penalty, value.as_f64()),
            "seed" => set(&mut params.seed, value.as_i64()),
            "n" => set(&mut params.n, value.as_i64()),
            "best_of" => set(&mut params.best_of, value.as_i64()),
            "response_format" => set(&mut params.response_format, value.is_object().then(|| value.clone())),
            "json_mode" => set(&mut params.json_mode, value.as_bool()),
            "tool_config" => set(&mut params.tool_config, value.is_object().then(|| value.clone())),
            "tool_choice" => set(&mut tool_choice, (!value.is_null()).then(|| text(value))),
            _ => false,
        };
        if !taken {
            put(&mut params.raw_params, key, value.clone());
        }
    }
    for alias in ["max_completion_tokens", "max_output_tokens"] {
        if params.max_tokens.is_none() {
            params.max_tokens = params.raw_params.get(alias).and_then(Value::as_i64);
        }
    }
    if !operation.tool_definitions.is_empty() && !params.raw_params.contains_key("tools") {
        let tools: Vec<Value> = operation.tool_definitions.iter().map(tool).collect();
        put(&mut params.raw_params, "tools", tools);
    }
    (params, tool_choice)
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    if place.is_some() || value.is_none() {
        return false;
    }
    *place = value;
    true
}

/// Some clients record `top_k` as `40.0`.
#[expect(clippy::cast_possible_truncation, reason = "only whole numbers of a modest size are taken")]
fn integer(value: &Value) -> Option<i64> {
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|number| number as i64))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn tool(definition: &ToolDefinition) -> Value {
    let function = filled([
        ("name", definition.name.as_str().into()),
        ("description", definition.description.clone().into()),
        ("parameters", definition.parameters.clone().unwrap_or_default()),
    ]);
    json!({"type": "function", "function": function})
}

/// A chat message; its tool calls, which the format's message has no field for, go to its metadata.
fn message(message: &Message) -> LlmMessage {
    let mut out = message_without_calls(message);
    if !message.tool_calls.is_empty() {
        let calls: Vec<Value> = message
            .tool_calls
            .iter()
            .map(|call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments_json()}})
            })
            .collect();
        put(&mut out.metadata, "tool_calls", calls);
    }
    out
}

fn message_without_calls(message: &Message) -> LlmMessage {
    let mut metadata = Map::new();
    if message.is_error {
        put(&mut metadata, "is_error", true);
    }
    put_filled(&mut metadata, "finish_reason", message.finish_reason.clone().into());
    let mut parts: Vec<LlmContentPart> = message.parts.iter().map(part).collect();
    if let Some(result) = &message.result
        && !parts.iter().any(|part| part.text.is_some())
    {
        parts.push(LlmContentPart {
            data: result.is_object().then(|| result.clone()),
            ..words("text", text(result))
        });
    }
    LlmMessage {
        role: message.role.name().to_owned(),
        parts,
        name: message.name.clone(),
        tool_call_id: message.tool_call_id.clone(),
        metadata,
    }
}

/// Some clients record an answer without its role.
fn answer(message: LlmMessage) -> LlmMessage {
    LlmMessage {
        role: "assistant".to_owned(),
        ..message
    }
}

fn part(part: &Part) -> LlmContentPart {
    match part {
        Part::Text(text) => words("text", text.clone()),
        Part::Reasoning { text, opaque } => LlmContentPart {
            part_type: "reasoning".to_owned(),
            text: text.clone(),
            data: (!opaque.is_empty()).then(|| Value::Object(opaque.clone())),
            ..LlmContentPart::default()
        },
        Part::Media(media) => LlmContentPart {
            part_type: if media.modality.is_empty() {
                "file".to_owned()
            } else {
                media.modality.clone()
            },
            mime_type: media.mime_type.clone(),
            uri: media.uri.clone(),
            base64_data: media.base64.clone(),
            data: (media.uri.is_none() && media.base64.is_none() && media.raw.is_object()).then(|| media.raw.clone()),
            ..LlmContentPart::default()
        },
        Part::Other(value) => LlmContentPart {
            part_type: value.get("type").and_then(Value::as_str).unwrap_or("other").to_owned(),
            data: Some(if value.is_object() {
                value.clone()
            } else {
                json!({ "value": value })
            }),
            ..LlmContentPart::default()
        },
    }
}

fn words(part_type: &str, text: String) -> LlmContentPart {
    LlmContentPart {
        part_type: part_type.to_owned(),
        text: Some(text),
        ..LlmContentPart::default()
    }
}

/// A value as text: text as it is, anything else as compact JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

//! A model call as a call record: request, response, tokens, outcome.

use serde_json::Value;

use super::call::{LlmCallRecord, LlmContentPart, LlmMessage, LlmRequestParams, LlmUsage, ToolCallSpec};
use super::facts::{self, count, filled};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::hash::HashMap;
use crate::operation::{Failure, Message, Operation, Part, ToolDefinition};
use crate::run::{Run, Step};
use crate::transcript::calls::{arguments_json, arguments_object};
use crate::transcript::content::text;
use crate::transcript::facts::silence;

/// The record of a model call. `call_ids` gives the ids under which the session has the calls, with the recorded ones, by place.
pub(super) fn record<'a>(
    run: &'a Run,
    step: &'a Step,
    call_ids: &[(Option<&'a str>, Text<'a>)],
    options: &Options,
    losses: &mut Vec<Loss>,
) -> LlmCallRecord<'a> {
    let operation = &step.operation;
    let span: Option<Text<'a>> = step.span_id.map(|span| span.to_string().into());
    let mut metadata = Object::new();
    let is_silent = operation.input_messages.is_none()
        && operation.output_messages.is_none()
        && operation.input.is_none()
        && operation.output.is_none();
    if is_silent {
        let (name, value) = silence(operation);
        metadata.insert(name, value);
    }
    metadata.insert_filled("requested_model", requested(operation));
    metadata.insert_filled("time_to_first_token", facts::number(operation.time_to_first_token));
    let output = operation.output_messages.as_deref().unwrap_or_default();
    let mut record = LlmCallRecord {
        call_id: span.clone().unwrap_or_else(|| (&step.id).into()),
        api_type: api_type(operation).into(),
        provider: operation.model.provider.as_ref().map(Text::from),
        model_name: operation.model.name().unwrap_or_default().into(),
        started_at: Some(step.started_at.rfc3339_offset().into()),
        completed_at: step.ended_at.map(|end| end.rfc3339_offset().into()),
        latency_ms: count(step.latency_ms()),
        input_messages: operation.input_messages.iter().flatten().map(message).collect(),
        output_messages: output.iter().take(1).map(message_without_calls).map(answer).collect(),
        usage: usage(operation),
        finish_reason: finish_reason(operation),
        choice_index: (!output.is_empty()).then_some(0),
        response_raw_json: operation.raw_response.as_ref().map(|raw| compact(raw).into()),
        span_id: span,
        trace_id: Some(run.trace_id.to_string().into()),
        provider_request_id: operation.response_id.as_ref().map(Text::from),
        outcome: outcome(step).map(Text::from),
        error: operation.failure.as_ref().map(|failure| error(failure).into()),
        token_traces: token_traces(operation),
        metadata,
        ..LlmCallRecord::default()
    };
    if output.len() > 1 {
        record.outputs = output.iter().map(message).map(answer).collect();
    }
    if operation.input_messages.is_none() {
        record.input_text = operation.input.get().map(text);
    }
    if options.is("synth.output_text", "raw") {
        record.output_text = operation.raw_response.as_ref().map(|raw| compact(raw).into());
    }
    if record.output_text.is_none() && operation.output_messages.is_none() {
        match operation.output.get().map(text) {
            // The package's SFT exporter opens JSON in this text and takes it for an object (synth-ai 0.2.24, export_trace_sft.py).
            Some(output) if is_other_json(&output) => record.metadata.insert("output", output),
            output => record.output_text = output,
        }
    }
    let (params, tool_choice) = request(operation);
    record.request_params = params;
    record.tool_choice = tool_choice;
    let by_id: HashMap<&str, &(Option<&str>, Text<'a>)> = call_ids.iter().filter_map(|call_id| Some((call_id.0?, call_id))).collect();
    for (index, call) in output
        .first()
        .map(|message| message.tool_calls.as_slice())
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let (arguments, coerced) = arguments_object(call.arguments.as_ref());
        let mut metadata = Object::new();
        if coerced {
            losses.push(Loss::new(
                step.span_id,
                format!("tool call {}: arguments are no object", call.name),
                LossReason::Coerced,
            ));
        }
        // A conversation may hold more calls of this turn than its own, or not all.
        let written = match call.id.as_deref() {
            Some(id) => by_id.get(id).copied(),
            None => call_ids.get(index),
        };
        let written = written.map(|(_, written)| written);
        if call.id.is_none() && written.is_some() {
            metadata.insert("call_id_derived", true);
            losses.push(Loss::new(
                step.span_id,
                format!("tool call {}: call_id", call.name),
                LossReason::Synthesized,
            ));
        } else if let Some(written) = written
            && call.id.as_deref() != Some(&**written)
        {
            metadata.insert("message_call_id", written.clone());
        }
        record.output_tool_calls.push(ToolCallSpec {
            name: (&call.name).into(),
            arguments_json: arguments_json(call),
            arguments: Some(arguments.into()),
            call_id: call.id.as_deref().map(Text::from).or_else(|| written.cloned()),
            index: i64::try_from(index).ok(),
            parent_call_id: None,
            metadata,
        });
    }
    record
}

fn requested(operation: &Operation) -> Json<'_> {
    operation
        .model
        .requested
        .as_deref()
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
fn finish_reason(operation: &Operation) -> Option<Text<'_>> {
    let reason = operation
        .finish_reason
        .as_deref()
        .or_else(|| operation.output_messages.as_ref()?.first()?.finish_reason.as_deref())?;
    Some(if reason == "tool_call" { "tool_calls" } else { reason }.into())
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

fn error(failure: &Failure) -> Object<'_> {
    let raw = failure
        .stacktrace
        .as_ref()
        .map(|trace| Object::from([("stacktrace", trace.into())]));
    Object::from([
        ("code", Json::Null),
        ("message", failure.text().into()),
        ("type", failure.error_type.as_ref().into()),
        ("raw", raw.into()),
    ])
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

/// One object for the training facts; where they have no log probabilities, one for each choice of the response.
fn token_traces(operation: &Operation) -> Option<Vec<Json<'_>>> {
    let training = &operation.training;
    let trace = filled([
        ("prompt_token_ids", training.prompt_token_ids.as_ref().into()),
        ("completion_token_ids", training.completion_token_ids.as_ref().into()),
        ("logprobs", training.logprobs.as_ref().into()),
    ]);
    let mut traces = Vec::new();
    if !trace.is_empty() {
        traces.push(trace.into());
    }
    if training.logprobs.is_none() {
        traces.extend(operation.raw_response.iter().flat_map(response_logprobs));
    }
    (!traces.is_empty()).then_some(traces)
}

/// Log probabilities in the body of a chat completion, a completion or an answer of the Responses API.
fn response_logprobs(body: &Value) -> Vec<Json<'_>> {
    fn members<'a>(value: &'a Value, key: &str) -> &'a [Value] {
        value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    let is_recorded = |value: &Value| match value {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => map.values().any(|value| !value.is_null()),
        _ => false,
    };
    let choices = members(body, "choices").iter().enumerate().filter_map(|(index, choice)| {
        let all = choice.get("logprobs")?;
        let content = all.get("content").filter(|content| is_recorded(content)).unwrap_or(all);
        let index = choice.get("index").map_or_else(|| index.into(), Json::from);
        is_recorded(content).then(|| Object::from([("choice_index", index), ("logprobs", content.into())]))
    });
    let parts = members(body, "output").iter().flat_map(|item| members(item, "content"));
    let texts = parts.filter_map(|part| {
        let all = part.get("logprobs").filter(|all| is_recorded(all))?;
        Some(Object::from([("logprobs", all.into())]))
    });
    choices.chain(texts).map(Json::from).collect()
}

/// Parameters in the record's fields; those of another name or type stay in `raw_params`.
fn request(operation: &Operation) -> (LlmRequestParams<'_>, Option<Text<'_>>) {
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
            "response_format" => set(&mut params.response_format, value.is_object().then(|| value.into())),
            "json_mode" => set(&mut params.json_mode, value.as_bool()),
            "tool_config" => set(&mut params.tool_config, value.is_object().then(|| value.into())),
            "tool_choice" => set(&mut tool_choice, (!value.is_null()).then(|| text(value))),
            _ => false,
        };
        if !taken {
            params.raw_params.add(key, value);
        }
    }
    for alias in ["max_completion_tokens", "max_output_tokens"] {
        if params.max_tokens.is_none() {
            params.max_tokens = operation.parameters.get(alias).and_then(Value::as_i64);
        }
    }
    if !operation.tool_definitions.is_empty() && !params.raw_params.contains_key("tools") {
        let tools = operation.tool_definitions.iter().map(tool);
        params.raw_params.add("tools", tools.collect::<Json<'_>>());
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

/// Whether a text is JSON that is no object.
fn is_other_json(text: &str) -> bool {
    !text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn texts(value: &Value) -> Option<Vec<Text<'_>>> {
    match value {
        Value::String(text) => Some(vec![text.into()]),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(Text::from)).collect(),
        _ => None,
    }
}

fn tool(definition: &ToolDefinition) -> Object<'_> {
    let function = filled([
        ("name", definition.name.as_str().into()),
        ("description", definition.description.as_ref().into()),
        ("parameters", definition.parameters.as_ref().into()),
    ]);
    Object::from([("type", "function".into()), ("function", function.into())])
}

/// A chat message; its tool calls, which the format's message has no field for, go to its metadata.
fn message(message: &Message) -> LlmMessage<'_> {
    let mut out = message_without_calls(message);
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let function = [("name", (&call.name).into()), ("arguments", arguments_json(call).into())];
            Object::from([
                ("id", call.id.as_deref().into()),
                ("type", "function".into()),
                ("function", Object::from(function).into()),
            ])
        });
        out.metadata.insert("tool_calls", calls.collect::<Json<'_>>());
    }
    out
}

fn message_without_calls(message: &Message) -> LlmMessage<'_> {
    let mut metadata = Object::new();
    if message.is_error {
        metadata.insert("is_error", true);
    }
    metadata.insert_filled("finish_reason", message.finish_reason.as_ref());
    let mut parts: Vec<LlmContentPart<'_>> = message.parts.iter().map(part).collect();
    if let Some(result) = message.result.as_deref()
        && !parts.iter().any(|part| part.text.is_some())
    {
        parts.push(LlmContentPart {
            data: result.is_object().then(|| result.into()),
            ..words("text", text(result))
        });
    }
    LlmMessage {
        role: message.role.name().into(),
        parts,
        name: message.name.as_ref().map(Text::from),
        tool_call_id: message.tool_call_id.as_ref().map(Text::from),
        metadata,
    }
}

/// Some clients record an answer without its role.
fn answer(message: LlmMessage<'_>) -> LlmMessage<'_> {
    LlmMessage {
        role: "assistant".into(),
        ..message
    }
}

fn part(part: &Part) -> LlmContentPart<'_> {
    match part {
        Part::Text(text) => words("text", text.into()),
        Part::Reasoning { text, opaque } => LlmContentPart {
            part_type: "reasoning".into(),
            text: text.as_ref().map(Text::from),
            data: (!opaque.is_empty()).then(|| opaque.into()),
            ..LlmContentPart::default()
        },
        Part::Media(media) => LlmContentPart {
            part_type: if media.modality.is_empty() { "file" } else { &media.modality }.into(),
            mime_type: media.mime_type.as_ref().map(Text::from),
            uri: media.uri.as_ref().map(Text::from),
            base64_data: media.base64.as_ref().map(Text::from),
            data: (media.uri.is_none() && media.base64.is_none() && media.raw.is_object()).then(|| (&media.raw).into()),
            ..LlmContentPart::default()
        },
        Part::Other(value) => LlmContentPart {
            part_type: value.get("type").and_then(Value::as_str).unwrap_or("other").into(),
            data: Some(if value.is_object() {
                value.into()
            } else {
                Object::from([("value", value.into())]).into()
            }),
            ..LlmContentPart::default()
        },
    }
}

fn words<'a>(part_type: &'static str, text: Text<'a>) -> LlmContentPart<'a> {
    LlmContentPart {
        part_type: part_type.into(),
        text: Some(text),
        ..LlmContentPart::default()
    }
}

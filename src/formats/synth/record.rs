//! Writes a model call as a call record: request, response, tokens, outcome.

use std::sync::Arc;

use serde_json::Value;

use super::facts::{self, count, filled};
use super::table::{CALL, CHAT, PARAMS, PART, RECORD, USAGE};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::shape::Shape::{Maybe, Number, StrictInt};
use crate::document::text::compact;
use crate::hash::HashMap;
use crate::operation::{Failure, Message, Messages, Operation, Part, ToolCall, ToolDefinition};
use crate::run::{Run, Step};
use crate::transcript::calls::{arguments_json, arguments_object};
use crate::transcript::content::text;
use crate::transcript::facts::silence;

/// The inputs of a run's model calls. Calls that continue one another share their messages here, too.
#[derive(Debug, Default)]
pub(super) struct Inputs<'a>(HashMap<usize, Arc<[Json<'a>]>>);

impl<'a> Inputs<'a> {
    fn of(&mut self, messages: Option<&'a Messages>) -> Json<'a> {
        let Some((number, list, part)) = messages.and_then(Messages::in_shared) else {
            return messages.into_iter().flat_map(|messages| messages.iter().map(message)).collect();
        };
        let list = self
            .0
            .entry(number)
            .or_insert_with(|| list.iter().map(|said| message(said).into()).collect());
        Json::Shared(Arc::clone(list), part)
    }
}

/// The record of a model call. `call_ids`: its calls' recorded and written ids, in order.
pub(super) fn record<'a>(
    run: &'a Run,
    step: &'a Step,
    call_ids: &[(Option<&'a str>, Text<'a>)],
    options: &Options,
    inputs: &mut Inputs<'a>,
    losses: &mut Vec<Loss>,
) -> Object<'a> {
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
    let raw = || operation.raw_response.as_ref().map(compact);
    let mut output_text: Option<Text<'a>> = raw().filter(|_| options.is("synth.output_text", "raw")).map(Text::from);
    if output_text.is_none() && operation.output_messages.is_none() {
        match operation.output.get().map(text) {
            // The package's SFT exporter parses JSON in this text and expects an object (synth-ai 0.2.24, export_trace_sft.py).
            Some(output) if is_other_json(&output) => metadata.insert("output", output),
            output => output_text = output,
        }
    }
    let output = operation.output_messages.as_deref().unwrap_or_default();
    let outputs = output.iter().filter(|_| output.len() > 1).map(|said| answer(said, true));
    let input_text = operation.input.get().filter(|_| operation.input_messages.is_none()).map(text);
    let (params, tool_choice) = request(operation);
    RECORD.complete([
        ("call_id", span.clone().unwrap_or_else(|| (&step.id).into()).into()),
        ("api_type", api_type(operation).into()),
        ("provider", operation.model.provider.as_ref().into()),
        ("model_name", operation.model.name().unwrap_or_default().into()),
        ("started_at", step.started_at.rfc3339_offset().into()),
        ("completed_at", step.ended_at.map(|end| end.rfc3339_offset()).into()),
        ("latency_ms", count(step.latency_ms()).into()),
        ("request_params", params.into()),
        ("input_messages", inputs.of(operation.input_messages.as_ref())),
        ("input_text", input_text.into()),
        ("tool_choice", tool_choice.into()),
        ("output_messages", output.iter().take(1).map(|said| answer(said, false)).collect()),
        ("outputs", outputs.collect()),
        ("output_text", output_text.into()),
        ("output_tool_calls", calls(step, output.first(), call_ids, losses)),
        ("usage", usage(operation)),
        ("finish_reason", finish_reason(operation).into()),
        ("choice_index", (!output.is_empty()).then_some(0_u64).into()),
        ("response_raw_json", raw().into()),
        ("span_id", span.into()),
        ("trace_id", run.trace_id.to_string().into()),
        ("provider_request_id", operation.response_id.as_ref().into()),
        ("metadata", metadata.into()),
        ("outcome", outcome(step).into()),
        ("error", operation.failure.as_ref().map(error).into()),
        ("token_traces", token_traces(operation).into()),
    ])
}

/// The calls of the first choice.
fn calls<'a>(step: &'a Step, first: Option<&'a Message>, call_ids: &[(Option<&'a str>, Text<'a>)], losses: &mut Vec<Loss>) -> Json<'a> {
    let by_id: HashMap<&str, &(Option<&str>, Text<'a>)> = call_ids.iter().filter_map(|call_id| Some((call_id.0?, call_id))).collect();
    let mut lose = |call: &ToolCall, what: &str, reason| {
        losses.push(Loss::new(step.span_id, format!("tool call {}: {what}", call.name), reason));
    };
    let calls = first.map(|message| message.tool_calls.as_slice()).unwrap_or_default();
    let written = calls.iter().enumerate().map(|(index, call)| {
        let (arguments, coerced) = arguments_object(call.arguments.as_ref());
        let mut metadata = Object::new();
        if coerced {
            lose(call, "arguments are not an object", LossReason::Coerced);
        }
        // A conversation may hold more calls of this turn than the turn itself, or fewer.
        let written = match call.id.as_deref() {
            Some(id) => by_id.get(id).copied(),
            None => call_ids.get(index),
        };
        let written = written.map(|(_, written)| written);
        if call.id.is_none() && written.is_some() {
            metadata.insert("call_id_derived", true);
            lose(call, "call_id", LossReason::Synthesized);
        } else if let Some(written) = written
            && call.id.as_deref() != Some(&**written)
        {
            metadata.insert("message_call_id", written.clone());
        }
        CALL.complete([
            ("name", (&call.name).into()),
            ("arguments_json", arguments_json(call).into()),
            ("arguments", arguments.into()),
            ("call_id", call.id.as_deref().map(Text::from).or_else(|| written.cloned()).into()),
            ("index", index.into()),
            ("metadata", metadata.into()),
        ])
    });
    written.collect()
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

/// OpenAI's stop reasons, which the record's API types use.
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
    } else if word.contains("cancel") || failure.is_cancellation() {
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

/// Total tokens, never less than their parts.
pub(super) fn total_tokens(operation: &Operation) -> Option<u64> {
    let usage = &operation.usage;
    let least = usage.input.unwrap_or(0).max(usage.output.unwrap_or(0));
    match usage.sum() {
        Some(total) if total >= least => Some(total),
        Some(_) => Some(usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0))),
        None => None,
    }
}

/// The cost, if finite.
pub(super) fn cost(operation: &Operation) -> Option<f64> {
    let cost = &operation.cost;
    let parts = || match (cost.input, cost.output) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0.0) + output.unwrap_or(0.0)),
    };
    cost.total.or_else(parts).filter(|cost| cost.is_finite())
}

fn usage(operation: &Operation) -> Json<'_> {
    let tokens = &operation.usage;
    let cost = cost(operation);
    if tokens.is_empty() && cost.is_none() {
        return Json::Null;
    }
    let usage = USAGE.complete([
        ("input_tokens", count(tokens.input).into()),
        ("output_tokens", count(tokens.output).into()),
        ("total_tokens", count(total_tokens(operation)).into()),
        ("reasoning_tokens", count(tokens.reasoning).into()),
        ("cache_write_tokens", count(tokens.cache_write).into()),
        ("cache_read_tokens", count(tokens.cache_read).into()),
        ("cost_usd", cost.into()),
    ]);
    usage.into()
}

/// One object for the training facts and, if they have no log probabilities, one per choice of the response.
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

/// Parameters in the record's fields; others, or those of another type, stay in `raw_params`.
fn request(operation: &Operation) -> (Object<'_>, Option<Text<'_>>) {
    let mut params = PARAMS.complete([]);
    let mut raw = Object::new();
    let mut tool_choice = None;
    for (key, value) in &operation.parameters {
        let name = match key.as_str() {
            "stop_sequences" => "stop",
            name => name,
        };
        let taken: Json<'_> = match PARAMS.fields.iter().find(|field| field.name == name).map(|field| field.shape) {
            _ if name == "stop" => texts(value),
            _ if name == "top_k" => integer(value).into(),
            Some(Maybe(StrictInt)) => value.as_i64().into(),
            Some(Maybe(Number)) => value.as_f64().into(),
            Some(Maybe(shape)) if shape.fits(value) => value.into(),
            None if name == "tool_choice" && !value.is_null() => {
                tool_choice = Some(text(value));
                continue;
            }
            _ => Json::Null,
        };
        match params.get_mut(name) {
            Some(place) if place.is_null() && !taken.is_null() => *place = taken,
            _ => raw.add(key, value),
        }
    }
    for alias in ["max_completion_tokens", "max_output_tokens"] {
        if let Some(place) = params.get_mut("max_tokens").filter(|place| place.is_null()) {
            *place = operation.parameters.get(alias).and_then(Value::as_i64).into();
        }
    }
    if !operation.tool_definitions.is_empty() && !raw.contains_key("tools") {
        raw.add("tools", operation.tool_definitions.iter().map(tool).collect::<Json<'_>>());
    }
    params.insert("raw_params", raw);
    (params, tool_choice)
}

/// Some clients record `top_k` as `40.0`.
#[expect(clippy::cast_possible_truncation, reason = "only whole numbers of a modest size are taken")]
fn integer(value: &Value) -> Option<i64> {
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|number| number as i64))
}

/// Whether a text is JSON that is not an object.
fn is_other_json(text: &str) -> bool {
    !text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn texts(value: &Value) -> Json<'_> {
    match value {
        Value::String(text) => Json::List(vec![text.into()]),
        Value::Array(list) if list.iter().all(Value::is_string) => value.into(),
        _ => Json::Null,
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

/// A chat message; tool calls go to its metadata, because the format's message has no field for them.
fn message(message: &Message) -> Object<'_> {
    chat(message, message.role.name(), true)
}

/// Some clients record an answer without its role.
fn answer(message: &Message, with_calls: bool) -> Object<'_> {
    chat(message, "assistant", with_calls)
}

fn chat<'a>(message: &'a Message, role: &'a str, with_calls: bool) -> Object<'a> {
    let mut metadata = Object::new();
    if message.is_error {
        metadata.insert("is_error", true);
    }
    metadata.insert_filled("finish_reason", message.finish_reason.as_ref());
    if with_calls && !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let function = [("name", (&call.name).into()), ("arguments", arguments_json(call).into())];
            Object::from([
                ("id", call.id.as_deref().into()),
                ("type", "function".into()),
                ("function", Object::from(function).into()),
            ])
        });
        metadata.insert("tool_calls", calls.collect::<Json<'_>>());
    }
    let mut parts: Vec<Object<'_>> = message.parts.iter().map(part).collect();
    let has_text = |part: &Part| matches!(part, Part::Text(_) | Part::Reasoning { text: Some(_), .. });
    if let Some(result) = message.result.as_deref().filter(|_| !message.parts.iter().any(has_text)) {
        let data = result.is_object().then(|| Json::from(result));
        parts.push(PART.complete([("type", "text".into()), ("text", text(result).into()), ("data", data.into())]));
    }
    CHAT.complete([
        ("role", role.into()),
        ("parts", parts.into_iter().collect()),
        ("name", message.name.as_ref().into()),
        ("tool_call_id", message.tool_call_id.as_ref().into()),
        ("metadata", metadata.into()),
    ])
}

fn part(part: &Part) -> Object<'_> {
    match part {
        Part::Text(text) => PART.complete([("type", "text".into()), ("text", text.into())]),
        Part::Reasoning { text, opaque } => {
            let data = (!opaque.is_empty()).then(|| Json::from(opaque));
            PART.complete([("type", "reasoning".into()), ("text", text.as_ref().into()), ("data", data.into())])
        }
        Part::Media(media) => {
            let is_raw = media.uri.is_none() && media.base64.is_none() && media.raw.is_object();
            PART.complete([
                ("type", if media.modality.is_empty() { "file" } else { &media.modality }.into()),
                ("data", is_raw.then(|| Json::from(&media.raw)).into()),
                ("mime_type", media.mime_type.as_ref().into()),
                ("uri", media.uri.as_ref().into()),
                ("base64_data", media.base64.as_ref().into()),
            ])
        }
        Part::Other(value) => {
            let data = match value {
                Value::Object(map) => map.into(),
                other => Object::from([("value", other.into())]).into(),
            };
            let word = value.get("type").and_then(Value::as_str).unwrap_or("other");
            PART.complete([("type", word.into()), ("data", data)])
        }
    }
}

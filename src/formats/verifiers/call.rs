//! A model call: its input, cost and times.

use serde_json::{Map, Value};

use super::node::Tokens;
use crate::document::json::{Json, Object};
use crate::operation::{Failure, Operation};
use crate::run::{Run, Step};
use crate::span::UnixNanos;
use crate::transcript::chat::OfferedTools;
use crate::transcript::{calls, content, facts};

/// Seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "microseconds fit")]
pub(super) fn seconds(at: UnixNanos) -> f64 {
    (at.0 / 1_000) as f64 / 1e6
}

pub(super) fn span<'a>(from: UnixNanos, to: UnixNanos) -> Object<'a> {
    Object::from([("start", seconds(from).into()), ("end", seconds(to).into())])
}

/// Why a run or a model call failed.
pub(super) fn error(failure: &Failure) -> Object<'_> {
    let kind = failure.error_type.as_deref().filter(|kind| !kind.is_empty());
    let mut out = Object::from([("type", kind.unwrap_or("Error").into())]);
    out.add("message", calls::error_text(failure));
    out.add_filled("traceback", failure.stacktrace.as_deref());
    out
}

/// Tools as a trace lists them.
pub(super) fn tools<'a>(offered: &OfferedTools<'a>) -> Vec<Object<'a>> {
    let Json::List(list) = offered.list() else { return Vec::new() };
    let functions = list.into_iter().filter_map(|tool| match tool {
        Json::Object(mut tool) => tool.remove("function"),
        _ => None,
    });
    let tools = functions.filter_map(|function| match function {
        Json::Object(function) => Some(function),
        _ => None,
    });
    tools.collect()
}

/// Writes what a call has fields for. What it has none for.
pub(super) fn fill<'a>(call: &mut Object<'a>, run: &'a Run, step: &'a Step, tokens: Option<&Tokens>) -> Object<'a> {
    let operation = &*step.operation;
    let mut left = facts::all(run, step);
    call.add_filled("model", operation.model.name());
    if fits(&operation.parameters) {
        call.add_filled("sampling", &operation.parameters);
        left.remove("parameters");
    }
    let messages = operation.output_messages.as_deref().unwrap_or_default();
    let reason = messages
        .first()
        .and_then(|message| message.finish_reason.as_deref())
        .or(operation.finish_reason.as_deref());
    call.add_filled("finish_reason", reason.and_then(finish_reason));
    call.add_filled("usage", usage(operation));
    call.add_filled("time", step.ended_at.map(|end| span(step.started_at, end)));
    call.add_filled("error", operation.failure.as_ref().map(error));
    for placed in ["model", "tool_definitions", "error"] {
        left.remove(placed);
    }
    if let Some(tokens) = tokens {
        left.remove("prompt_token_ids");
        left.remove("completion_token_ids");
        if tokens.has_logprobs() {
            left.remove("logprobs");
        }
    }
    left.add_filled("choices", messages.get(1..).map(content::chats));
    if step.ended_at.is_none() {
        left.insert("started_at", step.started_at.rfc3339());
    }
    left
}

/// Whether the parameters that readers know have the types that they know.
fn fits(parameters: &Map<String, Value>) -> bool {
    parameters.iter().all(|(key, value)| match key.as_str() {
        "temperature" | "top_p" => value.is_number(),
        "reasoning_effort" => value.is_string(),
        "max_tokens" | "max_completion_tokens" => value.is_i64() || value.is_u64(),
        "extra_body" => value.is_object(),
        _ => true,
    })
}

fn finish_reason(reason: &str) -> Option<&'static str> {
    let word = reason.to_ascii_lowercase();
    match word.rsplit('.').next().unwrap_or_default() {
        "stop" | "end_turn" | "stop_sequence" | "completed" | "complete" => Some("stop"),
        "length" | "max_tokens" | "max_output_tokens" => Some("length"),
        "tool_calls" | "tool_call" | "tool_use" | "tool-calls" | "function_call" => Some("tool_calls"),
        _ => None,
    }
}

/// Tokens and money; nothing unless both counts are known.
fn usage(operation: &Operation) -> Option<Object<'_>> {
    let usage = &operation.usage;
    let (input, output) = (usage.input?, usage.output?);
    let rate = input.checked_sub(usage.cache_read.unwrap_or(0)).unwrap_or(input);
    let mut out = Object::from([("prompt_tokens", rate.into()), ("completion_tokens", output.into())]);
    out.add_filled("cached_input_tokens", usage.cache_read);
    out.add_filled("reasoning_tokens", usage.reasoning);
    out.add_filled("cost", operation.cost.total.filter(|cost| cost.is_finite()));
    Some(out)
}

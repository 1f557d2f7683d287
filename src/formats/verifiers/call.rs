//! Writes a model call: its input, cost and times.

use serde_json::{Map, Value};

use super::node::Tokens;
use super::table::{CALL, ERROR, TIME, USAGE};
use crate::document::json::{Json, Object};
use crate::operation::{Failure, Operation};
use crate::run::{Run, Step};
use crate::span::UnixNanos;
use crate::transcript::chat::OfferedTools;
use crate::transcript::step_record::of_operation;
use crate::transcript::{calls, content, facts};

pub(super) fn span<'a>(from: UnixNanos, to: UnixNanos) -> Object<'a> {
    TIME.given([("start", from.seconds_micros().into()), ("end", to.seconds_micros().into())])
}

/// Why a run or a model call failed.
pub(super) fn error(failure: &Failure) -> Object<'_> {
    let kind = failure.error_type.as_deref().filter(|kind| !kind.is_empty());
    ERROR.given([
        ("type", kind.unwrap_or("Error").into()),
        ("message", calls::error_text(failure).into()),
        ("traceback", failure.stacktrace.as_deref().into()),
    ])
}

/// Tools in the trace's form.
pub(super) fn tools<'a>(offered: &OfferedTools<'a>) -> Json<'a> {
    let Json::List(list) = offered.list() else { return Json::Null };
    let functions = list.into_iter().filter_map(|tool| match tool {
        Json::Object(mut tool) => tool.remove("function"),
        _ => None,
    });
    functions.collect()
}

/// A call's record, and the facts it has no field for.
pub(super) fn call<'a>(run: &'a Run, step: &'a Step, node: Option<usize>, tokens: Option<&Tokens>) -> (Object<'a>, Object<'a>) {
    let operation = &*step.operation;
    let mut left = facts::all(run, step);
    let sampling = Some(&operation.parameters).filter(|parameters| fits(parameters));
    if sampling.is_some() {
        left.remove("parameters");
    }
    let messages = operation.output_messages.as_deref().unwrap_or_default();
    let reason = messages
        .first()
        .and_then(|message| message.finish_reason.as_deref())
        .or(operation.finish_reason.as_deref());
    let call = CALL.given([
        ("node", node.into()),
        ("model", operation.model.name().into()),
        ("sampling", sampling.into()),
        ("finish_reason", reason.and_then(finish_reason).into()),
        ("usage", usage(operation).into()),
        ("time", step.ended_at.map(|end| span(step.started_at, end)).into()),
        ("error", operation.failure.as_ref().map(error).into()),
    ]);
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
    (call, left)
}

/// Whether parameters known to readers have the types that readers expect.
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

/// Token counts and cost; `None` unless both counts are known.
fn usage(operation: &Operation) -> Option<Object<'_>> {
    let is_known = operation.usage.input.is_some() && operation.usage.output.is_some();
    is_known.then(|| of_operation(&USAGE, operation))
}

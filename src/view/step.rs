//! One step in a few words: its name, input and output.

use std::borrow::Cow;

use super::text::many;
use crate::operation::{Evaluation, Kind, Operation, TokenCount};
use crate::run::{Observed, Run, Step};
use crate::span::UnixNanos;
use crate::transcript::{calls, content};

/// The most specific name: of the model, tool or agent, else of the span.
pub(crate) fn name<'a>(run: &'a Run, step: &'a Step) -> &'a str {
    let operation = &step.operation;
    let name = match operation.kind {
        Kind::Llm | Kind::Embedding | Kind::Rerank => operation.model.name(),
        Kind::Tool => Some(calls::tool_name(run, step)),
        Kind::Agent | Kind::AgentCreate => operation.agent.name.as_deref(),
        _ => None,
    };
    name.filter(|name| !name.trim().is_empty()).unwrap_or(&operation.name)
}

/// Whether this is the step's id, or the first digits of its span's.
pub(crate) fn has_id(step: &Step, wanted: &str) -> bool {
    step.id == wanted || step.span_id.is_some_and(|span| span.to_string().starts_with(wanted))
}

/// Nanoseconds from the start of the run.
pub(crate) fn offset(run: &Run, at: UnixNanos) -> u64 {
    at.0.saturating_sub(run.started_at.0)
}

/// Nanoseconds from start to end; `None` while it runs.
pub(crate) fn nanos(step: &Step) -> Option<u64> {
    Some(step.ended_at?.0.saturating_sub(step.started_at.0))
}

/// Whether one of its times was not recorded but derived from its neighbours.
pub(crate) fn has_derived_times(step: &Step) -> bool {
    step.observed == Observed::Messages || step.ended_at.is_some() && step.latency_ms().is_none()
}

/// Whether any time of a run was recorded. Rows of chat messages have none.
pub(crate) fn has_times(run: &Run) -> bool {
    let recorded = |step: &Step| step.observed == Observed::Span && step.known_start().or(step.known_end()).is_some();
    run.steps.is_empty() || run.steps.iter().any(recorded)
}

/// Arguments or question of a step.
pub(crate) fn arguments<'a>(run: &'a Run, step: &'a Step) -> Option<Cow<'a, str>> {
    let operation = &step.operation;
    if operation.kind == Kind::Tool {
        let own = operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
        let asked = || calls::asked(run, step).and_then(|call| call.arguments.as_ref());
        return own.or_else(asked).map(content::text);
    }
    let query = || operation.search.as_ref()?.query.as_ref();
    let of_memory = || {
        let memory = operation.memory.as_ref()?;
        memory.query.as_ref().or(memory.data.as_ref())
    };
    let prompt = || operation.interrupt.as_ref()?.prompt.as_deref().map(Cow::from);
    let state = || operation.state.as_ref()?.key.as_deref().map(Cow::from);
    query().or_else(of_memory).map(content::text).or_else(prompt).or_else(state)
}

/// The output of an operation.
pub(crate) fn said(operation: &Operation) -> Option<Cow<'_, str>> {
    if let Some(tool) = &operation.tool {
        return tool.result.as_ref().map(content::text);
    }
    if let Some(search) = &operation.search {
        let found = search.documents.as_ref().map(|documents| many(documents.len(), "document").into());
        return found.or_else(|| operation.output.get().map(content::text));
    }
    if let Some(message) = operation.output_messages.as_ref().and_then(|messages| messages.first()) {
        let mut words = content::content(message).into_owned();
        for (at, call) in message.tool_calls.iter().enumerate() {
            words.push_str(if at == 0 { " " } else { ", " });
            words.push_str(&format!("{}({})", call.name, calls::arguments_json(call)));
        }
        return Some(words.into()).filter(|words: &Cow<'_, str>| !words.trim().is_empty());
    }
    let response = || operation.interrupt.as_ref()?.response.as_ref();
    let state = || operation.state.as_ref()?.new_value.as_ref();
    match operation.kind {
        Kind::Llm | Kind::FinalOutput | Kind::UserInput | Kind::Decision => operation.output.get().map(content::text),
        Kind::Interrupt => response().or_else(|| operation.output.get()).map(content::text),
        Kind::StateChange | Kind::Handoff => state().or_else(|| operation.output.get()).map(content::text),
        Kind::Evaluator | Kind::Guardrail => evaluation(operation).map(Cow::from),
        _ => None,
    }
}

fn evaluation(operation: &Operation) -> Option<String> {
    let of = |evaluation: &Evaluation| {
        let score = evaluation.score.map(|score| score.to_string());
        let words = [evaluation.name.clone(), evaluation.label.clone(), score];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let all: Vec<String> = operation.evaluations.iter().map(of).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// `107 in (80 cached), 21 out`; unrecorded numbers are left out. `None` if there are none.
pub(crate) fn tokens(usage: &TokenCount) -> Option<String> {
    tokens_as(usage, |number| number.to_string())
}

/// The same with numbers written by `number`.
pub(crate) fn tokens_as(usage: &TokenCount, number: fn(u64) -> String) -> Option<String> {
    written(usage, true, number)
}

/// `107 in, 21 out`.
pub(crate) fn short_tokens(usage: &TokenCount) -> Option<String> {
    written(usage, false, |number| number.to_string())
}

fn written(usage: &TokenCount, parts: bool, number: fn(u64) -> String) -> Option<String> {
    let with = |count: u64, way: &str, part: Option<u64>, what: &str| match part.filter(|part| parts && *part > 0) {
        Some(part) => format!("{} {way} ({} {what})", number(count), number(part)),
        None => format!("{} {way}", number(count)),
    };
    let input = usage.input.map(|count| with(count, "in", usage.cache_read, "cached"));
    let output = usage.output.map(|count| with(count, "out", usage.reasoning, "reasoning"));
    let said: Vec<String> = [input, output].into_iter().flatten().collect();
    match (said.is_empty(), usage.total) {
        (false, _) => Some(said.join(", ")),
        (true, total) => total.map(|total| format!("{} in all", number(total))),
    }
}

//! One step, with its calls, results and facts.

use super::draft::{Step, StepList};
use super::media;
use super::table::{METRICS, MORE_METRICS, PART, RESULT};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::Loss;
use crate::operation::{Kind, Message, Part, Role};
use crate::run::{self, Run, Utterance};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::step_record::of_operation;
use crate::transcript::{CallResult, Exchange, ExchangeCall, ExchangeKind};
use crate::transcript::{chat, content, facts};

/// Facts with their own field in a step, besides `tool_definitions`, which belong to the agent.
const PLACED: [&str; 8] = [
    "model",
    "usage",
    "cost",
    "prompt_token_ids",
    "completion_token_ids",
    "logprobs",
    "time_to_first_token",
    "tool_definitions",
];

fn new<'a>(source: &'static str, message: Json<'a>, at: Option<UnixNanos>) -> Step<'a> {
    let mut fields = Object::from([("source", source.into()), ("message", message)]);
    fields.add_filled("timestamp", at.map(UnixNanos::rfc3339_micros));
    Step {
        fields,
        extra: Object::new(),
    }
}

/// A step of words that only an agent or a chain records.
pub(super) fn of_utterance<'a>(run: &'a Run, utterance: &'a Utterance, source: &'static str) -> Step<'a> {
    let mut step = new(
        source,
        content::text(&utterance.content).into(),
        run.known_time(Some(utterance.step), utterance.at),
    );
    step.extra
        .add_filled("ancestry", run.steps.get(utterance.step).map(|step| ancestry(run, step)));
    step
}

/// The step of an exchange, without its calls; `None` if it is empty.
pub(super) fn of_exchange<'a>(run: &'a Run, results: &Results<'a>, draft: &mut StepList<'a>, exchange: &Exchange<'a>) -> Option<Step<'a>> {
    let own = exchange.step.and_then(|step| step.of(run));
    let span = own.and_then(|own| own.span_id);
    let mut step = match exchange.kind {
        ExchangeKind::Message(message) | ExchangeKind::Turn(message) => {
            let source = match (&message.role, exchange.kind) {
                (_, ExchangeKind::Turn(_)) | (Role::Assistant, _) => "agent",
                (Role::System | Role::Developer, _) => "system",
                _ => "user",
            };
            if message.is_blank() && matches!(exchange.kind, ExchangeKind::Message(_)) {
                return None;
            }
            let mut step = new(source, content(message, span, draft), run.known_time(exchange.step, exchange.at));
            let thoughts = content::thoughts(message);
            if source == "agent" {
                step.fields.add_filled("reasoning_content", content::reasoning(message));
                step.extra.add_filled(
                    "reasoning_opaque",
                    thoughts.get("reasoning_opaque").map(std::borrow::Cow::into_owned),
                );
            }
            if source == "agent" && matches!(exchange.kind, ExchangeKind::Message(_)) {
                step.fields.add("is_copied_context", true);
            }
            if let (Role::Developer | Role::Other(_), "user" | "system") = (&message.role, source) {
                step.extra.add("role", message.role.name());
            }
            step.extra.add_filled("name", message.name.as_deref());
            step
        }
        ExchangeKind::SilentTurn | ExchangeKind::Unasked => new("agent", "".into(), run.known_time(exchange.step, exchange.at)),
        ExchangeKind::UserWords => new(
            "user",
            content::operation_words(run, results, own?, true)?.into(),
            run.known_time(exchange.step, exchange.at),
        ),
        ExchangeKind::AgentWords => new(
            "agent",
            content::operation_words(run, results, own?, false)?.into(),
            run.known_time(exchange.step, exchange.at),
        ),
    };
    if exchange.branch {
        step.extra.add("branch", true);
    }
    match exchange.kind {
        ExchangeKind::Turn(message) => {
            step.extra.insert_filled("finish_reason", message.finish_reason.as_deref());
            let choices = own.and_then(|own| own.operation.output_messages.as_deref()?.get(1..));
            step.extra.add_filled("choices", choices.map(content::chats));
            model_call(own, &mut step);
        }
        ExchangeKind::SilentTurn => {
            let (name, value) = own.map_or(facts::NOT_CAPTURED, |own| facts::silence(&own.operation));
            step.extra.add(name, value);
            model_call(own, &mut step);
        }
        ExchangeKind::Unasked => {
            step.fields.add("llm_call_count", 0_u64);
            let kind = own.map(|own| own.operation.kind).filter(|kind| *kind != Kind::Tool);
            step.extra.add_filled("kind", kind.map(Kind::name));
        }
        _ => {}
    }
    if let (Some(own), false) = (own, matches!(exchange.kind, ExchangeKind::Message(_))) {
        let own_extra = extra(run, own);
        step.extra.extend(own_extra);
    }
    Some(step)
}

/// Text, or a list of parts if readers can load an image or a sound. A `data:` URL would crash validators.
fn content<'a>(message: &'a Message, span: Option<SpanId>, draft: &mut StepList<'a>) -> Json<'a> {
    let (text, reason) = chat::content(message);
    let Some(reason) = reason else { return text.into() };
    let media: Vec<Option<Object<'a>>> = message.parts.iter().map(|part| media::part(part, draft.keeps_media)).collect();
    let is_lost = |(part, media): (&Part, &Option<Object<'_>>)| matches!(part, Part::Media(_) | Part::Other(_)) && media.is_none();
    if message.parts.iter().zip(&media).any(is_lost) {
        draft.losses.push(Loss::new(
            span,
            "message: a part that is neither text nor an image or a sound with a URL",
            reason,
        ));
    }
    if media.iter().all(Option::is_none) {
        return text.into();
    }
    let is_sound = |media: &Object<'_>| media.get("type").is_some_and(|kind| kind.as_str() == Some("audio"));
    draft.has_sound |= media.iter().flatten().any(is_sound);
    let text_of = |part: &'a Part| -> Option<Text<'a>> {
        match part {
            Part::Text(text) => Some(text.into()),
            Part::Media(media) => Some(content::media_mark(media).into()),
            Part::Other(value) => chat::part_words(message, value).map(Text::from),
            Part::Reasoning { .. } => None,
        }
    };
    let parts = message
        .parts
        .iter()
        .zip(media)
        .filter_map(|(part, media)| media.or_else(|| Some(PART.given([("type", "text".into()), ("text", text_of(part)?.into())]))));
    parts.collect()
}

fn model_call<'a>(own: Option<&'a run::Step>, step: &mut Step<'a>) {
    let fields = &mut step.fields;
    fields.add("llm_call_count", 1_u64);
    let mut metrics = Object::new();
    if let Some(operation) = own.map(|own| &own.operation) {
        fields.add_filled("model_name", operation.model.name());
        let effort = operation.parameters.get("reasoning_effort");
        fields.add_filled("reasoning_effort", effort.filter(|effort| effort.is_string() || effort.is_number()));
        metrics = of_operation(&METRICS, operation);
        let mut more = of_operation(&MORE_METRICS, operation);
        more.retain(|key, _| !metrics.contains_key(key));
        metrics.add_filled("extra", more);
    }
    fields.add("metrics", metrics);
}

fn ancestry<'a>(run: &'a Run, step: &'a run::Step) -> Object<'a> {
    let name = |step: &'a run::Step| match step.operation.kind {
        Kind::Tool => calls::tool_name(run, step),
        _ => &step.operation.name,
    };
    let mut out = Object::from([("function_id", (&step.id).into()), ("function_name", name(step).into())]);
    if let Some(parent) = step.parent.and_then(|parent| run.steps.get(parent)) {
        out.add("parent_id", &parent.id);
        out.add("parent_name", name(parent));
    }
    out
}

/// The parents, times and other facts of an operation that have no field in its step.
pub(super) fn extra<'a>(run: &'a Run, step: &'a run::Step) -> Object<'a> {
    let mut out = Object::from([("ancestry", ancestry(run, step).into())]);
    let mut invocation = Object::new();
    if let (Some(start), Some(end)) = (step.known_start(), step.known_end()) {
        invocation.add("start_timestamp", start.seconds_micros());
        invocation.add("end_timestamp", end.seconds_micros());
    }
    invocation.add("invocation_id", &step.id);
    let status = match (&step.operation.failure, step.ended_at) {
        (Some(_), _) => "error",
        (None, Some(_)) => "completed",
        (None, None) => "running",
    };
    invocation.add("status", status);
    invocation.add_filled("framework", run.agent.framework.as_deref());
    out.add("invocation", invocation);
    let is_model_call = crate::transcript::is_model_call(step);
    // The step already has the id of its call.
    let is_tool = step.operation.kind == Kind::Tool;
    let mut all = facts::all(run, step);
    all.retain(|key, _| !(is_tool && key == "tool_call_id" || is_model_call && PLACED.contains(&key)));
    out.extend(all);
    out
}

/// The result of a call; `None` if it has none.
pub(super) fn result<'a>(run: &'a Run, results: &Results<'a>, asked: &ExchangeCall<'a>, id: Text<'a>) -> Option<Object<'a>> {
    let (content, extra) = given(run, results, asked)?;
    Some(RESULT.given([("source_call_id", id.into()), ("content", content), ("extra", extra.into())]))
}

/// A result whose call and tool were not recorded.
pub(super) fn lone_result<'a>(run: &'a Run, results: &Results<'a>, asked: &ExchangeCall<'a>) -> Object<'a> {
    let mut out = Object::from([("tool_call_id", asked.id.clone().into())]);
    out.add_filled("content", asked.results.last().map(|last| chat::result(run, results, *last).0));
    out
}

/// A tool's result, and other facts about it.
fn given<'a>(run: &'a Run, results: &Results<'a>, asked: &ExchangeCall<'a>) -> Option<(Json<'a>, Object<'a>)> {
    let (last, earlier) = asked.results.split_last()?;
    let (content, failure) = chat::result(run, results, *last);
    let time = |given: &CallResult<'_>| run.known_time(given.tool, given.at).map(|at| at.rfc3339_micros());
    let mut extra = Object::new();
    extra.add_filled("timestamp", time(last));
    if let Some(failure) = failure {
        extra.add("is_error", true);
        extra.add("error", facts::error(failure));
    }
    if last.branch {
        extra.add("branch", true);
    }
    for given in earlier {
        let (content, failure) = chat::result(run, results, *given);
        let mut earlier = Object::from([("content", content.into())]);
        earlier.add_filled("timestamp", time(given));
        earlier.add_filled("is_error", failure.map(|_| true));
        extra.push("earlier_results", earlier);
    }
    Some((content.into(), extra))
}

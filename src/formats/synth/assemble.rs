//! Converts runs to a session trace.

use std::sync::Arc;

use super::document::{SessionTimeStep, SessionTrace};
use super::events::{Events, TimedEvent};
use super::facts;
use super::messages::{Messages, TimedMessage};
use super::turns::Turns;
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::formats::format::Assembled;
use crate::run::Run;
use crate::span::UnixNanos;

/// Converts all runs to one session trace, with consecutive turns.
pub(super) fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<SessionTrace<'a>>> {
    let runs: Vec<&'a Run> = runs.iter().filter(|run| run.has_agent_work()).collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let mut messages = Messages::default();
    let mut events = Events::default();
    let mut happened: Vec<TimedEvent<'a>> = Vec::new();
    let mut all_messages: Vec<TimedMessage<'a>> = Vec::new();
    let mut turn_facts: Vec<(usize, Object<'a>)> = Vec::new();
    let mut turns_before = 0;
    for run in &runs {
        let turns = Turns::of(run);
        messages.next_run();
        messages.collect(run, &turns);
        events.collect(run, &turns, &messages, options);
        let shift = |turn: usize| turn + turns_before;
        happened.extend(events.happened.drain(..).map(|one| TimedEvent {
            turn: shift(one.turn),
            ..one
        }));
        all_messages.extend(messages.list.drain(..).map(|one| TimedMessage {
            turn: shift(one.turn),
            ..one
        }));
        turn_facts.extend(events.turn_facts.drain(..).map(|(turn, facts)| (shift(turn), facts)));
        turns_before += turns.count;
    }
    let spans = spans(turns_before, &happened, &all_messages);
    // Empty turns have no step; the others are numbered consecutively.
    let mut number = 0;
    let names: Vec<Option<usize>> = spans
        .iter()
        .map(|span| {
            span.as_ref().map(|_| {
                number += 1;
                number
            })
        })
        .collect();
    let name = |turn: usize| names.get(turn).copied().flatten().map(|number| format!("turn_{number}"));
    happened.sort_by_key(|one| one.at);
    all_messages.sort_by_key(|one| one.at);
    for one in &mut happened {
        if let Some(Json::Object(metadata)) = one.event.get_mut("metadata") {
            lead(metadata, name(one.turn));
        }
    }
    for one in &mut all_messages {
        lead(&mut one.message.metadata, name(one.turn));
        if options.is("synth.messages", "store") {
            store_word(one);
        }
    }
    let (event_turns, event_history): (Vec<usize>, Vec<_>) = happened.into_iter().map(|one| (one.turn, Arc::new(one.event))).unzip();
    let (message_turns, message_history): (Vec<usize>, Vec<_>) =
        all_messages.into_iter().map(|one| (one.turn, Arc::new(one.message))).unzip();
    let mut steps: Vec<SessionTimeStep<'a>> = Vec::new();
    let mut facts_of = by_turn(turns_before, turn_facts.into_iter());
    let mut events_of = by_turn(turns_before, event_turns.into_iter().zip(event_history.iter().cloned()));
    let mut messages_of = by_turn(turns_before, message_turns.into_iter().zip(message_history.iter().cloned()));
    for (turn, span) in spans.iter().enumerate() {
        let (Some(span), Some(step_id)) = (span, name(turn)) else {
            continue;
        };
        let chains: Json<'a> = taken(&mut facts_of, turn).into_iter().collect();
        let mut step_metadata = Object::new();
        step_metadata.insert_filled("chains", chains);
        let index = i64::try_from(steps.len()).unwrap_or(i64::MAX);
        steps.push(SessionTimeStep {
            step_id: step_id.into(),
            step_index: index,
            timestamp: span.start.rfc3339_offset().into(),
            turn_number: Some(index.saturating_add(1)),
            events: taken(&mut events_of, turn),
            markov_blanket_messages: taken(&mut messages_of, turn),
            step_metadata,
            completed_at: span.end.map(|end| end.rfc3339_offset().into()),
        });
    }
    let mut losses = messages.losses;
    losses.append(&mut events.losses);
    let document = SessionTrace {
        session_id: session_id(&runs, first),
        created_at: runs
            .iter()
            .map(|run| run.started_at)
            .min()
            .unwrap_or(first.started_at)
            .rfc3339_offset()
            .into(),
        session_time_steps: steps,
        event_history,
        markov_blanket_message_history: message_history,
        metadata: metadata(&runs, first),
        session_metadata: (!events.session.is_empty()).then_some(events.session),
    };
    vec![Assembled { document, losses }]
}

/// A turn's time; `end` is `None` while something in it is running.
struct Span {
    start: UnixNanos,
    end: Option<UnixNanos>,
}

/// The time of each turn; `None` if it has no events and no messages.
fn spans(count: usize, happened: &[TimedEvent<'_>], all_messages: &[TimedMessage<'_>]) -> Vec<Option<Span>> {
    let mut spans: Vec<Option<Span>> = std::iter::repeat_with(|| None).take(count).collect();
    let mut running = vec![false; count];
    let moments = happened
        .iter()
        .map(|one| (one.turn, one.at, one.until))
        .chain(all_messages.iter().map(|one| (one.turn, one.at, Some(one.at))));
    for (turn, start, end) in moments {
        if let Some(running) = running.get_mut(turn) {
            *running |= end.is_none();
        }
        if let Some(slot) = spans.get_mut(turn) {
            let span = slot.get_or_insert(Span { start, end });
            span.start = span.start.min(start);
            span.end = span.end.max(end);
        }
    }
    for (span, running) in spans.iter_mut().zip(running) {
        if let Some(span) = span {
            span.end = span.end.filter(|_| !running).map(|end| end.max(span.start));
        }
    }
    spans
}

/// Takes the values of a turn, which are needed only once.
fn taken<T>(lists: &mut [Vec<T>], turn: usize) -> Vec<T> {
    lists.get_mut(turn).map(std::mem::take).unwrap_or_default()
}

/// Groups values by turn, keeping their order.
fn by_turn<T>(count: usize, values: impl Iterator<Item = (usize, T)>) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = std::iter::repeat_with(Vec::new).take(count).collect();
    for (turn, value) in values {
        if let Some(list) = out.get_mut(turn) {
            list.push(value);
        }
    }
    out
}

/// The trace's id, or the session's for several traces.
fn session_id<'a>(runs: &[&Run], first: &'a Run) -> Text<'a> {
    match &first.session_id {
        Some(session) if runs.len() > 1 => session.into(),
        _ => first.trace_id.to_string().into(),
    }
}

fn metadata<'a>(runs: &[&'a Run], first: &'a Run) -> Object<'a> {
    let mut map = facts::of_run(first);
    if runs.len() > 1 {
        let others = runs.iter().skip(1).map(|run| facts::of_run(run));
        map.insert("later_runs", others.collect::<Json<'a>>());
    }
    map
}

/// Puts `step_id` first, the only key by which the store links items to steps.
fn lead(metadata: &mut Object<'_>, step_id: Option<String>) {
    if let Some(step_id) = step_id {
        metadata.lead("step_id", step_id);
    }
}

/// Replaces a message type by the libsql store's; the documentation's goes to `metadata.boundary_type`.
fn store_word(message: &mut TimedMessage<'_>) {
    let word = match &*message.message.message_type {
        "user_input" => "user",
        "agent_response" => "assistant",
        "action" => "tool_use",
        "result" | "observation" => "tool_result",
        _ => return,
    };
    let page = std::mem::replace(&mut message.message.message_type, word.into());
    message.message.metadata.insert("boundary_type", page);
}

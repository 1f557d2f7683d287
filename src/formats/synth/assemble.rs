//! Runs to a session trace.

use serde_json::{Map, Value};

use super::document::{SessionTimeStep, SessionTrace};
use super::events::{Events, Happened};
use super::facts;
use super::messages::{Messages, Said};
use super::turns::Turns;
use crate::formats::{Assembled, Options};
use crate::run::Run;
use crate::span::UnixNanos;

/// One session trace of all runs: their turns follow one another.
pub(super) fn assemble(runs: &[Run], options: &Options) -> Vec<Assembled<SessionTrace>> {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.has_agent_work()).collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let mut messages = Messages::default();
    let mut events = Events::default();
    let mut happened: Vec<Happened> = Vec::new();
    let mut said: Vec<Said> = Vec::new();
    let mut turn_facts: Vec<(usize, Value)> = Vec::new();
    let mut turns_before = 0;
    for run in &runs {
        let turns = Turns::of(run);
        messages.next_run();
        messages.collect(run, &turns);
        events.collect(run, &turns, &messages, options);
        let shift = |turn: usize| turn + turns_before;
        happened.extend(events.happened.drain(..).map(|one| Happened {
            turn: shift(one.turn),
            ..one
        }));
        said.extend(messages.said.drain(..).map(|one| Said {
            turn: shift(one.turn),
            ..one
        }));
        turn_facts.extend(events.turn_facts.drain(..).map(|(turn, facts)| (shift(turn), facts)));
        turns_before += turns.count;
    }
    let spans: Vec<Option<Span>> = (0..turns_before).map(|turn| span(turn, &happened, &said)).collect();
    // Turns without anything in them have no step; the others are numbered on.
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
    said.sort_by_key(|one| one.at);
    for one in &mut happened {
        lead(one.event.metadata_mut(), name(one.turn));
    }
    for one in &mut said {
        lead(&mut one.message.metadata, name(one.turn));
        if options.is("synth.messages", "store") {
            store_word(one);
        }
    }
    let mut steps: Vec<SessionTimeStep> = Vec::new();
    for (turn, span) in spans.iter().enumerate() {
        let (Some(span), Some(step_id)) = (span, name(turn)) else {
            continue;
        };
        let chains: Vec<Value> = turn_facts
            .iter()
            .filter(|(of, _)| *of == turn)
            .map(|(_, facts)| facts.clone())
            .collect();
        let mut step_metadata = Map::new();
        facts::put_filled(&mut step_metadata, "chains", chains.into());
        let index = i64::try_from(steps.len()).unwrap_or(i64::MAX);
        steps.push(SessionTimeStep {
            step_id,
            step_index: index,
            timestamp: span.start.rfc3339_offset(),
            turn_number: Some(index.saturating_add(1)),
            events: happened
                .iter()
                .filter(|one| one.turn == turn)
                .map(|one| one.event.clone())
                .collect(),
            markov_blanket_messages: said.iter().filter(|one| one.turn == turn).map(|one| one.message.clone()).collect(),
            step_metadata,
            completed_at: span.end.map(UnixNanos::rfc3339_offset),
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
            .rfc3339_offset(),
        session_time_steps: steps,
        event_history: happened.into_iter().map(|one| one.event).collect(),
        markov_blanket_message_history: said.into_iter().map(|one| one.message).collect(),
        metadata: metadata(&runs, first),
        session_metadata: (!events.session.is_empty()).then_some(events.session),
    };
    vec![Assembled { document, losses }]
}

/// A turn's time; `end` is `None` while something in it runs.
struct Span {
    start: UnixNanos,
    end: Option<UnixNanos>,
}

fn span(turn: usize, happened: &[Happened], said: &[Said]) -> Option<Span> {
    let events = || happened.iter().filter(|one| one.turn == turn);
    let messages = || said.iter().filter(|one| one.turn == turn);
    let start = events().map(|one| one.at).chain(messages().map(|one| one.at)).min()?;
    let running = events().any(|one| one.until.is_none());
    let end = events().filter_map(|one| one.until).chain(messages().map(|one| one.at)).max();
    Some(Span {
        start,
        end: end.filter(|_| !running).map(|end| end.max(start)),
    })
}

/// The trace's id, or the session's for several traces.
fn session_id(runs: &[&Run], first: &Run) -> String {
    match &first.session_id {
        Some(session) if runs.len() > 1 => session.clone(),
        _ => first.trace_id.to_string(),
    }
}

fn metadata(runs: &[&Run], first: &Run) -> Map<String, Value> {
    let mut map = facts::of_run(first);
    if runs.len() > 1 {
        let others: Vec<Value> = runs.iter().skip(1).map(|run| Value::Object(facts::of_run(run))).collect();
        facts::put(&mut map, "later_runs", others);
    }
    map
}

/// The store links by `step_id` alone: it stands first.
fn lead(metadata: &mut Map<String, Value>, step_id: Option<String>) {
    let Some(step_id) = step_id else { return };
    let rest = std::mem::take(metadata);
    facts::put(metadata, "step_id", step_id);
    metadata.extend(rest);
}

/// The libsql store's word; the page's goes to `metadata.boundary_type`.
fn store_word(said: &mut Said) {
    let word = match said.message.message_type.as_str() {
        "user_input" => "user",
        "agent_response" => "assistant",
        "action" => "tool_use",
        "result" | "observation" => "tool_result",
        _ => return,
    };
    let page = std::mem::replace(&mut said.message.message_type, word.to_owned());
    facts::put(&mut said.message.metadata, "boundary_type", page);
}

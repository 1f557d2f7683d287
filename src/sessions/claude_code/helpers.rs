//! Agents of the client itself: one writes the summary of a compaction, others suggest a prompt or answer a question on the side.
//!
//! Each has a file like a sub-agent's, but no call in the conversation asked for it, so it is not a run. The cost of its calls is added
//! to the compaction, or is a fact of the turn.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::events::{Call, Compaction, Event, Thread, fact};
use crate::sessions::note::Note;
use crate::sessions::recording::Recorded;
use crate::span::UnixNanos;

/// The id prefix of agents that write a summary.
const COMPACTION: &str = "acompact-";

/// The id prefixes of other helpers.
const OTHERS: [&str; 2] = ["aprompt_suggestion-", "aside_question-"];

pub(super) fn is_helper(thread: &Thread) -> bool {
    thread.id.starts_with(COMPACTION) || OTHERS.iter().any(|begin| thread.id.starts_with(begin))
}

/// The position of an event: thread and index.
type EventPlace = (usize, usize);

/// Times of prompts, and of the ends of calls and compactions, in order.
#[derive(Default)]
struct Times {
    prompts: Vec<(UnixNanos, EventPlace)>,
    /// The flag is `true` for a compaction.
    done: Vec<(UnixNanos, EventPlace, bool)>,
    /// The last prompt in the files, regardless of its time.
    last: Option<EventPlace>,
}

impl Times {
    fn of(threads: &[Thread]) -> Self {
        let mut times = Self::default();
        for (number, thread) in threads.iter().enumerate().filter(|(_, thread)| thread.under.is_none()) {
            for (index, event) in thread.events.iter().enumerate() {
                let place = (number, index);
                match event {
                    Event::Prompt(prompt) => {
                        times.last = Some(place);
                        times.prompts.extend(prompt.at.map(|at| (at, place)));
                    }
                    Event::Call(call) => times.done.extend(call.end.map(|at| (at, place, false))),
                    Event::Compacted(compaction) => times.done.extend(compaction.at.map(|at| (at, place, true))),
                    _ => {}
                }
            }
        }
        times.prompts.sort_by_key(|(at, _)| *at);
        times.done.sort_by_key(|(at, ..)| *at);
        times
    }

    /// The next compaction after a time. The conversation waits while a summary is written: a call in between means that it was not used.
    fn compaction(&self, at: UnixNanos) -> Option<EventPlace> {
        let next = self.done.get(self.done.partition_point(|(done, ..)| *done < at))?;
        next.2.then_some(next.1)
    }

    /// The prompt of the turn at this time.
    fn turn(&self, at: Option<UnixNanos>) -> Option<EventPlace> {
        let before = at.map(|at| self.prompts.partition_point(|(prompt, _)| *prompt <= at).saturating_sub(1));
        before
            .and_then(|before| self.prompts.get(before))
            .map(|(_, place)| *place)
            .or(self.last)
    }
}

/// Adds the work of each helper to the compaction that it wrote, or to the turn.
pub(super) fn place(helpers: Vec<Thread>, out: &mut Recorded) {
    if helpers.is_empty() {
        return;
    }
    let times = Times::of(&out.threads);
    let mut of_turns: BTreeMap<EventPlace, Vec<Value>> = BTreeMap::new();
    for helper in helpers {
        let (session, work) = (helper.session.clone(), Work::of(helper));
        // The helper was interrupted, or its file only has copies of the conversation.
        if work.calls.is_empty() {
            continue;
        }
        let compaction = work
            .end
            .filter(|_| work.agent.starts_with(COMPACTION))
            .and_then(|end| times.compaction(end));
        if let Some(Event::Compacted(compaction)) = compaction.and_then(|place| event(&mut out.threads, place)) {
            work.complete(compaction);
        } else if let Some(place) = times.turn(work.begin.or(work.end)) {
            of_turns.entry(place).or_default().extend(work.facts());
        } else {
            out.notes.push(Note {
                place: format!("session {session}"),
                detail: format!(
                    "{}, an agent of the client itself, belongs to none of these turns and is left out",
                    work.agent
                ),
            });
        }
    }
    for (place, calls) in of_turns {
        if let Some(Event::Prompt(prompt)) = event(&mut out.threads, place) {
            prompt.facts.insert("auxiliary_calls".to_owned(), Value::Array(calls));
        }
    }
}

fn event(threads: &mut [Thread], (thread, event): EventPlace) -> Option<&mut Event> {
    threads.get_mut(thread)?.events.get_mut(event)
}

/// The work of a helper.
struct Work {
    agent: String,
    /// The last prompt: the file may begin with copies of the conversation.
    asked: Option<String>,
    begin: Option<UnixNanos>,
    end: Option<UnixNanos>,
    calls: Vec<Call>,
}

impl Work {
    fn of(thread: Thread) -> Self {
        let mut work = Self {
            agent: thread.id,
            asked: None,
            begin: None,
            end: None,
            calls: Vec::new(),
        };
        for event in thread.events {
            match event {
                Event::Prompt(prompt) => {
                    work.begin = prompt.at;
                    work.asked = Some(prompt.message.content());
                }
                Event::Call(call) => {
                    work.end = call.end.or(work.end);
                    work.calls.push(*call);
                }
                _ => {}
            }
        }
        work
    }

    /// Adds the calls that wrote the summary to a compaction. Their output is the summary, plus notes that the client removes.
    fn complete(self, compaction: &mut Compaction) {
        compaction.start = compaction.start.or(self.begin);
        for call in &self.calls {
            compaction.usage.add(&call.usage);
            compaction.response_id = call.response_id.clone().or(compaction.response_id.take());
        }
        let mut written: Vec<Value> = self.facts().collect();
        if let Some(Value::Array(before)) = compaction.facts.get_mut("summary_calls") {
            before.append(&mut written);
        } else {
            compaction.facts.insert("summary_calls".to_owned(), written.into());
        }
    }

    /// The calls, each as a fact.
    fn facts(&self) -> impl Iterator<Item = Value> + '_ {
        self.calls.iter().map(|call| {
            let mut facts = Map::new();
            fact(&mut facts, "agent_id", Some(self.agent.as_str()));
            fact(&mut facts, "asked", self.asked.as_deref());
            fact(&mut facts, "response_id", call.response_id.as_deref());
            fact(&mut facts, "model", call.response_model.as_deref());
            for (key, count) in [
                ("input_tokens", call.usage.input),
                ("output_tokens", call.usage.output),
                ("cache_read_tokens", call.usage.cache_read),
                ("cache_write_tokens", call.usage.cache_write),
            ] {
                fact(&mut facts, key, count);
            }
            let answered = call.output.as_ref().map(crate::operation::Message::content);
            fact(&mut facts, "answered", answered.filter(|words| !words.is_empty()));
            Value::Object(facts)
        })
    }
}

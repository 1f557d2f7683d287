//! What the file of a thread has of another one: of that which it was forked from, or of that which started it as a sub-agent.
//!
//! The client copies the lines of the other thread to the beginning of the file, its `session_meta` first, all with the time of the copy.
//! They are the other thread's: of a fork they are read as those of a file of that thread, with the same ids; a sub-agent is in the
//! session that has the other thread, so that its copies are left out.
//!
//! The copy ends at the line that the file names, else where a turn begins that is younger than the thread. Ids of threads and of most
//! turns have the time at which they were made, and a turn may tell when it began. Else the copy ends at the first line that is younger
//! than the thread and comes a second after the line before: copies are written at once, and a person needs some time.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Reader, parent_of};
use crate::sessions::get;
use crate::sessions::recording::{Event, Thread};
use crate::span::UnixNanos;

/// So deep may forks of forks be.
const DEEPEST: usize = 16;

/// Milliseconds of a second, in a copy that nothing else ends.
const PAUSE: u64 = 1_000;

/// What is known of copied lines.
#[derive(Default)]
pub(super) struct Copied {
    /// The thread that may be copied.
    of: Option<String>,
    /// The number of the first line that is no copy.
    own_from: Option<u64>,
    /// When the thread was made, in milliseconds.
    made: Option<u64>,
    /// Reads the copies, while lines are copies.
    reader: Option<Box<Reader>>,
    /// What it read.
    copy: Option<Box<Reader>>,
    /// The time of the last copy.
    last: Option<u64>,
    depth: usize,
    count: usize,
}

impl Copied {
    /// The file of a thread begins.
    pub(super) fn may_come(&mut self, thread: &str, meta: &Value) {
        let other = get::text(meta, "/forked_from_id").or_else(|| parent_of(meta));
        self.of = other.filter(|other| *other != thread).map(str::to_owned);
        self.own_from = get::count(meta, "/subagent_history_start_ordinal");
        self.made = time_of(thread).or_else(|| get::time(meta, "/timestamp").map(millis));
    }

    /// Whether a line is no copy any more.
    fn ends_at(&self, line: &Value, at: Option<u64>) -> bool {
        if let (Some(own_from), Some(number)) = (self.own_from, get::count(line, "/ordinal")) {
            return number >= own_from;
        }
        let begins = match get::text(line, "/type") {
            Some("turn_context") => true,
            Some("event_msg") => get::text(line, "/payload/type") == Some("task_started"),
            _ => false,
        };
        let by_id = || get::text(line, "/payload/turn_id").and_then(time_of);
        // Seconds, of some time within which it began.
        let by_clock = || get::count(line, "/payload/started_at").map(|begun| begun.saturating_mul(1_000).saturating_add(999));
        let turn = begins.then(|| by_id().or_else(by_clock)).flatten();
        match (turn, self.made) {
            (Some(turn), Some(made)) => turn >= made,
            _ => at
                .zip(self.last)
                .is_some_and(|(at, last)| at >= last.saturating_add(PAUSE) && self.made.is_none_or(|made| at >= made)),
        }
    }
}

impl Reader {
    /// Whether a line is a copy. What it has is read as the other thread's.
    pub(super) fn is_copied(&mut self, line: &Value) -> bool {
        let at = get::time(line, "/timestamp").map(millis);
        let copied = &mut self.copied;
        if copied.reader.is_none() {
            let may_begin = copied.copy.is_none() && copied.depth < DEEPEST;
            let is_meta = get::text(line, "/type") == Some("session_meta");
            let begins = is_meta && copied.of.is_some() && copied.of.as_deref() == get::text(line, "/payload/id");
            let is_before = copied
                .own_from
                .zip(get::count(line, "/ordinal"))
                .is_some_and(|(own_from, number)| number < own_from);
            if !may_begin || !begins && !is_before {
                return false;
            }
            let mut reader = Box::<Self>::default();
            reader.copied.depth = copied.depth + 1;
            copied.reader = Some(reader);
        } else if copied.ends_at(line, at) {
            copied.copy = copied.reader.take();
            return false;
        }
        // What it started is in its own file.
        if let Some(reader) = copied.reader.as_mut().filter(|_| self.thread.under.is_none()) {
            reader.line(line, &mut HashMap::new());
        }
        copied.count += 1;
        copied.last = at.or(copied.last);
        true
    }

    /// The threads of which the file has copies. Those in the file of a sub-agent are left out.
    pub(super) fn end_copy(&mut self) -> Vec<Thread> {
        let count = self.copied.count;
        let Some(reader) = self.copied.copy.take().or_else(|| self.copied.reader.take()) else {
            return Vec::new();
        };
        if self.thread.under.is_some() {
            let facts = Map::from_iter([("copied_records".to_owned(), count.into())]);
            self.thread.events.push(Event::Facts(facts));
            return Vec::new();
        }
        let (mut thread, mut copies) = reader.finish();
        for event in &mut thread.events {
            if let Event::Prompt(prompt) = event {
                prompt.session = Some(thread.session.clone());
            }
        }
        copies.push(thread);
        copies
    }
}

fn millis(time: UnixNanos) -> u64 {
    time.0 / 1_000_000
}

/// The time in an id, in milliseconds; `None` if it has none.
fn time_of(id: &str) -> Option<u64> {
    let digits: String = id.chars().filter(|digit| *digit != '-').collect();
    let has_time = digits.len() == 32 && digits.get(12..13) == Some("7");
    u64::from_str_radix(digits.get(..12).filter(|_| has_time)?, 16).ok()
}

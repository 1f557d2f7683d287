//! Copies in a thread's file of another thread: the one it was forked from, or the one that started it as a sub-agent.
//!
//! The client copies the lines of the other thread to the beginning of the file, its `session_meta` first, all with the time of the copy.
//! They belong to the other thread. In a fork they are read like that thread's own file, with the same ids; a sub-agent is in the same
//! session as the other thread, so its copies are dropped.
//!
//! The copy ends at the line that the file names, else where a turn begins that is younger than the thread. Ids of threads and of most
//! turns contain their creation time, and a turn may record when it began. Else the copy ends at the first line that is younger than
//! the thread and a second later than the previous line: copies are written at once, but a person needs some time.

use serde_json::Value;

use crate::sessions::codex::items::parent_of;
use crate::sessions::get;
use crate::span::UnixNanos;

/// Milliseconds between two lines that end a copy, if nothing else does.
const MIN_PAUSE: u64 = 1_000;

/// State of copied lines, which an `R` reads.
#[derive(Default)]
pub(super) struct Copied<R> {
    /// The thread that may be copied.
    pub(super) of: Option<String>,
    /// The number of the first line that is not a copy.
    pub(super) own_from: Option<u64>,
    /// When the thread was created, in milliseconds.
    made: Option<u64>,
    /// The reader of the copies, while lines are copies.
    pub(super) reader: Option<Box<R>>,
    /// The same reader after the last copy.
    pub(super) copy: Option<Box<R>>,
    /// The time of the last copy.
    pub(super) last: Option<u64>,
    pub(super) depth: usize,
    pub(super) count: usize,
}

impl<R> Copied<R> {
    /// Prepares for copies at the beginning of a thread's file.
    pub(super) fn may_come(&mut self, thread: &str, meta: &Value) {
        let other = get::text(meta, "/forked_from_id").or_else(|| parent_of(meta));
        self.of = other.filter(|other| *other != thread).map(str::to_owned);
        self.own_from = get::count(meta, "/subagent_history_start_ordinal");
        self.made = time_of(thread).or_else(|| get::time(meta, "/timestamp").map(millis));
    }

    /// Whether a line is the first after the copies.
    pub(super) fn ends_at(&self, line: &Value, at: Option<u64>) -> bool {
        if let (Some(own_from), Some(number)) = (self.own_from, get::count(line, "/ordinal")) {
            return number >= own_from;
        }
        let begins = match get::text(line, "/type") {
            Some("turn_context") => true,
            Some("event_msg") => get::text(line, "/payload/type") == Some("task_started"),
            _ => false,
        };
        let by_id = || get::text(line, "/payload/turn_id").and_then(time_of);
        // In whole seconds: use the end of the second in which it began.
        let by_clock = || get::count(line, "/payload/started_at").map(|begun| begun.saturating_mul(1_000).saturating_add(999));
        let turn = begins.then(|| by_id().or_else(by_clock)).flatten();
        match (turn, self.made) {
            (Some(turn), Some(made)) => turn >= made,
            _ => at
                .zip(self.last)
                .is_some_and(|(at, last)| at >= last.saturating_add(MIN_PAUSE) && self.made.is_none_or(|made| at >= made)),
        }
    }
}

pub(super) fn millis(time: UnixNanos) -> u64 {
    time.0 / 1_000_000
}

/// The time in an id, in milliseconds; `None` if it has none.
fn time_of(id: &str) -> Option<u64> {
    let digits: String = id.chars().filter(|digit| *digit != '-').collect();
    let has_time = digits.len() == 32 && digits.get(12..13) == Some("7");
    u64::from_str_radix(digits.get(..12).filter(|_| has_time)?, 16).ok()
}

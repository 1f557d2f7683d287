//! Reads copied lines with a separate reader.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::RolloutReader;
use super::copied::millis;
use crate::events::{Event, Thread};
use crate::sessions::get;

/// Maximum depth of forks of forks.
const MAX_FORK_DEPTH: usize = 16;

impl RolloutReader {
    /// Whether a line is a copy. Copies are read as lines of the other thread.
    pub(super) fn is_copied(&mut self, line: &Value) -> bool {
        let copied = &mut self.copied;
        let may_begin = (copied.of.is_some() || copied.own_from.is_some()) && copied.copy.is_none() && copied.depth < MAX_FORK_DEPTH;
        if copied.reader.is_none() && !may_begin {
            return false;
        }
        let at = get::time(line, "/timestamp").map(millis);
        if copied.reader.is_none() {
            let is_meta = get::text(line, "/type") == Some("session_meta");
            let begins = is_meta && copied.of.is_some() && copied.of.as_deref() == get::text(line, "/payload/id");
            let is_before = copied
                .own_from
                .zip(get::count(line, "/ordinal"))
                .is_some_and(|(own_from, number)| number < own_from);
            if !begins && !is_before {
                return false;
            }
            let mut reader = Box::<Self>::default();
            reader.copied.depth = copied.depth + 1;
            copied.reader = Some(reader);
        } else if copied.ends_at(line, at) {
            copied.copy = copied.reader.take();
            return false;
        }
        // Agents that it started are in its own file.
        if let Some(reader) = copied.reader.as_mut().filter(|_| self.thread.under.is_none()) {
            reader.line(line, &mut HashMap::new());
        }
        copied.count += 1;
        copied.last = at.or(copied.last);
        true
    }

    /// The threads that the file has copies of, except in the file of a sub-agent.
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

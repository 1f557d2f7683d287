//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, one file per thread, compressed with zstd after a week.
//!
//! Lines are `{timestamp, type, payload}`. The model's output is recorded item by item; a call ends with the record of its tokens: a
//! `token_usage_record` from 0.169 on, an `event_msg` `token_count` before. Sub-agents are separate threads.

mod items;
mod thread;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde_json::Value;

use super::budget::Budget;
use super::error::SessionError;
use super::recording::Recorded;
use super::{get, lines};
use crate::events::Under;
pub(super) use items::parent_of;
use thread::RolloutReader;

/// The threads of one session, the main one and its sub-agents.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut pages = Pages::default();
    // The tool call that started each thread.
    let mut started: HashMap<String, String> = HashMap::new();
    // File names contain the time of creation, and a page is younger than the previous one.
    let mut files: Vec<&PathBuf> = files.iter().collect();
    files.sort_by_key(|path| path.file_name());
    for path in files {
        // Lines have no id; a repeated copy of a line has the same time.
        let (mut last, mut place) = (Value::Null, None);
        let left = lines::each(path, budget, |line| {
            if line != last {
                let place = *place.get_or_insert_with(|| pages.place_of(&line));
                if let Some(reader) = place.and_then(|place| pages.readers.get_mut(place)) {
                    reader.line(&line, &mut started);
                }
                last = line;
            }
        })?;
        out.left.push((path.clone(), left));
    }
    let mut copies = Vec::new();
    for reader in pages.readers {
        let root = reader.root_trace();
        let (mut thread, copied) = reader.finish();
        copies.extend(copied);
        if thread.under.is_some() {
            thread.under = match started.get(&thread.id) {
                Some(call) => Some(Under::Call(call.clone())),
                None => Some(root.map_or(Under::Unknown, Under::Turn)),
            };
        }
        out.threads.push(thread);
    }
    // In old versions, files of sub-agents have their own id instead of the session's.
    let main = out.threads.iter().find(|thread| thread.under.is_none());
    if let Some(session) = main.map(|thread| thread.session.clone()) {
        let subs = out.threads.iter_mut().filter(|thread| thread.under.is_some());
        subs.filter(|thread| thread.session == thread.id)
            .for_each(|thread| thread.session.clone_from(&session));
    }
    // The longest copy of a thread contains all others.
    let mut known: HashSet<String> = out.threads.iter().map(|thread| thread.id.clone()).collect();
    copies.sort_by_key(|copy| std::cmp::Reverse(copy.events.len()));
    copies.retain(|copy| known.insert(copy.id.clone()));
    out.threads.append(&mut copies);
    // A root turn is known only by its id: its trace is in the file of the main thread.
    Ok(out)
}

/// Readers of threads. From 0.151 on, a long thread has several files, each continuing the previous one.
#[derive(Default)]
struct Pages {
    readers: Vec<RolloutReader>,
    /// The reader of each thread.
    threads: HashMap<String, usize>,
    /// The bases that pages continue.
    seen: HashSet<String>,
}

impl Pages {
    /// The reader for the file that begins with a line; `None` for another copy of a page, as in an archive.
    fn place_of(&mut self, line: &Value) -> Option<usize> {
        let thread = get::text(line, "/payload/id").filter(|_| get::text(line, "/type") == Some("session_meta"));
        let base = get::some(line, "/payload/history_base");
        if let (Some(thread), Some(base)) = (thread, base) {
            if !self.seen.insert(format!("{thread} {base}")) {
                return None;
            }
            if let Some(known) = self.threads.get(thread) {
                return Some(*known);
            }
        }
        self.readers.push(RolloutReader::default());
        let place = self.readers.len() - 1;
        if let Some(thread) = thread {
            self.threads.entry(thread.to_owned()).or_insert(place);
        }
        Some(place)
    }
}

//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, a file a thread, compressed with zstd after a week.
//!
//! Lines are `{timestamp, type, payload}`. The model's output comes item by item; a call ends where its tokens are recorded: in a
//! `token_usage_record` from 0.169 on, in an `event_msg` `token_count` before it. Sub-agents are separate threads.

mod items;
mod thread;

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::error::SessionError;
use super::lines;
use super::recording::{Recorded, Under};
use thread::Reader;

/// The threads of one session, the main one and its sub-agents.
pub(super) fn read(files: &[PathBuf], limit: usize) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut readers = Vec::new();
    // The tool call that a thread was started by.
    let mut started: HashMap<String, String> = HashMap::new();
    for path in files {
        let mut reader = Reader::default();
        // Lines have no id; one that was copied twice is the same in its time, too.
        let mut last = Value::Null;
        let left = lines::each(path, limit, |line| {
            if line != last {
                reader.line(&line, &mut started);
                last = line;
            }
        })?;
        out.left.push((path.clone(), left));
        readers.push(reader);
    }
    for reader in readers {
        let root = reader.root_trace();
        let mut thread = reader.finish();
        if thread.under.is_some() {
            thread.under = match started.get(&thread.id) {
                Some(call) => Some(Under::Call(call.clone())),
                None => Some(root.map_or(Under::Unknown, Under::Turn)),
            };
        }
        out.threads.push(thread);
    }
    // A root turn is known by its id alone: its trace is in the file of the main thread.
    Ok(out)
}

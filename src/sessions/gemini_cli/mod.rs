//! Gemini CLI: `~/.gemini/tmp/<folder>/chats/session-*.jsonl`, up to 0.33 one JSON document; sub-agents in a folder below it.
//!
//! The file is a log of changes to a list of messages. A message of the model is written twice, the second time with the results of
//! its tools; a resume writes the whole list again, without tokens. So messages are merged by id, and fuller values win.

mod messages;

use std::io::BufRead as _;
use std::path::PathBuf;

use serde_json::Value;

use super::budget::Budget;
use super::error::SessionError;
use super::get;
use super::lines;
use super::recording::Recorded;
use crate::events::{Thread, Under};
use messages::Messages;

/// The threads of one session: the main file, and one for each sub-agent.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut agents = std::collections::HashMap::new();
    let mut read = Vec::new();
    for path in files {
        let (mut messages, mut thread) = (Messages::default(), Thread::default());
        let mut is_sub = false;
        let mut take = |line: Value| {
            if let Some(id) = get::text(&line, "/sessionId")
                && line.get("projectHash").is_some()
            {
                id.clone_into(&mut thread.id);
                is_sub |= get::text(&line, "/kind") == Some("subagent");
            }
            messages.line(&line, &mut thread.unknown);
        };
        let left = match document(path, budget)? {
            Some(document) => {
                take(document);
                lines::Left::default()
            }
            None => lines::each(path, budget, take)?,
        };
        out.left.push((path.clone(), left));
        if is_sub {
            let parent = path
                .parent()
                .and_then(|folder| folder.file_name())
                .map(|name| name.to_string_lossy().into_owned());
            thread.session = parent.unwrap_or_default();
            thread.under = Some(Under::Unknown);
        } else {
            thread.session.clone_from(&thread.id);
        }
        messages.agents(&mut agents);
        read.push((messages, thread));
    }
    for (messages, mut thread) in read {
        if thread.under.is_some() {
            thread.under = Some(match agents.get(&thread.id) {
                Some(call) => Under::Call(String::clone(call)),
                None => Under::Unknown,
            });
        }
        thread.events = messages.events();
        out.threads.push(thread);
    }
    Ok(out)
}

/// Reads a file that is one JSON document of several lines.
fn document(path: &std::path::Path, budget: &Budget) -> Result<Option<Value>, SessionError> {
    let mut reader = budget.open(path)?;
    let head = reader.fill_buf().map_err(|source| budget.failed(path, source))?;
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.trim_ascii() != b"{" {
        return Ok(None);
    }
    let text = budget.read(path)?;
    budget.spend(path, &text)?;
    // A truncated document cannot be read at all.
    serde_json::from_slice(&text).map(Some).map_err(|source| SessionError::Json {
        path: path.to_owned(),
        source,
    })
}

//! Qwen Code: `~/.qwen/projects/<folder>/chats/<session>.jsonl`, sub-agents in `subagents/<session>/`.
//!
//! Lines are linked like Claude Code's and contain Gemini's parts. Ids and durations of model calls are in records of the client's
//! own telemetry, which the main file also has for sub-agents; a call is matched with its record by its tokens.
//!
//! The output of `qwen --output-format json` and `stream-json` has the same lines as Claude Code's, and is read like that.

mod telemetry;
mod thread;

use std::path::PathBuf;

use super::budget::Budget;
use super::claude_code;
use super::error::SessionError;
use super::get;
use super::lines;
use super::recognise::is_printed;
use super::recording::Recorded;
use crate::events::{Event, Under};
use telemetry::Telemetry;
use thread::LineReader;

/// The threads of one session: the main file, and one for each sub-agent.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let (printed, files): (Vec<PathBuf>, Vec<PathBuf>) = files.iter().cloned().partition(|path| is_printed(path));
    let mut out = claude_code::read_printed(&printed, budget)?;
    let mut telemetry = Telemetry::default();
    let is_sub = |path: &&PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("agent-"))
    };
    let (subs, mains): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(is_sub);
    let mut readers = Vec::new();
    for path in mains.into_iter().chain(subs) {
        let mut reader = LineReader::default();
        let left = lines::each(path, budget, |line| reader.line(&line, &mut telemetry))?;
        out.left.push((path.clone(), left));
        let mut thread = reader.thread;
        if thread.under.is_some() {
            let meta = budget.sibling_document(&path.with_extension("meta.json"))?;
            thread.description = get::owned(&meta, "/description");
            if let Some(call) = get::owned(&meta, "/toolUseId") {
                thread.under = Some(Under::Call(call));
            }
        }
        readers.push(thread);
    }
    for thread in &mut readers {
        for event in &mut thread.events {
            match event {
                Event::Call(call) => telemetry.complete(call),
                Event::Result(result) => telemetry.complete_tool(result),
                _ => {}
            }
        }
    }
    // The remaining calls are not part of a conversation: memory, compression, titles.
    if let Some(main) = readers.iter_mut().find(|thread| thread.under.is_none()) {
        main.events.extend(telemetry.rest().map(Event::Facts));
    }
    out.threads.extend(readers);
    Ok(out)
}

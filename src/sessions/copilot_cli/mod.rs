//! Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, including the events of all sub-agents.

mod thread;

use std::path::PathBuf;

use super::budget::Budget;
use super::error::SessionError;
use super::lines;
use super::recording::Recorded;
use thread::EventReader;

/// The threads of each file: the main agent, and each sub-agent.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    for path in files {
        let mut reader = EventReader::default();
        let left = lines::each(path, budget, |line| reader.line(&line))?;
        out.left.push((path.clone(), left));
        out.threads.extend(reader.finish());
    }
    Ok(out)
}

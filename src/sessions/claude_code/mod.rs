//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, sub-agents in separate files next to it.
//!
//! A line is a content block of the model, a prompt, a tool's result, an attachment or a record about the session. Versions differ
//! in what they write: from 2.1.332 on a file has each request in full (`request`), before it the lines alone.

mod agents;
mod file;
pub(super) mod printed;
mod reader;
mod request;
mod thread;
mod user;

use std::path::{Path, PathBuf};

use super::error::SessionError;
use super::lines;
use super::recording::Recorded;
use agents::Agents;
use file::File;
use printed::Printed;

/// The threads of one session: the main file, and one for each sub-agent.
pub(super) fn read(files: &[PathBuf], limit: usize) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut agents = Agents::default();
    let mut threads = Vec::new();
    // Names of sub-agents' files begin with `agent-`; their lines determine what they are.
    let (subs, mains): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|file| is_of_agent(file));
    for path in mains.into_iter().chain(subs) {
        let mut file = File::new(path);
        let mut printed = Printed::default();
        let left = lines::each(path, limit, |line| {
            if let Some(line) = printed.line(line) {
                file.line(&line, &mut agents);
            }
        })?;
        if let Some(session) = printed.session() {
            file.is_of(session);
        }
        out.left.push((path.clone(), left));
        threads.extend(file.finish().map(|thread| (path, thread)));
    }
    for (path, mut thread) in threads {
        if thread.under.is_some() {
            if agents::is_warm_up(&thread) {
                continue;
            }
            agents.describe(path, &mut thread);
        }
        out.threads.push(thread);
    }
    Ok(out)
}

fn is_of_agent(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("agent-"))
}

//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, sub-agents in separate files next to it.
//!
//! A line is a content block of the model, a prompt, a tool's result, an attachment or a record about the session. From 2.1.332
//! on, files also have each request in full (`request`, `sent`).

mod agents;
mod attachments;
mod file;
mod helpers;
pub(super) mod printed;
mod queue;
mod reader;
pub(super) mod request;
pub(super) mod sent;
mod thread;
mod user;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::budget::Budget;
use super::error::SessionError;
use super::recording::Recorded;
use super::{get, lines};
use agents::Agents;
use file::File;
use printed::Printed;

/// The threads of one session: the main file, and one for each sub-agent.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    read_of(files, budget, Some("anthropic"))
}

/// The same for another client's output in this form, whose models are of any provider.
pub(super) fn read_printed(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    read_of(files, budget, None)
}

fn read_of(files: &[PathBuf], budget: &Budget, provider: Option<&'static str>) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut agents = Agents::default();
    let mut threads = Vec::new();
    // Sub-agents' files are named `agent-...`; what they are is determined by their lines.
    let (subs, mains): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|file| is_of_agent(file));
    for path in mains.into_iter().chain(subs) {
        let mut file = File::new(path, provider);
        let mut printed = Printed::default();
        let mut nameless = 0;
        let left = lines::each(path, budget, |line| {
            if let Some(mut line) = printed.line(line) {
                name_line(&mut line, &mut nameless);
                file.line(&line, &mut agents);
            }
        })?;
        if let Some(session) = printed.session() {
            file.is_of(session);
        }
        out.left.push((path.clone(), left));
        threads.extend(file.finish().map(|thread| (path, thread)));
    }
    let mut helpers = Vec::new();
    for (path, mut thread) in threads {
        if helpers::is_helper(&thread) {
            helpers.push(thread);
            continue;
        }
        if thread.under.is_some() {
            if agents::is_warm_up(&thread) {
                continue;
            }
            agents.describe(path, budget, &mut thread)?;
        }
        out.threads.push(thread);
    }
    helpers::place(helpers, &mut out);
    Ok(out)
}

fn is_of_agent(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("agent-"))
}

/// Gives an id to a conversation line without a usable one: other programs that write such files omit or redact ids.
fn name_line(line: &mut Value, nameless: &mut usize) {
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    let is_said = matches!(get::text(line, "/type"), Some("user" | "assistant")) && line.get("message").is_some();
    if !is_said || get::text(line, "/uuid").is_some_and(is_id) {
        return;
    }
    *nameless += 1;
    let (session, agent) = (get::text(line, "/sessionId"), get::text(line, "/agentId"));
    let id = format!("{} {} {nameless}", session.unwrap_or_default(), agent.unwrap_or_default());
    if let Some(members) = line.as_object_mut() {
        members.insert("uuid".to_owned(), id.into());
    }
}

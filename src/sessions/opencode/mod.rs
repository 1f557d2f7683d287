//! `OpenCode`: all sessions in one SQLite database; up to 1.1 a tree of JSON documents; and the output of `opencode export`.

mod database;
mod messages;
mod second;
mod tree;

use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::error::SessionError;
use super::get;
use super::recording::Recorded;
use crate::events::{Thread, Under};
use messages::Session;

pub(super) use database::is_database;

/// The threads of all sessions of a database, a tree, or an export.
pub(super) fn read(key: &str, files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    let mut sessions = Vec::new();
    if Path::new(key).is_dir() {
        sessions = tree::read(files, budget, &mut out)?;
    } else {
        for path in files {
            if is_database(path) {
                sessions.extend(database::read(path, budget)?);
            } else {
                sessions.extend(export(path, budget)?);
            }
        }
    }
    // Originals come first: a copy is younger than its original.
    sessions.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    let agents = messages::agents(&sessions);
    let mut seen = std::collections::HashSet::new();
    for session in sessions {
        let mut thread = Thread {
            session: session.id.clone(),
            id: session.id.clone(),
            version: session.version.clone(),
            name: session.agent.clone().filter(|_| session.parent.is_some()),
            description: session.title.clone().filter(|_| session.parent.is_some()),
            ..Thread::default()
        };
        if session.parent.is_some() {
            thread.under = Some(agents.get(&session.id).map_or(Under::Unknown, |call| Under::Call(call.clone())));
        }
        messages::events(session, &mut thread, &mut seen);
        out.threads.push(thread);
    }
    Ok(out)
}

/// One session in the form that `opencode export` writes.
fn export(path: &Path, budget: &Budget) -> Result<Vec<Session>, SessionError> {
    let text = budget.read(path)?;
    budget.spend(path, &text)?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|source| SessionError::Json {
        path: path.to_owned(),
        source,
    })?;
    let mut session = Session::of(value.get("info").unwrap_or(&serde_json::Value::Null));
    for message in get::list(&value, "/messages") {
        let parts = get::list(message, "/parts").to_vec();
        session.add(message.get("info").cloned().unwrap_or_default(), parts);
    }
    Ok(vec![session])
}

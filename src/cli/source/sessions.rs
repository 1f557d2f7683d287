//! Sessions of a server or a directory.

use super::lists::sessions_of_server;
use super::{Kind, Source};
use crate::cli::failure::Failure;
use crate::web::sessions::{RUNS, SessionListed, SessionSummary};

impl Source {
    /// At most `limit` sessions, newest first. With `summaries`, each has the questions, tokens and failures of its runs.
    pub(in crate::cli) fn sessions(&self, limit: Option<usize>, summaries: bool) -> Result<Vec<SessionListed>, Failure> {
        let store = match &self.kind {
            Kind::Directory { store, .. } => store,
            Kind::Served(served) => served.store(),
            Kind::Server(server) => return sessions_of_server(server, limit, summaries),
        };
        let rows = store.sessions(limit.unwrap_or(usize::MAX), None)?;
        let mut sessions: Vec<SessionListed> = rows.into_iter().map(SessionListed::bare).collect();
        for session in sessions.iter_mut().filter(|_| summaries) {
            session.summary = SessionSummary::of(&self.page(&session.runs(), true, RUNS, None)?.traces);
        }
        Ok(sessions)
    }
}

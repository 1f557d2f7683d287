//! Deleting traces and sessions on request.

use std::sync::Arc;

use axum::body::Body;
use hyper::Response;
use serde::{Deserialize, Serialize};

use super::reply::{Problem, json_reply};
use super::service::Web;
use super::single;
use super::url::query_pairs;
use crate::span::TraceId;
use crate::store::{Beside, Deleted, Error, Unwanted};

/// A request to delete.
#[derive(Debug)]
pub(crate) struct Deletion {
    /// What to delete.
    pub(crate) what: Unwanted,
    /// Whether to only count what would be deleted.
    pub(crate) dry_run: bool,
}

impl Deletion {
    /// A trace by its id, or by its name in blocks.
    pub(crate) fn of_trace(id: &str, query: &str) -> Result<Self, Problem> {
        Self::of(Unwanted::Trace(single::trace_id(id)?), query)
    }

    pub(crate) fn of_session(session: &str, query: &str) -> Result<Self, Problem> {
        Self::of(Unwanted::Session(session.to_owned()), query)
    }

    fn of(what: Unwanted, query: &str) -> Result<Self, Problem> {
        let mut dry_run = false;
        for (name, value) in query_pairs(query) {
            match (name.as_str(), value.as_str()) {
                ("dry_run", "true") => dry_run = true,
                ("dry_run", "false") => dry_run = false,
                ("dry_run", _) => return Err(Problem::invalid(format!("dry_run={value} is not true or false"))),
                _ => return Err(Problem::invalid(format!("there is no parameter {name}; the parameter is dry_run"))),
            }
        }
        Ok(Self { what, dry_run })
    }

    /// The answer: how much was, or would be, deleted.
    pub(crate) fn answer(&self, deleted: &Deleted) -> Response<Body> {
        json_reply(serde_json::to_string(&Amount::of(deleted, self.dry_run)).unwrap_or_default())
    }
}

/// How much was deleted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Amount {
    pub(crate) traces: usize,
    pub(crate) spans: u64,
    pub(crate) log_records: u64,
    /// Size of messages, before compression.
    pub(crate) bytes: u64,
    /// Whether it was only counted.
    dry_run: bool,
}

impl Amount {
    pub(crate) fn of(deleted: &Deleted, dry_run: bool) -> Self {
        Self {
            traces: deleted.traces.len(),
            spans: deleted.spans,
            log_records: deleted.log_records,
            bytes: deleted.bytes,
            dry_run,
        }
    }
}

impl Web {
    /// Deletes, or counts what would be deleted, and returns once the bytes are gone. Continues even if the client is gone.
    /// `letters` removes dead letters.
    pub(crate) async fn delete(
        self: Arc<Self>,
        what: Unwanted,
        dry_run: bool,
        mut letters: impl FnMut(&[TraceId]) -> Result<(), Error> + Send + 'static,
    ) -> Result<Deleted, Problem> {
        let work = tokio::task::spawn_blocking(move || {
            let deleted = match dry_run {
                true => self.store.to_delete(&what),
                false => self.store.delete(&what, &mut |traces| self.forget(traces, &mut letters)),
            };
            let deleted = deleted.map_err(|error| match error {
                error if error.is_transient() => Problem::not_stored(&error),
                error => Problem::from(error),
            })?;
            if !deleted.is_empty() {
                return Ok(deleted);
            }
            Err(single::missing(&self, &what))
        });
        work.await
            .unwrap_or_else(|_| Err(Problem::internal("the deletion failed in an unexpected way")))
    }

    /// Completes interrupted deletions.
    pub(crate) fn finish_deletions(&self, mut letters: impl FnMut(&[TraceId]) -> Result<(), Error>) -> Result<(), Error> {
        self.store.finish_deletions(&mut |traces| self.forget(traces, &mut letters))
    }

    /// Removes traces from all data kept outside the store.
    fn forget(&self, traces: &[TraceId], letters: &mut Beside<'_>) -> Result<(), Error> {
        self.runs.forget(traces);
        self.ledger.forget_traces(traces);
        if let Some(search) = &self.search {
            search.forget(traces).map_err(|source| Error::Beside {
                what: "the index of words",
                source: Arc::new(source),
            })?;
        }
        letters(traces)
    }
}

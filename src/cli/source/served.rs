//! The store of a server, read within the server's memory limit for reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cli::failure::Failure;
use crate::documents::Vocabulary;
use crate::span::TraceId;
use crate::store::{Filter, Store, Stored, TraceRow};
use crate::web::allowance::Allowance;
use crate::web::cost::Purpose;
use crate::web::listing::{self, Listed, Summary};
use crate::web::readers::Refusal;
use crate::web::service::Web;
use crate::web::single::{self, Unread};

/// The store, and the resources of one request.
#[derive(Debug)]
pub(super) struct Served {
    store: Arc<dyn Store>,
    allowance: Mutex<Allowance>,
}

impl Served {
    pub(super) fn new(web: &Web, allowance: Allowance) -> Self {
        Self {
            store: Arc::clone(&web.store),
            allowance: Mutex::new(allowance),
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn allowance(&self) -> MutexGuard<'_, Allowance> {
        self.allowance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of one trace; `None` if there is none.
    pub(super) fn trace(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        let read = single::stored_alone(&*self.store, id, Purpose::Document, &mut self.allowance());
        read.map_err(|unread| match unread {
            Unread::Refused(refusal) => refused(refusal),
            Unread::Store(error) => error.into(),
        })
    }

    /// Traces with what the agent did in each. The memory for one is released before the next.
    pub(super) fn list(&self, filter: &Filter, vocabulary: &Vocabulary) -> Result<Vec<Listed>, Failure> {
        let rows = self.store.list(filter)?.into_iter();
        rows.map(|row| self.listed(row, vocabulary)).collect()
    }

    fn listed(&self, row: TraceRow, vocabulary: &Vocabulary) -> Result<Listed, Failure> {
        if let Some(summary) = listing::kept(&*self.store, vocabulary, &row)? {
            return Ok(listing::with_summary(row, summary));
        }
        let summary = match self.trace(row.trace_id) {
            Ok(stored) => listing::summarised(&*self.store, vocabulary, &row, stored.unwrap_or_default()),
            Err(Failure::TooLarge { .. }) => Summary::too_large(),
            Err(failure) => return Err(failure),
        };
        self.allowance().shrink_to(0);
        Ok(listing::with_summary(row, summary))
    }
}

pub(super) fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::TooLarge { bytes, limit } => Failure::TooLarge { bytes, limit },
        Refusal::Busy | Refusal::Cancelled => Failure::Busy,
    }
}

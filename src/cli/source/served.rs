//! The store of a server, read within the server's memory limit for reading.

use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::failure::Failure;
use crate::documents::Vocabulary;
use crate::span::TraceId;
use crate::store::{self, Filter, Store, Stored, TraceRow};
use crate::web::cost::{self, Purpose};
use crate::web::listing::{self, Listed, Summary};
use crate::web::readers::{Refusal, Reservation};
use crate::web::service::Web;

/// The store, and the memory that one request has reserved.
#[derive(Debug)]
pub(super) struct Served {
    store: Arc<dyn Store>,
    reserved: Mutex<Reservation>,
}

impl Served {
    pub(super) fn new(web: &Web) -> Self {
        Self {
            store: Arc::clone(&web.store),
            reserved: Mutex::new(Reservation::new(&web.readers)),
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Everything of one trace; `None` if there is none.
    pub(super) fn trace(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        let Some(row) = self.store.row(id)? else { return Ok(None) };
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let small = cost::of_small(row.bytes);
        reserved.grow(small.unwrap_or_default()).map_err(|refusal| refused(id, refusal))?;
        let mut refusal = None;
        let read = self.store.read_trace_while(id, &mut |kind, message| {
            let bytes = if small.is_some() {
                0
            } else {
                cost::of_chunk(kind, message, Purpose::Document)
            };
            reserved.grow(bytes).map_err(|refused| {
                refusal = Some(refused);
                store::Error::Cancelled
            })
        });
        match refusal {
            Some(refusal) => Err(refused(id, refusal)),
            None => Ok(read?),
        }
    }

    /// Traces with what the agent did in each. The memory for one is given back before the next.
    pub(super) fn list(&self, filter: &Filter, vocabulary: &Vocabulary) -> Result<Vec<Listed>, Failure> {
        let rows = self.store.list(filter)?.into_iter();
        rows.map(|row| self.listed(row, vocabulary)).collect()
    }

    fn listed(&self, row: TraceRow, vocabulary: &Vocabulary) -> Result<Listed, Failure> {
        if let Some(summary) = listing::kept(&*self.store, &row)? {
            return Ok(listing::with_summary(row, summary));
        }
        let summary = match self.trace(row.trace_id) {
            Ok(stored) => listing::summarised(&*self.store, vocabulary, &row, stored.unwrap_or_default()),
            Err(Failure::TooLarge { .. }) => Summary::too_large(),
            Err(failure) => return Err(failure),
        };
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).shrink_to(0);
        Ok(listing::with_summary(row, summary))
    }
}

fn refused(id: TraceId, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::TooLarge { bytes, limit } => Failure::TooLarge { id, bytes, limit },
        Refusal::Busy | Refusal::Cancelled => Failure::Busy,
    }
}

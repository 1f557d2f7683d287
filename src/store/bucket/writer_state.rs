//! WriterState shared by the tasks of a writer.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use slatedb::{CloseReason, ErrorKind};
use tokio::sync::watch;
use tokio::time::Instant;

use super::failed::failed;
use super::prepare::Prepared;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::{OnAppended, Receipt};

/// Chunks waiting to be written, and their asker.
pub(super) struct Job {
    pub(super) chunks: Vec<Prepared>,
    pub(super) asker: Asker,
}

/// A request's deadline and callback.
pub(super) struct Asker {
    /// Size of the chunks in memory.
    pub(super) bytes: usize,
    pub(super) until: Instant,
    pub(super) done: OnAppended<Receipt>,
}

/// Batches that became durable.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) batches: AtomicU64,
    /// Sum of the times from write to durability.
    pub(super) milliseconds: AtomicU64,
}

/// WriterState of a writer that others see.
#[derive(Debug)]
pub(super) struct WriterState {
    pub(super) id: String,
    pub(super) end: watch::Sender<Position>,
    /// Bytes of chunks that are not durable yet.
    pub(super) waiting: AtomicUsize,
    /// Total size of the appended messages.
    pub(super) appended: AtomicU64,
    /// The part of `appended` that did not pass through the spool.
    pub(super) posted: AtomicU64,
    /// Total size of the messages in the database.
    pub(super) stored: AtomicU64,
    /// Whether something has been waiting for longer than the answer timeout.
    pub(super) slow: AtomicBool,
    pub(super) acknowledged: Acknowledged,
    pub(super) failure: Mutex<Option<Error>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Position of a chunk in the order of arrival.
pub(super) fn position(number: u64) -> Position {
    Position {
        segment: 1,
        offset: number,
    }
}

impl WriterState {
    /// Converts an error of the engine.
    pub(super) fn failed(&self, doing: &'static str, error: slatedb::Error) -> Error {
        if error.kind() == ErrorKind::Closed(CloseReason::Fenced) {
            return self.fenced();
        }
        failed(doing, &self.id)(error)
    }

    pub(super) fn fenced(&self) -> Error {
        let fenced = Error::Fenced { writer: self.id.clone() };
        *lock(&self.failure) = Some(fenced.clone());
        fenced
    }

    /// Why it accepts nothing more, if so.
    pub(super) fn failure(&self) -> Option<Error> {
        lock(&self.failure).clone()
    }
}

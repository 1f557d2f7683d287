//! What the tasks of a writer share.

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

/// Chunks that wait to be written, and who wants to know.
pub(super) struct Job {
    pub(super) chunks: Vec<Prepared>,
    pub(super) asker: Asker,
}

/// Who wants to know what became of chunks.
pub(super) struct Asker {
    /// What the chunks take in memory.
    pub(super) bytes: usize,
    pub(super) until: Instant,
    pub(super) done: OnAppended<Receipt>,
}

/// Batches that became durable.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) batches: AtomicU64,
    /// All together, from when they were written.
    pub(super) milliseconds: AtomicU64,
}

/// What others see of a writer.
#[derive(Debug)]
pub(super) struct State {
    pub(super) id: String,
    pub(super) end: watch::Sender<Position>,
    /// Bytes of chunks that are not durable yet.
    pub(super) waiting: AtomicUsize,
    /// Bytes of messages that were appended.
    pub(super) appended: AtomicU64,
    /// Of these, bytes of what did not come through the own log, where there is one.
    pub(super) posted: AtomicU64,
    /// Bytes of all messages of the database.
    pub(super) stored: AtomicU64,
    /// Whether something waits longer than anyone does.
    pub(super) slow: AtomicBool,
    pub(super) acknowledged: Acknowledged,
    pub(super) failure: Mutex<Option<Error>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the chunk with this number is in the order of arrival.
pub(super) fn position(number: u64) -> Position {
    Position {
        segment: 1,
        offset: number,
    }
}

impl State {
    /// What an error of the engine means.
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

    /// Why it takes nothing more.
    pub(super) fn failure(&self) -> Option<Error> {
        lock(&self.failure).clone()
    }
}

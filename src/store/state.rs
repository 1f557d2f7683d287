//! State shared by the threads of a store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::deletion::Deletions;
use super::error::Error;
use super::full::FullDisk;
use super::log::Position;
use super::room::Room;
use super::turns::Turns;
use crate::span::TraceId;

/// State shared by the threads of a store.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Number of requests waiting to be stored.
    pub(super) waiting: AtomicUsize,
    /// Number of requests ever received.
    pub(super) requests: AtomicUsize,
    /// The active segment; earlier ones are sealed.
    pub(super) segment: AtomicU64,
    /// Segments before this one are no longer needed, whatever retention keeps.
    pub(super) spent: AtomicU64,
    /// The end of the log, as far as it is on disk and in the index.
    pub(super) end: watch::Sender<Position>,
    /// Bytes of messages appended since the store was opened.
    pub(super) bytes: AtomicU64,
    /// Order of the writers to the index.
    pub(super) turns: Turns,
    /// Whether retention keeps up.
    pub(super) room: Room,
    /// Why the last commit failed, if it did.
    pub(super) failure: Mutex<Option<Error>>,
    /// Whether the disk is full for requests of the current size.
    pub(super) full: FullDisk,
    deletions: Mutex<Deletions>,
    /// Whether anything was ever deleted: if not, the lock is not taken.
    has_deletions: AtomicBool,
}

impl State {
    /// The deletions on request; `None`: there never were any.
    pub(super) fn deletions(&self) -> Option<MutexGuard<'_, Deletions>> {
        let lock = || self.deletions.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_deletions.load(Ordering::Acquire).then(lock)
    }

    /// The traces being erased; `None`: there are none.
    pub(super) fn deleted_traces(&self) -> Option<Erasing> {
        let unfinished = self.deletions().and_then(|deletions| deletions.unfinished());
        unfinished.map(|work| Erasing(work.traces))
    }

    /// Changes the deletions.
    pub(super) fn with_deletions<T>(&self, change: impl FnOnce(&mut Deletions) -> T) -> T {
        let mut deletions = self.deletions.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut deletions);
        self.has_deletions.store(!deletions.is_empty(), Ordering::Release);
        changed
    }

    /// Records the last error of these requests; `None` if all succeeded.
    pub(super) fn note<'e>(&self, failures: impl DoubleEndedIterator<Item = &'e Error>) {
        // A request that is too large or came too late says nothing about the next.
        let mut failures =
            failures.filter(|error| !matches!(error, Error::TooLarge { .. } | Error::Changed { .. } | Error::Deleted { .. }));
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *failure = failures.next_back().cloned();
    }
}

pub(super) struct Erasing(HashSet<TraceId>);

impl Erasing {
    pub(super) fn has(&self, trace_id: TraceId) -> bool {
        self.0.contains(&trace_id)
    }
}

//! The state that the threads of a store share.

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

/// What the threads of a store know of one another.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Requests that wait to be stored.
    pub(super) waiting: AtomicUsize,
    /// Requests that ever came.
    pub(super) requests: AtomicUsize,
    /// The segment that is written to; those before are sealed.
    pub(super) segment: AtomicU64,
    /// Segments before this one are needed by nobody any more, whatever retention keeps.
    pub(super) spent: AtomicU64,
    /// Where the log ends, as far as it is on the disk and in the index.
    pub(super) end: watch::Sender<Position>,
    /// Bytes of messages appended since the store was opened.
    pub(super) bytes: AtomicU64,
    /// Who writes to the index.
    pub(super) turns: Turns,
    /// Whether retention has kept up.
    pub(super) room: Room,
    /// Why the last commit failed, if it did.
    pub(super) failure: Mutex<Option<Error>>,
    /// Whether the disk has no room for requests of the size that comes.
    pub(super) full: FullDisk,
    deletions: Mutex<Deletions>,
    /// Whether anything was ever deleted: else nobody takes the lock.
    has_deletions: AtomicBool,
}

impl State {
    /// What was deleted on request; `None`: nothing ever was.
    pub(super) fn deletions(&self) -> Option<MutexGuard<'_, Deletions>> {
        let lock = || self.deletions.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_deletions.load(Ordering::Acquire).then(lock)
    }

    /// The traces that are being erased; `None`: there are none.
    pub(super) fn deleted_traces(&self) -> Option<Erasing> {
        let unfinished = self.deletions().and_then(|deletions| deletions.unfinished());
        unfinished.map(|work| Erasing(work.traces))
    }

    /// Changes what was deleted.
    pub(super) fn with_deletions<T>(&self, change: impl FnOnce(&mut Deletions) -> T) -> T {
        let mut deletions = self.deletions.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut deletions);
        self.has_deletions.store(!deletions.is_empty(), Ordering::Release);
        changed
    }

    /// Keeps why the last of these requests failed; `None` if none did.
    pub(super) fn note<'e>(&self, failures: impl DoubleEndedIterator<Item = &'e Error>) {
        // One request that is too large, or came too late, says nothing about the next.
        let mut failures =
            failures.filter(|error| !matches!(error, Error::TooLarge { .. } | Error::Changed { .. } | Error::Deleted { .. }));
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *failure = failures.next_back().cloned();
    }
}

/// Traces that are being erased.
pub(super) struct Erasing(HashSet<TraceId>);

impl Erasing {
    pub(super) fn has(&self, trace_id: TraceId) -> bool {
        self.0.contains(&trace_id)
    }
}

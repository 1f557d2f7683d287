//! What the threads of a store know of one another.

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::error::Error;
use super::log::Position;
use super::room::Room;
use super::turns::Turns;

/// What the threads of a store know of one another.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Requests that wait to be stored.
    pub(super) waiting: AtomicUsize,
    /// Requests that ever came.
    pub(super) requests: AtomicUsize,
    /// The segment that is written to; those before are sealed.
    pub(super) segment: AtomicU64,
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
}

impl State {
    /// Keeps why the last of these requests failed; `None` if none did.
    pub(super) fn note<'e>(&self, failures: impl DoubleEndedIterator<Item = &'e Error>) {
        // One request that is too large, or came too late, says nothing of the next.
        let mut failures = failures.filter(|error| !matches!(error, Error::TooLarge { .. } | Error::Changed { .. }));
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *failure = failures.next_back().cloned();
    }
}

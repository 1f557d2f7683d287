//! What reading may use: its own threads and memory, separate from receiving.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::detached::Detached;
use super::memory::FreeMemory;

/// What reading may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Bytes of memory that all requests in work may take together.
    pub bytes: usize,
    /// Requests in work at once; each has a thread.
    pub at_once: usize,
    /// Seconds in which a client must take something of its answer; also how far it may lag behind 16 KiB a second.
    pub write_seconds: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            bytes: 2 << 30,
            at_once: 16,
            write_seconds: 30,
        }
    }
}

/// How long a request waits for a thread.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a request is not read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// All threads are taken, or too much of the memory.
    Busy,
    /// It takes more than all requests together may.
    TooLarge {
        /// About how many bytes it takes.
        bytes: usize,
        /// How many there are.
        limit: usize,
    },
    /// Nobody waits for the answer any more, or the bridge ends.
    Cancelled,
}

/// Keeps something for later with memory that it can give back.
pub(crate) trait Spare: Send + Sync + std::fmt::Debug {
    /// Gives some back; `false`: it has none that nobody uses.
    fn give_back(&self) -> bool;
}

/// The threads and the memory of all read sides of a process.
#[derive(Debug)]
pub struct Readers {
    limits: ReadLimits,
    threads: Arc<Semaphore>,
    bytes: AtomicUsize,
    stopped: AtomicBool,
    spare: Mutex<Vec<Weak<dyn Spare>>>,
    pub(super) free: Arc<FreeMemory>,
    /// Reads documents that are sent to be stored.
    pub(crate) documents: Detached,
    /// Reads and checks blocks.
    pub(crate) blocks: Detached,
    /// Answers whether the bridge works, and what it counts.
    pub(crate) states: Detached,
    /// Closed at the end.
    end: Semaphore,
}

impl Readers {
    /// Readers with these limits.
    #[must_use]
    pub fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            threads: Arc::new(Semaphore::new(limits.at_once.clamp(1, Semaphore::MAX_PERMITS))),
            bytes: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            spare: Mutex::default(),
            free: Arc::default(),
            documents: Detached::default(),
            blocks: Detached::default(),
            states: Detached::default(),
            end: Semaphore::new(0),
        }
    }

    /// Gives up what is in work, and begins nothing new.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.threads.close();
        self.end.close();
    }

    /// Is asked for memory when a request needs it.
    pub(crate) fn add_spare(&self, spare: Weak<dyn Spare>) {
        let mut all = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|spare| spare.strong_count() > 0);
        all.push(spare);
    }

    /// Has memory given back that is kept for later.
    fn make_room(&self) -> bool {
        let all = self.spare.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter_map(Weak::upgrade).any(|spare| spare.give_back())
    }

    /// Waits until they are stopped.
    pub(crate) async fn stopping(&self) {
        let _ = self.end.acquire().await;
    }

    /// Bytes that requests in work have reserved.
    #[must_use]
    pub fn reserved_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn limits(&self) -> ReadLimits {
        self.limits
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The right to use one thread.
    pub(crate) async fn thread(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        match tokio::time::timeout(PATIENCE, Arc::clone(&self.threads).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Refusal::Cancelled),
            Err(_) => Err(Refusal::Busy),
        }
    }
}

/// Memory that one request may take; given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    readers: Arc<Readers>,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(readers: &Arc<Readers>) -> Self {
        Self {
            readers: Arc::clone(readers),
            bytes: 0,
        }
    }

    /// Takes more.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let limit = self.readers.limits.bytes;
        let wanted = self.bytes.saturating_add(bytes);
        if wanted > limit {
            return Err(Refusal::TooLarge { bytes: wanted, limit });
        }
        let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= limit);
        while self.readers.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            if !self.readers.make_room() {
                return Err(Refusal::Busy);
            }
        }
        self.bytes = wanted;
        Ok(())
    }

    /// How much it is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a part of it out.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            readers: Arc::clone(&self.readers),
            bytes,
        }
    }

    /// Takes so much in all, if it is more than now.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Gives back all but so much.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.readers.bytes.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_given_back() {
        let readers = Arc::new(Readers::new(ReadLimits {
            bytes: 100,
            ..ReadLimits::default()
        }));
        let mut one = Reservation::new(&readers);
        let mut other = Reservation::new(&readers);
        assert_eq!(one.grow(60), Ok(()));
        assert_eq!(other.grow(60), Err(Refusal::Busy));
        assert_eq!(other.grow(101), Err(Refusal::TooLarge { bytes: 101, limit: 100 }));
        one.shrink_to(40);
        assert_eq!(other.grow_to(60), Ok(()));
        assert_eq!(other.grow_to(50), Ok(()), "it has more already");
        assert_eq!(readers.reserved_bytes(), 100);
        drop((one, other));
        assert_eq!(readers.reserved_bytes(), 0);
    }
}

//! The resources for reading: threads and memory of its own, separate from receiving.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::detached::Detached;
use super::memory::FreeMemory;

/// Limits for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum memory of all requests in progress together.
    pub bytes: usize,
    /// Maximum requests in progress; each has a thread.
    pub at_once: usize,
    /// Seconds within which a client must read some of its answer; also how far it may fall behind 16 KiB a second.
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
const THREAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// All threads or too much of the memory are in use.
    Busy,
    /// It needs more memory than there is for all requests together.
    TooLarge {
        /// Estimated bytes needed.
        bytes: usize,
        /// Bytes available.
        limit: usize,
    },
    /// The client has gone, or the bridge is stopping.
    Cancelled,
}

/// A cache that can release memory.
pub(crate) trait Spare: Send + Sync + std::fmt::Debug {
    /// Releases some memory; `false`: everything is in use.
    fn give_back(&self) -> bool;
}

/// The threads and the memory of all read sides in a process.
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
    /// Threads for reading and checking blocks.
    pub(crate) blocks: Detached,
    /// Threads for health checks and metrics.
    pub(crate) states: Detached,
    /// Closed when the readers stop.
    end: Semaphore,
}

impl Readers {
    /// Creates readers with these limits.
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

    /// Cancels requests in progress, and accepts no new ones.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.threads.close();
        self.end.close();
    }

    /// Adds a cache that is asked to release memory when a request needs it.
    pub(crate) fn add_spare(&self, spare: Weak<dyn Spare>) {
        let mut all = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|spare| spare.strong_count() > 0);
        all.push(spare);
    }

    /// Asks the caches to release memory.
    fn make_room(&self) -> bool {
        let all = self.spare.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter_map(Weak::upgrade).any(|spare| spare.give_back())
    }

    /// Waits until the readers are stopped.
    pub(crate) async fn stopping(&self) {
        let _ = self.end.acquire().await;
    }

    /// Memory reserved by requests in progress.
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

    /// Waits for the right to use one thread.
    pub(crate) async fn thread(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        match tokio::time::timeout(THREAD_TIMEOUT, Arc::clone(&self.threads).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Refusal::Cancelled),
            Err(_) => Err(Refusal::Busy),
        }
    }
}

/// Memory reserved for one request, released on drop.
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

    /// Reserves more.
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

    /// Bytes reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Splits off a part.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            readers: Arc::clone(&self.readers),
            bytes,
        }
    }

    /// Reserves up to this many bytes in total.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Releases all but this many bytes.
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

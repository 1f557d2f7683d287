//! The memory of all requests in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::reject::Rejection;

/// The bytes that all requests in progress may take together.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    in_flight: AtomicUsize,
    shut: AtomicBool,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            in_flight: AtomicUsize::new(0),
            shut: AtomicBool::new(false),
        }
    }

    /// Bytes of requests in progress.
    #[must_use]
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Admits no further request.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }
}

/// The bytes of one request in progress; released when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
    /// What this request may take by itself.
    most: usize,
}

/// A request is small if it takes at most this fraction of the budget.
const SMALL: usize = 64;
/// This fraction of the budget is reserved for small requests.
const KEPT: usize = 8;

/// A request may take this many times its bytes after decompression, because what it becomes is larger than what came.
const TIMES: usize = 8;
/// In addition, whatever its size, this many bytes.
const BESIDE: usize = 48 << 20;

impl Reservation {
    /// Admits a request, with no bytes yet.
    ///
    /// # Errors
    ///
    /// The receiver is shutting down.
    pub(crate) fn new(budget: &Arc<Budget>) -> Result<Self, Rejection> {
        if budget.shut.load(Ordering::Relaxed) {
            return Err(Rejection::ShuttingDown);
        }
        Ok(Self {
            budget: Arc::clone(budget),
            bytes: 0,
            most: usize::MAX,
        })
    }

    /// Sets the length of the request after decompression. From now on it may take a multiple of that and no more.
    pub(crate) fn is_of(&mut self, bytes: usize) {
        self.most = bytes.saturating_mul(TIMES).saturating_add(BESIDE);
    }

    /// Takes more bytes.
    ///
    /// # Errors
    ///
    /// The request takes more than the budget, or too much for its length, so it can never succeed; or the requests in progress take
    /// too much right now.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Rejection> {
        let own = self.bytes.saturating_add(bytes);
        if own > self.budget.limit || own > self.most {
            return Err(Rejection::Costly {
                limit: self.budget.limit.min(self.most),
            });
        }
        let before = self.budget.in_flight.fetch_add(bytes, Ordering::Relaxed);
        // Large requests leave some room for small ones, unless one is alone.
        let small = own <= self.budget.limit / SMALL;
        let limit = match small || before <= self.bytes {
            true => self.budget.limit,
            false => self.budget.limit - self.budget.limit / KEPT,
        };
        if before.saturating_add(bytes) > limit {
            self.budget.in_flight.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Rejection::Overloaded {
                in_flight: before,
                limit: self.budget.limit,
            });
        }
        self.bytes = own;
        Ok(())
    }

    /// Bytes that it has taken.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases some of its bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.in_flight.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.in_flight.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

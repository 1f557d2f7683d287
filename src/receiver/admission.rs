//! The memory limit for all requests in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::reject::Rejection;

/// A budget of bytes shared by all requests in progress.
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

    /// Rejects all further requests.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }
}

/// The bytes reserved for one request, released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
    /// Maximum bytes for this request.
    most: usize,
}

/// A request is small up to this fraction of the budget.
const SMALL_SHARE: usize = 64;
/// Fraction of the budget that is reserved for small requests.
const RESERVED_SHARE: usize = 8;

/// A request may take this many times its decompressed size, because it grows while it is processed,
const MAX_FACTOR: usize = 8;
/// plus this many bytes, whatever its size.
const MAX_EXTRA: usize = 48 << 20;

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

    /// Sets the decompressed size of the request, which limits what it may take from now on.
    pub(crate) fn is_of(&mut self, bytes: usize) {
        self.most = bytes.saturating_mul(MAX_FACTOR).saturating_add(MAX_EXTRA);
    }

    /// Reserves more bytes.
    ///
    /// # Errors
    ///
    /// The request needs more than the budget, or too much for its size, so it can never succeed; or the requests in
    /// progress take too much at the moment.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Rejection> {
        let own = self.bytes.saturating_add(bytes);
        if own > self.budget.limit || own > self.most {
            return Err(Rejection::Costly {
                limit: self.budget.limit.min(self.most),
            });
        }
        let before = self.budget.in_flight.fetch_add(bytes, Ordering::Relaxed);
        // Large requests leave room for small ones, unless there is only one.
        let small = own <= self.budget.limit / SMALL_SHARE;
        let limit = match small || before <= self.bytes {
            true => self.budget.limit,
            false => self.budget.limit - self.budget.limit / RESERVED_SHARE,
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

    /// Bytes reserved so far.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases some bytes.
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

//! How many bytes of requests are in work at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Rejection;

/// The bytes that all requests in work may take together.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    in_flight: AtomicUsize,
    shut: AtomicBool,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            in_flight: AtomicUsize::new(0),
            shut: AtomicBool::new(false),
        }
    }

    /// Bytes of requests in work.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// No new request is let in.
    pub fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }
}

/// The bytes of one request in work; given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// Lets a request in, with no bytes yet.
    ///
    /// # Errors
    ///
    /// The receiver is shutting down.
    pub fn new(budget: &Arc<Budget>) -> Result<Self, Rejection> {
        if budget.shut.load(Ordering::Relaxed) {
            return Err(Rejection::ShuttingDown);
        }
        Ok(Self {
            budget: Arc::clone(budget),
            bytes: 0,
        })
    }

    /// Takes more bytes. A request that is alone gets what it asks for.
    ///
    /// # Errors
    ///
    /// The requests in work take too much already.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Rejection> {
        let before = self.budget.in_flight.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.budget.limit && before > self.bytes {
            self.budget.in_flight.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Rejection::Overloaded {
                in_flight: before,
                limit: self.budget.limit,
            });
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.in_flight.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

//! The resources one answer may use: memory for reading, and time while the client waits.
//!
//! Anything that builds an answer from stored or submitted data takes one: routes have it in their
//! [`Answer`](super::answer::Answer), the tools of `/mcp` directly. It exists only on a reader thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery::Delivery;
use super::readers::{Readers, Refusal, Reservation};

/// The resources one answer may use.
#[derive(Debug)]
pub(crate) struct Allowance {
    delivery: Arc<Delivery>,
    reservation: Reservation,
}

impl Allowance {
    pub(super) fn new(readers: &Arc<Readers>, delivery: &Arc<Delivery>) -> Self {
        Self {
            delivery: Arc::clone(delivery),
            reservation: Reservation::new(readers),
        }
    }

    pub(super) fn delivery(&self) -> &Arc<Delivery> {
        &self.delivery
    }

    /// Fails if the client no longer waits for the answer.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.delivery.is_wanted() {
            Ok(())
        } else {
            Err(Refusal::Cancelled)
        }
    }

    /// A function for work that cannot stop otherwise: returns whether to continue, while the client waits and until this time.
    pub(crate) fn goes_on(&self, until: Option<Instant>) -> impl Fn() -> bool + Clone + Send + 'static {
        let delivery = Arc::clone(&self.delivery);
        move || until.is_none_or(|until| Instant::now() < until) && delivery.is_wanted()
    }

    /// Reserves this many more bytes of memory.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow(bytes)
    }

    /// Reserves memory up to this many bytes in total.
    pub(crate) fn reserve_in_all(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow_to(bytes)
    }

    /// Checks that this many bytes could be reserved if no other request were in progress.
    pub(crate) fn can_reserve(&self, bytes: usize) -> Result<(), Refusal> {
        match self.most_bytes() {
            limit if bytes > limit => Err(Refusal::TooLarge { bytes, limit }),
            _ => Ok(()),
        }
    }

    /// Memory limit of all requests together.
    pub(crate) fn most_bytes(&self) -> usize {
        self.delivery.readers().limits().bytes
    }

    /// Bytes reserved so far.
    pub(crate) fn reserved(&self) -> usize {
        self.reservation.bytes()
    }

    /// Splits off part of the reservation, for data that outlasts this answer.
    pub(crate) fn split(&mut self, bytes: usize) -> Reservation {
        self.reservation.split(bytes)
    }

    /// Releases all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.reservation.shrink_to(bytes);
    }
}

/// How long a search runs before it answers with what it has found.
pub(crate) const SEARCH_TIMEOUT: Duration = Duration::from_millis(1_500);

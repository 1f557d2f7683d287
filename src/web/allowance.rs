//! What the making of one answer may use: memory of that for reading, and time while somebody waits for it.
//!
//! Whatever makes something of stored or given bytes for a client takes one: routes have it in their [`Answer`](super::answer::Answer),
//! the tools of `/mcp` as it is. There is one only on a thread of those that read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery::Delivery;
use super::readers::{Readers, Refusal, Reservation};

/// What the making of one answer may use.
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

    /// That anybody still waits for the answer.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.delivery.is_wanted() {
            Ok(())
        } else {
            Err(Refusal::Cancelled)
        }
    }

    /// Says for work that has no other way to stop whether it goes on: while somebody waits, and for so long.
    pub(crate) fn goes_on(&self, until: Option<Instant>) -> impl Fn() -> bool + Clone + Send + 'static {
        let delivery = Arc::clone(&self.delivery);
        move || until.is_none_or(|until| Instant::now() < until) && delivery.is_wanted()
    }

    /// Reserves this many more bytes of memory.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow(bytes)
    }

    /// Reserves this many bytes of memory in total, if that is more than it has.
    pub(crate) fn reserve_in_all(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow_to(bytes)
    }

    /// Checks that this many bytes of memory could be reserved if no other request was in progress.
    pub(crate) fn can_reserve(&self, bytes: usize) -> Result<(), Refusal> {
        match self.most_bytes() {
            limit if bytes > limit => Err(Refusal::TooLarge { bytes, limit }),
            _ => Ok(()),
        }
    }

    /// Bytes of memory that all requests together may take.
    pub(crate) fn most_bytes(&self) -> usize {
        self.delivery.readers().limits().bytes
    }

    /// Bytes of memory that it has reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.reservation.bytes()
    }

    /// Takes a part of the reserved memory out, for what outlasts this answer.
    pub(crate) fn split(&mut self, bytes: usize) -> Reservation {
        self.reservation.split(bytes)
    }

    /// Releases all reserved memory but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.reservation.shrink_to(bytes);
    }
}

/// How long a search is made before it answers with what it has.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_500);

//! Counters of a destination since the start of the bridge.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::destination::Destination;
use crate::access::Project;
use crate::span::Signal;
use crate::store::Position;

/// How a destination does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    /// Nothing was sent yet.
    #[default]
    Unknown,
    /// It accepted the last request.
    Up,
    /// The last request failed and is tried again, for this reason.
    Down(String),
}

/// The counts of one destination.
#[derive(Debug, Default)]
pub struct Counts {
    pub(super) sent: PerSignal,
    pub(super) failed: PerSignal,
    pub(super) retries: AtomicU64,
    pub(super) in_flight: AtomicU64,
    pub(super) held: AtomicU64,
    pub(super) not_taken: PerSignal,
    pub(super) left_out: AtomicU64,
    pub(super) not_chosen: PerSignal,
    pub(super) as_received: AtomicU64,
    pub(super) removed_segments: AtomicU64,
    pub(super) damaged_bytes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    health: Health,
    position: Position,
}

/// A count of spans, one of log records and one of data points of metrics.
#[derive(Debug, Default)]
pub(super) struct PerSignal([AtomicU64; 3]);

impl PerSignal {
    pub(super) fn add(&self, signal: Signal, items: u64) {
        let [spans, records, points] = &self.0;
        let count = match signal {
            Signal::Traces => spans,
            Signal::Logs => records,
            Signal::Metrics => points,
        };
        count.fetch_add(items, Ordering::Relaxed);
    }

    fn add_all(&self, other: &Self) {
        for (count, more) in self.0.iter().zip(other.now()) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(super) fn now(&self) -> [u64; 3] {
        self.0.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

/// The counts of one destination at one time. What is counted for each signal: spans, log records, data points of metrics.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// The destination.
    pub name: String,
    /// The project whose spans it gets.
    pub project: Project,
    /// What it accepted.
    pub sent: [u64; 3],
    /// What it refused for good.
    pub failed: [u64; 3],
    /// Attempts that failed and were repeated.
    pub retries: u64,
    /// Requests that wait for an answer.
    pub in_flight: u64,
    /// Spans without an end that were held back.
    pub held: u64,
    /// What it does not take.
    pub not_taken: [u64; 3],
    /// Log records that were neither sent nor written onto a span.
    pub left_out: u64,
    /// What is not chosen for it.
    pub not_chosen: [u64; 3],
    /// Spans that were sent as received, because translating them would take too much memory, or ended the process before.
    pub as_received: u64,
    /// Segments that retention removed before they were sent.
    pub removed_segments: u64,
    /// Bytes of the log that could not be read and were not sent.
    pub damaged_bytes: u64,
    /// Bytes of the log that are not sent yet.
    pub backlog_bytes: u64,
    /// Whether it accepted the last request.
    pub health: Health,
}

impl Counts {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how the destination does; true if that is news.
    pub(super) fn set_health(&self, health: Health) -> bool {
        let mut state = self.state();
        let news = std::mem::discriminant(&state.health) != std::mem::discriminant(&health);
        state.health = health;
        news
    }

    /// Adds what was not sent of a batch that is done. Not before: a batch that an order interrupts is prepared again.
    pub(super) fn add_unsent(&self, batch: &Self) {
        self.not_chosen.add_all(&batch.not_chosen);
        self.failed.add_all(&batch.failed);
        let counts = [
            (&self.held, &batch.held),
            (&self.left_out, &batch.left_out),
            (&self.as_received, &batch.as_received),
        ];
        for (count, more) in counts {
            count.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// How the destination does.
    #[must_use]
    pub fn health(&self) -> Health {
        self.state().health.clone()
    }

    pub(super) fn set_position(&self, position: Position) {
        self.state().position = position;
    }

    /// Up to where everything was sent.
    #[must_use]
    pub fn position(&self) -> Position {
        self.state().position
    }

    /// The counts now.
    #[must_use]
    pub fn sample(&self, destination: &Destination) -> Sample {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Sample {
            name: destination.name.clone(),
            project: destination.project.clone(),
            sent: self.sent.now(),
            failed: self.failed.now(),
            retries: now(&self.retries),
            in_flight: now(&self.in_flight),
            held: now(&self.held),
            not_taken: self.not_taken.now(),
            left_out: now(&self.left_out),
            not_chosen: self.not_chosen.now(),
            as_received: now(&self.as_received),
            removed_segments: now(&self.removed_segments),
            damaged_bytes: now(&self.damaged_bytes),
            backlog_bytes: 0,
            health: self.health(),
        }
    }
}

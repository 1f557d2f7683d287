//! Counters of a destination since the start of the bridge.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::destination::Destination;
use crate::access::Project;
use crate::span::Signal;
use crate::store::Position;

/// The state of a destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    /// Nothing has been sent yet.
    #[default]
    Unknown,
    /// The last request was accepted.
    Up,
    /// The last request failed for this reason and is being retried.
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

/// Separate counts of spans, log records and data points of metrics.
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

/// A snapshot of a destination's counts. Arrays have spans, log records and data points of metrics.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// The destination.
    pub name: String,
    /// The project it is fed from.
    pub project: Project,
    /// Items it accepted.
    pub sent: [u64; 3],
    /// Items it refused for good.
    pub failed: [u64; 3],
    /// Failed attempts that were repeated.
    pub retries: u64,
    /// Requests waiting for an answer.
    pub in_flight: u64,
    /// Unfinished spans that were held back.
    pub held: u64,
    /// Items of signals it does not support.
    pub not_taken: [u64; 3],
    /// Log records neither sent nor written onto a span.
    pub left_out: u64,
    /// Items not selected for it.
    pub not_chosen: [u64; 3],
    /// Spans sent as received, because translating them would take too much memory, or ended the process before.
    pub as_received: u64,
    /// Segments that retention removed before they were sent.
    pub removed_segments: u64,
    /// Bytes of the log that could not be read and so were not sent.
    pub damaged_bytes: u64,
    /// Bytes of the log not sent yet.
    pub backlog_bytes: u64,
    /// Whether the last request was accepted.
    pub health: Health,
}

impl Counts {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the health; returns whether it changed.
    pub(super) fn set_health(&self, health: Health) -> bool {
        let mut state = self.state();
        let news = std::mem::discriminant(&state.health) != std::mem::discriminant(&health);
        state.health = health;
        news
    }

    /// Adds the unsent items of a finished batch. Not earlier: a batch interrupted by an order is prepared again.
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

    /// Current health.
    #[must_use]
    pub fn health(&self) -> Health {
        self.state().health.clone()
    }

    pub(super) fn set_position(&self, position: Position) {
        self.state().position = position;
    }

    /// Everything before this position was sent.
    #[must_use]
    pub fn position(&self) -> Position {
        self.state().position
    }

    /// Takes a snapshot of the counts.
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

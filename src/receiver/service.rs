//! The receiver: its store, and the state shared by all requests.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, watch};

use super::admission::Budget;
use super::cors::Cors;
use super::counters::Counters;
use super::health::OpenWatches;
use super::limits::Limits;
use crate::redact::Redaction;
use crate::store::Append;

/// Accepts export requests and stores them.
#[derive(Debug)]
pub struct Receiver {
    pub(super) store: Arc<dyn Append>,
    pub(super) session_keys: Vec<String>,
    /// Whether metrics are stored, because a destination wants them. Otherwise they are only counted.
    pub(super) keeps_metrics: bool,
    pub(super) limits: Limits,
    pub(super) cors: Cors,
    pub(super) budget: Arc<Budget>,
    /// Limits how many requests are processed on other threads.
    pub(super) blocking: Arc<Semaphore>,
    pub(super) counters: Arc<Counters>,
    pub(super) redaction: Arc<Redaction>,
    pub(super) serving: watch::Sender<bool>,
    pub(super) watches: OpenWatches,
}

impl Receiver {
    /// A receiver for a store. `session_keys` are the attribute keys that name a session, best first.
    #[must_use]
    pub fn new(store: Arc<dyn Append>, session_keys: Vec<String>, limits: Limits) -> Self {
        Self {
            store,
            session_keys,
            keeps_metrics: false,
            limits,
            cors: Cors::default(),
            budget: Arc::new(Budget::new(limits.in_flight_bytes)),
            blocking: Arc::new(Semaphore::new(available_parallelism().map_or(2, NonZero::get).max(2))),
            counters: Arc::default(),
            redaction: Arc::default(),
            serving: watch::Sender::new(true),
            watches: OpenWatches::default(),
        }
    }

    /// A receiver for another store of the same process. Shares limits, counters, redaction and the rest.
    #[must_use]
    pub fn beside(&self, store: Arc<dyn Append>) -> Self {
        Self {
            store,
            session_keys: self.session_keys.clone(),
            keeps_metrics: false,
            limits: self.limits,
            cors: self.cors.clone(),
            budget: Arc::clone(&self.budget),
            blocking: Arc::clone(&self.blocking),
            counters: Arc::clone(&self.counters),
            redaction: Arc::clone(&self.redaction),
            serving: self.serving.clone(),
            watches: self.watches.clone(),
        }
    }

    /// Sets whether metrics are stored or only counted.
    #[must_use]
    pub fn keeping_metrics(self, keeps_metrics: bool) -> Self {
        Self { keeps_metrics, ..self }
    }

    /// Allows these web pages to send.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Self {
        Self { cors, ..self }
    }

    /// The redaction of requests before they are stored.
    #[must_use]
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Counts since the start.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Bytes of requests in progress.
    #[must_use]
    pub fn in_flight_bytes(&self) -> usize {
        self.budget.in_flight()
    }

    /// Rejects all further requests, with a hint to retry.
    pub fn shut(&self) {
        self.budget.shut();
        self.serving.send_replace(false);
    }
}

//! Delivers spans within a time limit when a process ends: ended ones everywhere, open ones only to documents.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::trace::SdkTracerProvider;

use super::documents::{Inbox, Order};
use super::open::OpenSpans;
use super::privacy::Privacy;
use super::snapshot;
use super::undelivered::{self, Undelivered};

/// Everything that takes part in the end of the program.
#[derive(Clone)]
pub(super) struct Exit {
    pub(super) provider: SdkTracerProvider,
    bound: Duration,
    documents: Vec<Inbox>,
    privacy: Option<Arc<Privacy>>,
    layers: Arc<Mutex<Vec<Arc<OpenSpans>>>>,
    undelivered: Undelivered,
    /// If the guard and a signal both shut down, the second waits for the first.
    turn: Arc<Mutex<()>>,
    /// The process that runs the processors' threads; a forked child has none of them.
    process: u32,
}

impl fmt::Debug for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exit").field("bound", &self.bound).finish_non_exhaustive()
    }
}

impl Exit {
    pub(super) fn new(
        provider: SdkTracerProvider,
        bound: Duration,
        documents: Vec<Inbox>,
        privacy: Option<Arc<Privacy>>,
        undelivered: Undelivered,
    ) -> Self {
        Self {
            provider,
            bound,
            documents,
            privacy,
            layers: Arc::default(),
            undelivered,
            turn: Arc::default(),
            process: std::process::id(),
        }
    }

    /// Registers the open spans of another layer, if documents are written.
    pub(super) fn watch(&self, list: impl FnOnce() -> OpenSpans) -> Option<Arc<OpenSpans>> {
        if self.documents.is_empty() {
            return None;
        }
        let list = Arc::new(list());
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        layers.push(Arc::clone(&list));
        Some(list)
    }

    /// Sends the spans that have ended; returns whether all were sent in time.
    pub(super) fn flush(&self) -> bool {
        self.within_bound("spanbridge-flush", |exit| exit.provider.force_flush().is_ok())
    }

    /// Sends all spans and stops accepting more; returns whether all were sent in time.
    pub(super) fn shut_down(&self) -> bool {
        let is_sent = self.within_bound("spanbridge-exit", |exit| {
            // A panic may have poisoned the registry's lock of an open span; ended spans must leave regardless.
            let _ = catch_unwind(AssertUnwindSafe(|| exit.send_open()));
            exit.provider.shutdown_with_timeout(exit.bound).is_ok()
        });
        undelivered::guard_dropped();
        if self.is_forked() {
            undelivered::report_line(format_args!(
                "the Layer sends no spans of a process that was forked from the one in which it was set up"
            ));
        } else {
            self.undelivered.report(self.bound);
        }
        is_sent
    }

    /// Whether this process lacks the threads that send spans.
    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    fn send_open(&self) {
        if self.documents.is_empty() {
            return;
        }
        let layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        let open: Vec<_> = layers
            .iter()
            .flat_map(|layer| snapshot::of_open(layer, self.privacy.as_ref()))
            .collect();
        drop(layers);
        for inbox in &self.documents {
            let _ = inbox.send(Order::Open(open.clone()));
        }
    }

    /// Runs `work` on a separate thread, because processors wait one after the other, each up to its own limit.
    fn within_bound(&self, name: &str, work: impl FnOnce(&Self) -> bool + Send + 'static) -> bool {
        if self.is_forked() {
            return false;
        }
        let (done, wait) = mpsc::channel();
        let exit = self.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _turn = exit.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = done.send(work(&exit));
        });
        thread.is_ok() && wait.recv_timeout(self.bound).unwrap_or(false)
    }
}

//! How spans leave at the end of a process, within a bound: open ones to documents, ended ones everywhere.

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

/// What has to know that the program ends.
#[derive(Clone)]
pub(super) struct Exit {
    pub(super) provider: SdkTracerProvider,
    bound: Duration,
    documents: Vec<Inbox>,
    privacy: Option<Arc<Privacy>>,
    layers: Arc<Mutex<Vec<Arc<OpenSpans>>>>,
    undelivered: Undelivered,
    /// Whoever comes second (the guard, a signal) waits until the first is through.
    turn: Arc<Mutex<()>>,
    /// The process that has the threads of the processors: a child that was forked has none of them.
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

    /// A list for the open spans of one more layer, if there are documents.
    pub(super) fn watch(&self, list: impl FnOnce() -> OpenSpans) -> Option<Arc<OpenSpans>> {
        if self.documents.is_empty() {
            return None;
        }
        let list = Arc::new(list());
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        layers.push(Arc::clone(&list));
        Some(list)
    }

    /// Sends what has ended; whether all of it left in time.
    pub(super) fn flush(&self) -> bool {
        self.within_bound("spanbridge-flush", |exit| exit.provider.force_flush().is_ok())
    }

    /// Sends what there is and takes no more; whether all of it left in time.
    pub(super) fn shut_down(&self) -> bool {
        let is_sent = self.within_bound("spanbridge-exit", |exit| {
            // What has ended leaves even if a panic has poisoned the registry's lock of an open span.
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

    /// Whether this process has none of the threads that send.
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

    /// On a separate thread: processors wait one after the other, each as long as it may.
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

//! Live notification of changed traces: one reader of arrivals for all viewers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};

use super::readers::Readers;
use crate::span::TraceId;
use crate::store::{ArrivalLimits, Position, Store};

/// Arrivals within this time are reported together.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);
/// How often to check whether there still are listeners.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Bytes read at a time.
const READ_BYTES: usize = 4 << 20;
/// If it is further behind than this, the reader skips ahead, and listeners reload everything.
const BEHIND: u64 = 64 << 20;
/// Maximum messages waiting for a listener.
const WAITING: usize = 64;

/// A notification.
#[derive(Debug, Clone)]
pub(crate) enum Notification {
    /// These traces have changed.
    For(Arc<BTreeSet<TraceId>>),
    /// More has changed than can be listed.
    Much,
}

/// Notifies listeners of arrivals.
#[derive(Debug)]
pub(crate) struct Live {
    sender: broadcast::Sender<Notification>,
    /// Whether the reader is running.
    reads: Mutex<bool>,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            sender: broadcast::Sender::new(WAITING),
            reads: Mutex::new(false),
        }
    }
}

impl Live {
    /// Subscribes to further arrivals; `None`: the store is open for reading only.
    pub(crate) fn listen(self: &Arc<Self>, store: &Arc<dyn Store>, readers: &Arc<Readers>) -> Option<broadcast::Receiver<Notification>> {
        let end = store.watch_end()?;
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.sender.subscribe();
        if !*reads {
            *reads = true;
            drop(tokio::spawn(read(Arc::clone(self), Arc::clone(store), Arc::clone(readers), end)));
        }
        Some(receiver)
    }

    /// Whether there are no listeners left; the reader then ends.
    fn is_over(&self) -> bool {
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sender.receiver_count() == 0 {
            *reads = false;
        }
        !*reads
    }
}

async fn read(live: Arc<Live>, store: Arc<dyn Store>, readers: Arc<Readers>, mut end: watch::Receiver<Position>) {
    let mut from = *end.borrow_and_update();
    while !live.is_over() {
        tokio::select! {
            changed = end.changed() => if changed.is_err() { break },
            () = tokio::time::sleep(POLL_INTERVAL) => continue,
            () = readers.stopping() => break,
        }
        tokio::time::sleep(REPORT_INTERVAL).await;
        let until = *end.borrow_and_update();
        let store = Arc::clone(&store);
        match readers.states.run(move || arrived(&*store, from, until)).await {
            Some((next, came)) => {
                from = next;
                if let Some(came) = came {
                    let _ = live.sender.send(came);
                }
            }
            None => break,
        }
    }
    *live.reads.lock().unwrap_or_else(PoisonError::into_inner) = false;
}

/// The traces that changed after a position, and where reading ended.
fn arrived(store: &dyn Store, mut from: Position, until: Position) -> (Position, Option<Notification>) {
    if store.bytes_behind(from) > BEHIND {
        return (until, Some(Notification::Much));
    }
    let mut traces = BTreeSet::new();
    while from < until {
        let limits = ArrivalLimits {
            bytes: READ_BYTES,
            latest: u64::MAX,
        };
        let Ok(arrivals) = store.read_arrivals(from, limits) else {
            return (until, Some(Notification::Much));
        };
        traces.extend(arrivals.chunks.iter().filter_map(|chunk| chunk.trace_id));
        if arrivals.next <= from {
            break;
        }
        from = arrivals.next;
    }
    let came = (!traces.is_empty()).then(|| Notification::For(Arc::new(traces)));
    (from, came)
}

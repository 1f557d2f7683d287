//! Live notice of changed traces: one reader of arrivals for all viewers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};

use super::readers::Readers;
use crate::span::TraceId;
use crate::store::{ArrivalLimits, Position, Store};

/// What came together is reported together.
const TOGETHER: Duration = Duration::from_millis(250);
/// How often to look whether anybody still listens.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Bytes that are read at once.
const READ: usize = 4 << 20;
/// Further behind than this, what came is not read: whoever listens looks at all anew.
const BEHIND: u64 = 64 << 20;
/// Messages that wait for a listener.
const WAITING: usize = 64;

/// What came.
#[derive(Debug, Clone)]
pub(crate) enum Came {
    /// Something for these traces.
    For(Arc<BTreeSet<TraceId>>),
    /// More than can be reported.
    Much,
}

/// Tells of arrivals.
#[derive(Debug)]
pub(crate) struct Live {
    sender: broadcast::Sender<Came>,
    /// Whether the reader is at work.
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
    /// Hears of what comes from now on; `None`: the store is open for reading only.
    pub(crate) fn listen(self: &Arc<Self>, store: &Arc<dyn Store>, readers: &Arc<Readers>) -> Option<broadcast::Receiver<Came>> {
        let end = store.watch_end()?;
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.sender.subscribe();
        if !*reads {
            *reads = true;
            drop(tokio::spawn(read(Arc::clone(self), Arc::clone(store), Arc::clone(readers), end)));
        }
        Some(receiver)
    }

    /// Whether nobody listens any more; then the reader ends.
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
        tokio::time::sleep(TOGETHER).await;
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

/// What came behind a position, and where it ends.
fn arrived(store: &dyn Store, mut from: Position, until: Position) -> (Position, Option<Came>) {
    if store.bytes_behind(from) > BEHIND {
        return (until, Some(Came::Much));
    }
    let mut traces = BTreeSet::new();
    while from < until {
        let limits = ArrivalLimits {
            bytes: READ,
            latest: u64::MAX,
        };
        let Ok(arrivals) = store.read_arrivals(from, limits) else {
            return (until, Some(Came::Much));
        };
        traces.extend(arrivals.chunks.iter().filter_map(|chunk| chunk.trace_id));
        if arrivals.next <= from {
            break;
        }
        from = arrivals.next;
    }
    let came = (!traces.is_empty()).then(|| Came::For(Arc::new(traces)));
    (from, came)
}

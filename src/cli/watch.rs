//! Stores sessions while their clients work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::session_store::SessionStore;
use crate::sessions::{Sessions, Watch};
use crate::store::{self, Receipt};

/// How long after a look the next one is.
const EVERY: Duration = Duration::from_millis(350);

/// After so long without a change it is twice as long.
const IDLE: Duration = Duration::from_secs(60);

/// A session is read once more so long after its last change: what its exporter sent in the end has come by then.
const SETTLED: Duration = Duration::from_secs(15);

/// Reading takes at most this part of the time, however long sessions are.
const SHARE: u32 = 4;

/// Stores sessions as they change until it is stopped, or the store is closed. `reported` reports what was stored, and what could not
/// be.
pub(super) fn follow(
    store: &SessionStore,
    mut watch: Watch,
    limit: usize,
    stop: &AtomicBool,
    reported: &mut dyn FnMut(Result<Receipt, Failure>),
) {
    let mut settling = Sessions::default();
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let mut changed = watch.look();
        if !changed.is_empty() {
            last = begun;
            settling.merge(&changed);
        } else if last.elapsed() >= SETTLED {
            changed = std::mem::take(&mut settling);
        }
        if !changed.is_empty() {
            let mut receipt = Receipt::default();
            let mut failures = Vec::new();
            changed.read_each(limit, &mut |read| {
                let taken = match read {
                    Ok(imported) => store.take(imported.spans, &mut receipt),
                    Err(error) => Err(error.into()),
                };
                failures.extend(taken.err());
            });
            let closed = |failure: &Failure| matches!(failure, Failure::Store(store::Error::Closed));
            if failures.iter().any(closed) {
                return;
            }
            reported(Ok(receipt));
            failures.into_iter().for_each(|failure| reported(Err(failure)));
        }
        let every = if last.elapsed() > IDLE { EVERY * 2 } else { EVERY };
        thread::sleep(every.max(begun.elapsed() * SHARE));
    }
}

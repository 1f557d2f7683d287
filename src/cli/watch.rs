//! Stores sessions while their clients work.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::session_store::SessionStore;
use crate::hash::HashMap;
use crate::sessions::{Found, Limits, SessionError, Sessions, Watch};
use crate::store::{self, Receipt};

/// Delay between two looks.
const EVERY: Duration = Duration::from_millis(350);

/// After this long without a change, the delay is doubled.
const IDLE: Duration = Duration::from_secs(60);

/// A session is read once more this long after its last change: by then its exporter has sent the rest.
const SETTLED: Duration = Duration::from_secs(15);

/// Reading takes at most this fraction of the time, however long sessions are.
const SHARE: u32 = 4;

/// Reading unreadable files takes at most this fraction of the time.
const REFUSED_SHARE: u32 = 100;

/// Delay before retrying what the store did not accept.
const AGAIN: Duration = Duration::from_secs(5);

/// Maximum number of unreadable files that are remembered.
const REPORTED: usize = 1_000;

/// Stores sessions as they change until it is stopped, or the store is closed. `reported` is called with what was stored,
/// and with each failure once.
pub(super) fn follow(
    store: &SessionStore,
    watch: Watch,
    limits: Limits,
    stop: &AtomicBool,
    reported: &mut dyn FnMut(Result<Receipt, Failure>),
) {
    let mut follower = Follower {
        store,
        watch,
        limits,
        settling: Sessions::default(),
        not_taken: None,
        failures: HashMap::default(),
        failed: None,
    };
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let (changed, is_new) = follower.due(last);
        if is_new {
            last = begun;
        }
        let mut refused = Duration::ZERO;
        if !changed.is_empty() {
            match follower.take(&changed, reported) {
                Some(took) => refused = took,
                None => return,
            }
        }
        let every = if last.elapsed() > IDLE { EVERY * 2 } else { EVERY };
        thread::sleep(every.max(begun.elapsed().saturating_sub(refused) * SHARE));
    }
}

struct Follower<'s> {
    store: &'s SessionStore,
    watch: Watch,
    limits: Limits,
    /// Sessions to read once more when nothing changes any more.
    settling: Sessions,
    /// Sessions the store did not accept, and when to retry them.
    not_taken: Option<(Instant, Sessions)>,
    /// Errors reported for unreadable files.
    failures: HashMap<PathBuf, String>,
    /// The last error reported for the store.
    failed: Option<String>,
}

impl Follower<'_> {
    /// The sessions to read now, and whether one has changed. `last`: time of the last change.
    fn due(&mut self, last: Instant) -> (Sessions, bool) {
        let look = self.watch.look();
        let mut due = look.changed;
        let is_new = !due.is_empty();
        if is_new {
            self.settling.merge(&due);
        } else if last.elapsed() >= SETTLED {
            due = std::mem::take(&mut self.settling);
        }
        // If the store cannot tell, read it: nothing is stored twice.
        let is_behind = |(found, changed): &(Found, u64)| self.store.is_behind(found, *changed).unwrap_or(true);
        let behind: BTreeSet<Found> = look.met.into_iter().filter(is_behind).map(|(found, _)| found).collect();
        due.merge(&self.watch.sessions_of(&behind));
        if let Some((_, sessions)) = self.not_taken.take_if(|(at, _)| *at <= Instant::now()) {
            due.merge(&sessions);
        }
        (due, is_new)
    }

    /// Reads and stores sessions. Returns how long reading unreadable files took; `None`: the store is closed.
    fn take(&mut self, sessions: &Sessions, reported: &mut dyn FnMut(Result<Receipt, Failure>)) -> Option<Duration> {
        let (mut receipt, mut failure, mut refused) = (Receipt::default(), None, Vec::new());
        let mut begun = Instant::now();
        sessions.read_each(self.limits, &mut |read| {
            match read {
                Ok(imported) => failure = self.store.take(imported.spans, &mut receipt).err().or(failure.take()),
                Err(error) => refused.push((error, begun.elapsed())),
            }
            begun = Instant::now();
        });
        if matches!(failure, Some(Failure::Store(store::Error::Closed))) {
            return None;
        }
        reported(Ok(receipt));
        let text = failure.as_ref().map(ToString::to_string);
        if let Some(failure) = failure {
            // Data that the store has accepted is not stored a second time.
            let mut again = sessions.clone();
            if let Some((_, others)) = self.not_taken.take() {
                again.merge(&others);
            }
            self.not_taken = Some((Instant::now() + AGAIN, again));
            if self.failed != text {
                reported(Err(failure));
            }
        }
        self.failed = text;
        let mut took = Duration::ZERO;
        for (error, each) in refused {
            took += each;
            self.refuse(error, each, reported);
        }
        Some(took)
    }

    /// Reports an unreadable file once, and leaves it alone for a while.
    fn refuse(&mut self, error: SessionError, took: Duration, reported: &mut dyn FnMut(Result<Receipt, Failure>)) {
        let path = error.path().to_owned();
        self.watch.pause(&path, Instant::now() + took * REFUSED_SHARE);
        self.settling.leave_out(&path);
        if let Some((_, sessions)) = &mut self.not_taken {
            sessions.leave_out(&path);
        }
        if self.failures.len() >= REPORTED {
            self.failures.clear();
        }
        let text = error.to_string();
        if self.failures.insert(path, text.clone()) != Some(text) {
            reported(Err(error.into()));
        }
    }
}

//! How fast segments are compressed while requests come.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::store::state::State;

/// So long it works at once while requests come. Also the longest that anyone who wants the thread waits.
const SLICE: Duration = Duration::from_millis(10);

/// Rests between slices of work while requests come: the more segments wait, the shorter. From [`BACKLOG`] on there are none, so
/// that under constant load too as much is compressed as comes.
#[derive(Debug)]
pub(super) struct Pace {
    begin: Instant,
    requests: usize,
    /// Rests, in slices.
    rests: u32,
}

/// From so many segments on compression takes no rests: 2 GiB of 64 MiB each.
pub(super) const BACKLOG: usize = 32;

impl Pace {
    /// `waiting`: segments that are not compressed yet.
    pub(super) fn new(state: &State, waiting: usize) -> Self {
        let rests = match waiting {
            0..8 => 9,
            8..16 => 4,
            16..BACKLOG => 1,
            _ => 0,
        };
        Self {
            begin: Instant::now(),
            requests: state.requests.load(Ordering::Relaxed),
            rests,
        }
    }

    /// Called between records; `true` at the end of each slice, when the thread has had its rest.
    pub(super) fn is_over(&mut self, state: &State) -> bool {
        let worked = self.begin.elapsed();
        if worked < SLICE {
            return false;
        }
        let requests = state.requests.load(Ordering::Relaxed);
        let is_busy = requests != self.requests || state.waiting.load(Ordering::Relaxed) > 0;
        if is_busy {
            // A record may be large: its work is no longer than the rest that follows it.
            thread::sleep(worked.min(10 * SLICE) * self.rests);
        }
        (self.begin, self.requests) = (Instant::now(), state.requests.load(Ordering::Relaxed));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_while_requests_come_unless_too_many_segments_wait() {
        let state = State::default();
        let slice = |waiting: usize, requests: usize| {
            let mut pace = Pace::new(&state, waiting);
            state.requests.fetch_add(requests, Ordering::Relaxed);
            let begin = Instant::now();
            while !pace.is_over(&state) {
                thread::sleep(Duration::from_millis(1));
            }
            begin.elapsed()
        };
        assert!(slice(1, 1) >= 10 * SLICE, "nine parts of ten are rest");
        assert!(slice(20, 1) >= 2 * SLICE);
        // The others are quick; a busy machine may take longer.
        let quick = |waiting, requests| (0..20).any(|_| slice(waiting, requests) < 2 * SLICE);
        assert!(quick(1, 0), "nothing came");
        assert!(quick(BACKLOG, 1), "too many wait");
    }
}

//! The pace of compression while requests arrive.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::store::state::State;

/// How long compression works without a rest while requests arrive; also the longest that others wait for the thread.
const SLICE: Duration = Duration::from_millis(10);

/// Rests between slices of work while requests arrive: the more segments wait, the shorter. From [`BACKLOG`] on it does not
/// rest, so that even under constant load compression keeps up.
#[derive(Debug)]
pub(super) struct Pace {
    begin: Instant,
    requests: usize,
    /// Length of a rest, in slices.
    rests: u32,
}

/// Number of waiting segments from which compression takes no rests: 2 GiB of 64 MiB each.
pub(super) const BACKLOG: usize = 32;

impl Pace {
    /// `waiting`: the number of uncompressed segments.
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

    /// Called between records; `true` at the end of each slice, after the rest.
    pub(super) fn is_over(&mut self, state: &State) -> bool {
        let worked = self.begin.elapsed();
        if worked < SLICE {
            return false;
        }
        let requests = state.requests.load(Ordering::Relaxed);
        let is_busy = requests != self.requests || state.waiting.load(Ordering::Relaxed) > 0;
        if is_busy {
            // A record may be large: the rest is proportional to the actual work.
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

//! Backpressure if receiving is faster than retention: a new segment begins only once retention has seen the segment before the last.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Progress of retention, for the writing thread.
#[derive(Debug, Default)]
pub(super) struct Room {
    made: Mutex<RetentionProgress>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct RetentionProgress {
    /// The active segment when retention last finished.
    looked: u64,
    /// Bytes removed by retention.
    removed: u64,
}

/// Maximum wait for a segment. A slow disk must not keep requests from being stored.
const MAX_WAIT: Duration = Duration::from_secs(20);

impl Room {
    /// Adds bytes removed by retention.
    pub(super) fn removed(&self, bytes: u64) {
        self.change(|made| made.removed += bytes);
    }

    /// Retention has finished as of this active segment; or it failed, and waiting is pointless.
    pub(super) fn looked(&self, segment: u64) {
        self.change(|made| made.looked = made.looked.max(segment));
    }

    fn change(&self, change: impl FnOnce(&mut RetentionProgress)) {
        change(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until another segment may begin: retention has run since this segment began, or has removed this many bytes
    /// since. If a lowered limit leaves much to remove, receiving continues meanwhile without growing the log.
    pub(super) fn wait(&self, segment: u64, bytes: u64) {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = made.removed + bytes;
        let goes_on = |made: &mut RetentionProgress| made.looked < segment && made.removed < enough;
        drop(self.changed.wait_timeout_while(made, MAX_WAIT, goes_on));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn one_that_waits_goes_on_when_retention_has_looked_or_removed_as_much() {
        for make in [|room: &Room| room.looked(7), |room: &Room| room.removed(100)] {
            let room = Arc::new(Room::default());
            room.looked(6);
            room.removed(1_000);
            let waiting = std::thread::spawn({
                let room = Arc::clone(&room);
                move || room.wait(7, 100)
            });
            std::thread::sleep(Duration::from_millis(30));
            room.removed(99);
            room.looked(6);
            std::thread::sleep(Duration::from_millis(30));
            assert!(!waiting.is_finished());
            make(&room);
            waiting.join().expect("ends");
            room.looked(7);
            room.wait(7, 100);
        }
    }
}

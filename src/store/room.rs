//! Backpressure: if receiving is faster than retention, a new segment begins only once the one before the last has been counted.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What retention has done, for the thread that writes.
#[derive(Debug, Default)]
pub(super) struct Room {
    made: Mutex<Made>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct Made {
    /// The segment that was written to when retention looked last, and was done.
    looked: u64,
    /// Bytes that it removed.
    removed: u64,
}

/// The longest wait for a segment. A disk that takes longer to remove one must not keep what comes from being stored.
const LONGEST: Duration = Duration::from_secs(20);

impl Room {
    /// Retention has removed this much.
    pub(super) fn removed(&self, bytes: u64) {
        self.change(|made| made.removed += bytes);
    }

    /// Retention has nothing left to do, as of when this segment was written to; or it failed, and nothing is to be waited for.
    pub(super) fn looked(&self, segment: u64) {
        self.change(|made| made.looked = made.looked.max(segment));
    }

    fn change(&self, change: impl FnOnce(&mut Made)) {
        change(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until there is room for another segment: retention has looked at the log since this segment was begun, or has removed
    /// this many bytes since. Where a lower limit leaves much to remove, receiving goes on meanwhile and the log does not grow.
    pub(super) fn wait(&self, segment: u64, bytes: u64) {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = made.removed + bytes;
        let goes_on = |made: &mut Made| made.looked < segment && made.removed < enough;
        drop(self.changed.wait_timeout_while(made, LONGEST, goes_on));
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

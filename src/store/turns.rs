//! Turns of the threads that write to the index.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Grants turns to write to the index in the order of requests. SQLite's lock goes to whichever thread asks while it is
/// free; under load that is the thread that has just released it.
#[derive(Debug, Default)]
pub(super) struct Turns {
    tickets: Mutex<Tickets>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Tickets {
    next: u64,
    now: u64,
}

/// One turn, which ends on drop.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn.
    pub(super) fn take(&self) -> Turn<'_> {
        let mut tickets = self.tickets();
        let ticket = tickets.next;
        tickets.next += 1;
        while tickets.now != ticket {
            tickets = self.ended.wait(tickets).unwrap_or_else(PoisonError::into_inner);
        }
        Turn(self)
    }

    /// Whether another thread waits for a turn.
    pub(super) fn are_wanted(&self) -> bool {
        let tickets = self.tickets();
        tickets.next > tickets.now + 1
    }

    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.tickets().now += 1;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_asked_first_has_the_next_turn() {
        let turns = Arc::new(Turns::default());
        let first = turns.take();
        let (taken, order) = channel();
        let mut threads = Vec::new();
        for number in 0..3 {
            let (of_thread, taken) = (Arc::clone(&turns), taken.clone());
            threads.push(std::thread::spawn(move || {
                let _turn = of_thread.take();
                taken.send(number).expect("is received");
            }));
            let asked = || turns.tickets().next;
            while asked() < 2 + number {
                std::thread::yield_now();
            }
        }
        assert_eq!(order.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
        drop(first);
        assert_eq!(order.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        threads.into_iter().for_each(|thread| thread.join().expect("ends"));
    }
}

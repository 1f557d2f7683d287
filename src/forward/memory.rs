//! The memory limit for changing items before they are sent, shared by all destinations of the process.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Memory for all concurrent changes together. A change that needs more waits until it is alone.
const CAPACITY: usize = 32 << 20;

/// The memory limit of a change is this many times the message's size,
const LIMIT_FACTOR: usize = 4;
/// plus this many bytes.
const LIMIT_BASE: usize = 32 << 20;

/// The shared limit of the process.
pub(super) static MEMORY: Memory = Memory::new(CAPACITY);

/// The memory limit for changing a message of this size.
pub(super) fn share(bytes: usize) -> usize {
    bytes.saturating_mul(LIMIT_FACTOR).saturating_add(LIMIT_BASE)
}

/// Grants memory in the order of requests.
#[derive(Debug)]
pub(super) struct Memory {
    capacity: usize,
    state: Mutex<MemoryState>,
    freed: Condvar,
}

#[derive(Debug)]
struct MemoryState {
    used: usize,
    next_ticket: u64,
    served: u64,
}

/// Granted memory, returned on drop.
#[derive(Debug)]
pub(super) struct Reserved<'a> {
    memory: &'a Memory,
    bytes: usize,
}

impl Memory {
    const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            state: Mutex::new(MemoryState {
                used: 0,
                next_ticket: 0,
                served: 0,
            }),
            freed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this much is free, or nothing else is in use. A holder must not ask for more.
    pub(super) fn reserve(&self, bytes: usize) -> Reserved<'_> {
        let mut state = self.state();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        while state.served != ticket || (state.used > 0 && state.used.saturating_add(bytes) > self.capacity) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.served += 1;
        state.used = state.used.saturating_add(bytes);
        drop(state);
        self.freed.notify_all();
        Reserved { memory: self, bytes }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut state = self.memory.state();
        state.used = state.used.saturating_sub(self.bytes);
        drop(state);
        self.memory.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_is_in_use_at_once_is_bounded_and_the_largest_is_alone() {
        let memory = Memory::new(100);
        let (used, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..40 {
                let (memory, used, most) = (&memory, &used, &most);
                scope.spawn(move || {
                    let bytes = if number % 10 == 0 { 1_000 } else { 30 };
                    let _reserved = memory.reserve(bytes);
                    let now = used.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    assert!(now <= 100 || now == 1_000, "{now}");
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    used.fetch_sub(bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 1_000);
        assert_eq!(memory.state().used, 0);
    }
}

//! A pool for CPU-bound work with one thread per core: more would only take more memory.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use tokio::runtime::Handle;

use super::writer_state::lock;

type Work = Box<dyn FnOnce() + Send>;

/// The queue of work.
#[derive(Clone, Default)]
pub(super) struct OnCores(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    works: VecDeque<Work>,
    threads: usize,
}

impl OnCores {
    /// Queues work; it runs once a core is free, in order.
    pub(super) fn run(&self, handle: &Handle, work: impl FnOnce() + Send + 'static) {
        let mut queue = lock(&self.0);
        queue.works.push_back(Box::new(work));
        if queue.threads < available_parallelism().map_or(1, NonZero::get) {
            queue.threads += 1;
            let on_cores = self.clone();
            handle.spawn_blocking(move || {
                while let Some(work) = on_cores.next() {
                    // A panic must not take the thread from other work; the waiting side notices by the channel that the work dropped.
                    let _ = catch_unwind(AssertUnwindSafe(work));
                }
            });
        }
    }

    /// The next work; `None`: the queue is empty and the thread ends.
    fn next(&self) -> Option<Work> {
        let mut queue = lock(&self.0);
        let next = queue.works.pop_front();
        if next.is_none() {
            queue.threads -= 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_work_is_done_by_as_many_threads_as_there_are_cores_also_beside_work_that_panics() {
        let (on_cores, running, most) = (OnCores::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (done, finished) = channel();
        let handle = super::super::runtime::handle().expect("runs");
        for number in 0..64 {
            let (running, most, done) = (Arc::clone(&running), Arc::clone(&most), done.clone());
            on_cores.run(&handle, move || {
                assert!(number % 8 != 0, "as some do");
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                running.fetch_sub(1, Ordering::SeqCst);
                let _ = done.send(number);
            });
        }
        drop(done);
        assert_eq!(finished.iter().count(), 56);
        assert!(most.load(Ordering::SeqCst) <= available_parallelism().map_or(1, NonZero::get));
    }
}

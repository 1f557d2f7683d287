//! Work on other threads that continues when the client is gone.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Threads for one kind of work. Work keeps its permit until it ends, even if its client is gone: clients that hang up and
/// retry do not multiply it.
#[derive(Debug)]
pub(crate) struct Detached(Arc<Semaphore>);

impl Default for Detached {
    /// At most one thread per processor, so that other work gets its share.
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(available_parallelism().map_or(2, NonZero::get).max(2))))
    }
}

impl Detached {
    /// Runs work once there is a permit; `None`: it panicked, or the program is ending.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let turn = Arc::clone(&self.0).acquire_owned().await.ok()?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_that_nobody_waits_for_keeps_its_turn_until_it_ends() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let detached = Arc::new(Detached(Arc::new(Semaphore::new(1))));
            let (begins, begun) = channel();
            let (end, ends) = channel::<()>();
            let first = Arc::clone(&detached);
            let client = tokio::spawn(async move {
                let work = move || {
                    begins.send(()).unwrap();
                    let _ = ends.recv();
                };
                first.run(work).await
            });
            begun.recv().unwrap();
            client.abort();
            assert!(client.await.unwrap_err().is_cancelled());
            let mut second = std::pin::pin!(detached.run(|| 2));
            let early = tokio::time::timeout(Duration::from_millis(100), &mut second).await;
            assert!(early.is_err(), "the first one still works");
            drop(end);
            assert_eq!(second.await, Some(2));
        });
    }
}

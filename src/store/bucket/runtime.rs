//! The threads that speak with the bucket. The traits of a store block, and their callers may themselves be in a runtime, where
//! blocking on a future panics: so futures run here, and the caller waits for a message.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::store::error::Error;

/// One for all stores of the process. It is never shut down: a runtime must not be dropped by a thread of another one.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// How many threads work for all buckets.
const THREADS: usize = 4;

/// The runtime of all buckets.
pub(super) fn handle() -> Result<Handle, Error> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime.handle().clone());
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("bucket")
        .enable_all()
        .build()
        .map_err(|source| super::failed::failed("start the threads for", "the bucket")(source))?;
    // Another thread may have been faster; its runtime is the one.
    if let Err(second) = RUNTIME.set(runtime) {
        second.shutdown_background();
    }
    RUNTIME.get().map(|runtime| runtime.handle().clone()).ok_or(Error::Closed)
}

/// Runs a future, and waits for it.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(1);
    handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv().unwrap_or(Err(Error::Closed))
}

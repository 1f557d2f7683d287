//! The threads that talk to the bucket. The traits of a store block, and callers may themselves be in a runtime, where
//! blocking on a future panics: so futures run here, and the caller waits for a message.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::store::error::Error;

/// Shared by all stores of the process. Never shut down: a runtime must not be dropped by a thread of another one.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Threads of the runtime.
const THREADS: usize = 4;

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
    // If another thread was faster, its runtime is used.
    if let Err(second) = RUNTIME.set(runtime) {
        second.shutdown_background();
    }
    RUNTIME.get().map(|runtime| runtime.handle().clone()).ok_or(Error::Closed)
}

/// Runs a future on the runtime and blocks until it is done.
pub(super) fn wait<T: Send + 'static>(future: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(1);
    handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv().unwrap_or(Err(Error::Closed))
}

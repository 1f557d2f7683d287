//! The threads of forwarding. On a busy machine, receiving and reading go first.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// A separate runtime, so that its threads can have their own priority.
#[derive(Debug)]
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    pub(super) fn start() -> io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(threads)
            .thread_name("forward")
            .enable_all()
            .on_thread_start(crate::store::lower_priority);
        Ok(Self(Some(builder.build()?)))
    }

    pub(super) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for Threads {
    /// A runtime must not wait for its threads inside another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

//! The threads of forwarding. While the processor is busy, the system lets receiving and reading go first.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// How far the priority of these threads is lowered: at 15, a thread of the default priority that competes for a core gets 28 times
/// as much of it (Linux, `sched(7)`). At 19, it would be 68 times.
#[cfg(target_os = "linux")]
const NICE: i32 = 15;

/// A runtime of its own, so that its threads can have a priority of their own.
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
            .on_thread_start(lower_priority);
        Ok(Self(Some(builder.build()?)))
    }

    pub(super) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for Threads {
    /// A runtime must not wait for its threads inside another one.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// On Linux a priority belongs to a thread; elsewhere it belongs to the whole process and stays as it is.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of forwarding stays as it is");
    }
}

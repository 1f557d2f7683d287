//! The priority of threads whose work can wait: on a busy machine, receiving and reading go first.

/// How far the priority is lowered: at 15, a competing thread of default priority gets 28 times as much of a core (Linux,
/// `sched(7)`); at 19, 68 times.
#[cfg(target_os = "linux")]
const NICE: i32 = 15;

/// Lowers the priority of this thread. On Linux each thread has its own priority; elsewhere it belongs to the whole process
/// and is not changed.
pub(crate) fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}

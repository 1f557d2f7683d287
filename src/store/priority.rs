//! The priority of threads whose work can wait: while the processor is busy, the system lets receiving and reading go first.

/// How far the priority of these threads is lowered: at 15, a thread of the default priority that competes for a core gets 28 times
/// as much of it (Linux, `sched(7)`). At 19, it would be 68 times.
#[cfg(target_os = "linux")]
const NICE: i32 = 15;

/// Lowers the priority of this thread. On Linux a priority belongs to a thread; elsewhere it belongs to the whole process and stays as
/// it is.
pub(crate) fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}

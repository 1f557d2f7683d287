//! On SIGTERM or SIGINT, flushes everything and then ends the process as the signal would have.

use super::error::InitError;
use super::exit::Exit;

#[cfg(not(unix))]
pub(super) fn leave_on_signals(_: &Exit) -> Result<(), InitError> {
    Ok(())
}

/// On SIGTERM or SIGINT, sends all spans, restores the default action and raises the signal again. A second signal does not wait. A signal
/// that the program handles itself is left alone: the program knows best when to end.
#[cfg(unix)]
pub(super) fn leave_on_signals(exit: &Exit) -> Result<(), InitError> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag::register_conditional_default;
    use signal_hook::iterator::Signals;

    let failed = |source| InitError::Io {
        what: "listening to SIGTERM and SIGINT",
        source,
    };
    let ours: Vec<i32> = [SIGTERM, SIGINT].into_iter().filter(|signal| !is_caught(*signal)).collect();
    if ours.is_empty() {
        return Ok(());
    }
    let leaving = Arc::new(AtomicBool::new(false));
    for signal in &ours {
        register_conditional_default(*signal, Arc::clone(&leaving)).map_err(failed)?;
    }
    let mut signals = Signals::new(ours).map_err(failed)?;
    let exit = exit.clone();
    let thread = std::thread::Builder::new().name("spanbridge-term".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            leaving.store(true, Ordering::Relaxed);
            exit.shut_down();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    thread.map(drop).map_err(failed)
}

/// Whether the process catches or ignores the signal, as far as safe code can tell.
#[cfg(unix)]
fn is_caught(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    status
        .lines()
        .filter_map(|line| line.strip_prefix("SigCgt:").or_else(|| line.strip_prefix("SigIgn:")))
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask >> (signal - 1) & 1 == 1)
}

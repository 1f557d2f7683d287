//! SIGTERM: let everything leave, then die of it as before.

use super::error::InitError;
use super::exit::Exit;

#[cfg(not(unix))]
pub(super) fn leave_on_term(_: &Exit) -> Result<(), InitError> {
    Ok(())
}

/// Lets everything leave on SIGTERM, restores the default action and raises the signal again. Where the program has an action of its
/// own, nothing is installed: it knows best when to end.
#[cfg(unix)]
pub(super) fn leave_on_term(exit: &Exit) -> Result<(), InitError> {
    use signal_hook::consts::SIGTERM;
    use signal_hook::iterator::Signals;
    if is_caught(SIGTERM) {
        return Ok(());
    }
    let failed = |source| InitError::Io {
        what: "listening to SIGTERM",
        source,
    };
    let mut signals = Signals::new([SIGTERM]).map_err(failed)?;
    let exit = exit.clone();
    let thread = std::thread::Builder::new().name("spanbridge-term".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            exit.shut_down();
            let _ = signal_hook::low_level::emulate_default_handler(SIGTERM);
        }
    });
    thread.map(drop).map_err(failed)
}

/// Whether the process catches or ignores the signal, as far as the system tells without unsafe code.
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

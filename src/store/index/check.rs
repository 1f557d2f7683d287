//! Checks the index with SQLite's integrity check. That reads all of it, so it can be ended early.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::connection::{FILE, code, failure, is_corrupt, open_beside};
use crate::store::error::Error;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Checked {
    /// Nothing.
    Whole,
    /// This; lists and documents may lack what the log contains.
    Damaged(String),
    /// It was ended before its end.
    Unfinished,
}

/// How long opening a store waits for the check: enough for about 200 MiB, 800,000 traces. The check of a larger index is done
/// beside the work.
const AT_OPENING: Duration = Duration::from_secs(1);

/// Says for the next start that the index is damaged.
fn mark(directory: &Path) -> PathBuf {
    directory.join("index.damaged")
}

/// Checks the index of a store that is opened. An earlier check may have found it damaged.
pub(in crate::store) fn check_at_opening(directory: &Path) -> Result<Checked, Error> {
    if !directory.join(FILE).exists() {
        return Ok(Checked::Whole);
    }
    if mark(directory).exists() {
        return Ok(Checked::Damaged("an earlier check found damage".to_owned()));
    }
    let begin = Instant::now();
    check(directory, &|| begin.elapsed() > AT_OPENING)
}

/// Checks the index of a store that is in use, until `ended` returns true. If it is damaged, the next start rebuilds it.
pub(in crate::store) fn check_in_use(directory: &Path, ended: &(dyn Fn() -> bool + Sync)) -> Result<Checked, Error> {
    let checked = check(directory, ended)?;
    if let Checked::Damaged(_) = checked {
        // Without it the next start may find the same by itself.
        let _ = File::create(mark(directory));
    }
    Ok(checked)
}

/// Forgets that the index was damaged: there is a new one.
pub(super) fn forget(directory: &Path) -> io::Result<()> {
    match std::fs::remove_file(mark(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn check(directory: &Path, ended: &(dyn Fn() -> bool + Sync)) -> Result<Checked, Error> {
    let outcome = open_beside(directory).and_then(|connection| quick_check(&connection, ended).map_err(failure("check")));
    match outcome {
        Err(Error::Index { source, .. }) if is_corrupt(&source) => Ok(Checked::Damaged(source.to_string())),
        Err(Error::Index { source, .. }) if code(&source) == Some(ErrorCode::OperationInterrupted) => Ok(Checked::Unfinished),
        outcome => outcome,
    }
}

fn quick_check(connection: &Connection, ended: &(dyn Fn() -> bool + Sync)) -> rusqlite::Result<Checked> {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let interrupt = connection.get_interrupt_handle();
    let (running, done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if ended() {
                    interrupt.interrupt();
                }
            }
        });
        let found: rusqlite::Result<String> = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        drop(running);
        Ok(match found? {
            whole if whole == "ok" => Checked::Whole,
            fault => Checked::Damaged(fault),
        })
    })
}

//! Checks the index with SQLite's integrity check, which reads all of it and can be interrupted.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::connection::{FILE, code, failure, is_corrupt, open_beside};
use crate::store::error::Error;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Checked {
    /// No fault was found.
    Whole,
    /// This fault was found; lists and documents may lack what the log contains.
    Damaged(String),
    /// The check was interrupted.
    Unfinished,
}

/// How long opening a store waits for the check: enough for about 200 MiB, 800,000 traces. A larger index is checked in the
/// background.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// The file that tells the next start that the index is damaged.
fn mark(directory: &Path) -> PathBuf {
    directory.join("index.damaged")
}

/// Checks the index when a store is opened. An earlier check may have found it damaged.
pub(in crate::store) fn check_at_opening(directory: &Path) -> Result<Checked, Error> {
    if !directory.join(FILE).exists() {
        return Ok(Checked::Whole);
    }
    if mark(directory).exists() {
        return Ok(Checked::Damaged("an earlier check found damage".to_owned()));
    }
    let begin = Instant::now();
    check(directory, &|| begin.elapsed() > OPENING_TIMEOUT)
}

/// Checks the index of an open store until `ended` returns true. If it is damaged, the next start rebuilds it.
pub(in crate::store) fn check_in_use(directory: &Path, ended: &(dyn Fn() -> bool + Sync)) -> Result<Checked, Error> {
    let checked = check(directory, ended)?;
    if let Checked::Damaged(_) = checked {
        // If this fails, the next start may still find the damage itself.
        let _ = File::create(mark(directory));
    }
    Ok(checked)
}

/// Removes the mark once there is a new index.
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

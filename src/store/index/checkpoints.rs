//! Checkpoints beside the thread that commits: what SQLite's journal has goes into the file. That syncs both, for longer than a commit
//! may take.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connection::open_beside;

/// After so many pages of the journal (of 4 KiB) a checkpoint begins beside the commits.
const PAGES: i32 = 4_000;
/// The journal begins anew only when a checkpoint finds that nothing was added meanwhile. Where commits never pause, one of them
/// makes the checkpoint after so many pages.
const MOST_PAGES: i32 = 16_000;

/// The thread that makes checkpoints, once there is one. Dropping this waits until it has ended; the connection that asks it is
/// closed before.
#[derive(Debug, Default)]
pub(super) struct Checkpoints(Arc<Mutex<Option<JoinHandle<()>>>>);

impl Checkpoints {
    /// Makes the checkpoints of what this connection commits.
    pub(super) fn of(connection: &mut Connection, directory: &Path) -> rusqlite::Result<Self> {
        let checkpoints = Self::default();
        let (thread, directory) = (Arc::clone(&checkpoints.0), directory.to_owned());
        let (mut last, mut asked) = (0, None);
        connection.wal_hook(Some(move |wal: &mut Wal, pages: i32| {
            if pages < last {
                last = 0;
            }
            if pages - last < PAGES {
                return Ok(());
            }
            last = pages;
            if asked.is_none()
                && let Some((sender, handle)) = start(directory.clone())
            {
                asked = Some(sender);
                *thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
            }
            match &asked {
                Some(asked) if pages < MOST_PAGES => {
                    // One that is asked for already finds these pages, too.
                    let _ = asked.try_send(());
                }
                // It fails while one is being made beside it, and the next commit tries again.
                _ => last = wal.checkpoint().map_or(0, |()| pages),
            }
            Ok(())
        }))?;
        Ok(checkpoints)
    }
}

/// Starts the thread; it ends when the sender is dropped.
fn start(directory: PathBuf) -> Option<(SyncSender<()>, JoinHandle<()>)> {
    let connection = open_beside(&directory).ok()?;
    let (sender, asked) = sync_channel(1);
    let make = move || {
        for () in asked {
            // If it fails, the journal grows until the next one.
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    };
    let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(make).ok()?;
    Some((sender, thread))
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

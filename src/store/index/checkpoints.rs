//! Checkpoints on a thread of their own: they copy SQLite's journal into the file and sync both, which takes longer than a
//! commit may.

use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connection::{MAX_JOURNAL_PAGES, open_beside};

/// Journal pages (of 4 KiB) after which a checkpoint starts on the thread.
const CHECKPOINT_PAGES: i32 = 4_000;

/// Makes the checkpoints of a connection, on a thread started at first need. Dropped before the connection, so that the
/// connection is the last one to close and leaves no journal behind.
#[derive(Debug, Default)]
pub(super) struct Checkpoints(Arc<Mutex<Option<Thread>>>);

/// The thread ends once `asked` is dropped.
#[derive(Debug)]
struct Thread {
    asked: SyncSender<()>,
    handle: JoinHandle<()>,
}

impl Checkpoints {
    pub(super) fn of(connection: &mut Connection, directory: &Path) -> rusqlite::Result<Self> {
        Self::after(connection, directory, CHECKPOINT_PAGES, MAX_JOURNAL_PAGES)
    }

    fn after(connection: &mut Connection, directory: &Path, begin: i32, most: i32) -> rusqlite::Result<Self> {
        let checkpoints = Self::default();
        let (thread, directory) = (Arc::clone(&checkpoints.0), directory.to_owned());
        // SQLite refuses a checkpoint while another is being made.
        let making = Arc::new(Mutex::new(()));
        let mut last = 0;
        connection.wal_hook(Some(move |wal: &mut Wal, pages: i32| {
            if pages < last {
                last = 0;
            }
            if pages - last < begin {
                return Ok(());
            }
            last = pages;
            let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
            if thread.is_none() {
                *thread = Thread::start(&directory, Arc::clone(&making));
            }
            if let Some(thread) = &*thread
                && pages < most
            {
                // A checkpoint already requested covers these pages, too.
                let _ = thread.asked.try_send(());
                return Ok(());
            }
            let _alone = making.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = wal.checkpoint();
            Ok(())
        }))?;
        Ok(checkpoints)
    }
}

impl Thread {
    fn start(directory: &Path, making: Arc<Mutex<()>>) -> Option<Self> {
        let connection = open_beside(directory).ok()?;
        let (asked, orders) = sync_channel(1);
        let make = move || {
            for () in orders {
                let _alone = making.lock().unwrap_or_else(PoisonError::into_inner);
                // If it fails, the journal grows until the next one.
                let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            }
        };
        let handle = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(make).ok()?;
        Some(Self { asked, handle })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Thread { asked, handle }) = thread {
            drop(asked);
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection;
    use super::*;

    const PAGE: u64 = 4_096;

    /// Commits that never pause, of 25 pages each: the journal stays short, the file gets what it has, and nothing is left of it
    /// when the connection is closed.
    #[test]
    fn the_journal_of_commits_that_never_pause_stays_short() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut connection = connection::open(directory.path()).expect("opens");
        let checkpoints = Checkpoints::after(&mut connection, directory.path(), 100, 400).expect("sets up");
        let size = |name: &str| std::fs::metadata(directory.path().join(name)).map_or(0, |file| file.len());
        connection.execute_batch("CREATE TABLE filled (bytes BLOB)").expect("makes");
        for _ in 0..200 {
            connection
                .execute("INSERT INTO filled VALUES (zeroblob(100000))", [])
                .expect("writes");
        }
        assert!(checkpoints.0.lock().expect("a lock").is_some(), "a thread makes them");
        let journal = size("index.sqlite-wal");
        assert!(journal < 600 * PAGE, "{journal} bytes of 5,000 pages");
        let file = size(connection::FILE);
        assert!(file > 4_000 * PAGE, "{file} bytes of 5,000 pages");
        drop(checkpoints);
        drop(connection);
        assert_eq!(size("index.sqlite-wal"), 0, "the last connection is closed");
    }
}

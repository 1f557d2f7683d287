//! Disk space reserved for work that must succeed on a full disk: opening with an index that is behind, deleting, retention.
//!
//! It is a file that is removed when the disk is full. Nothing is stored until it exists again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Error;

/// Name of the file in the data directory.
const FILE: &str = "reserve";
/// Its size: more than a commit adds to the index.
const MAX_RESERVE_BYTES: u64 = 2 << 20;
/// On a small file system, at most this fraction of it.
const MAX_SHARE: u64 = 16;
/// With less free space than this, a failure is taken for a lack of room.
const MIN_FREE_BYTES: u64 = 256 << 10;

#[derive(Debug)]
pub(super) struct Reserve {
    directory: PathBuf,
    is_there: AtomicBool,
}

impl Reserve {
    /// The reserve of the store in a directory.
    pub(super) fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            is_there: AtomicBool::new(directory.join(FILE).is_file()),
        }
    }

    /// Creates the file, unless it exists.
    pub(super) fn keep(&self) -> Result<(), Error> {
        if self.is_there.load(Ordering::Acquire) {
            return Ok(());
        }
        let path = self.directory.join(FILE);
        self.make(&path).map_err(|source| {
            let _ = fs::remove_file(&path);
            Error::Full {
                path: self.directory.clone(),
                source: Arc::new(source),
            }
        })?;
        self.is_there.store(true, Ordering::Release);
        Ok(())
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        let system = rustix::fs::statvfs(&self.directory)?;
        let bytes = MAX_RESERVE_BYTES.min(system.f_blocks.saturating_mul(system.f_frsize) / MAX_SHARE);
        // Require twice the space: the next request needs some, too.
        if system.f_bavail.saturating_mul(system.f_frsize) < bytes.saturating_mul(2) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut file = File::create(path)?;
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes.max(1)).is_ok() {
            return Ok(());
        }
        // This file system cannot allocate space in advance, so fill the file.
        io::copy(&mut io::Read::take(io::repeat(1), bytes), &mut file)?;
        file.flush()
    }

    /// Does work that needs room; if the disk is full, retries after releasing the reserve.
    pub(super) fn with_room<T>(&self, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        work().or_else(|error| match self.is_full(&error) && self.give() {
            true => work(),
            false => Err(error),
        })
    }

    /// Removes the file; `false`: there was none.
    pub(super) fn give(&self) -> bool {
        self.is_there.store(false, Ordering::Release);
        let path = self.directory.join(FILE);
        // Truncate first: a removed file keeps its space while another process has it open.
        let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0));
        cut.is_ok() && fs::remove_file(&path).is_ok()
    }

    /// Whether an error means a lack of room. SQLite reports other errors if it cannot map a file.
    fn is_full(&self, error: &Error) -> bool {
        match error {
            Error::Full { .. } | Error::IndexFull { .. } => true,
            Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => true,
            Error::Index { .. } | Error::Io { .. } => {
                let free = rustix::fs::statvfs(&self.directory).map(|system| system.f_bavail.saturating_mul(system.f_frsize));
                free.is_ok_and(|free| free < MIN_FREE_BYTES)
            }
            _ => false,
        }
    }
}

//! Room on the disk for what must work when nothing else has any: opening with an index that is behind, deleting, retention.
//!
//! It is a file that is removed when the disk is full. Nothing that comes is stored before it is there again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Error;

/// The file's name in the data directory.
const FILE: &str = "reserve";
/// Its bytes: what a commit adds to the index, and more.
const BYTES: u64 = 2 << 20;
/// On a small file system it takes this part at most.
const SHARE: u64 = 16;
/// With fewer bytes left, what fails fails for lack of room.
const FULL: u64 = 256 << 10;

/// The reserve of a store.
#[derive(Debug)]
pub(super) struct Reserve {
    directory: PathBuf,
    is_there: AtomicBool,
}

impl Reserve {
    /// Of the store in a directory.
    pub(super) fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            is_there: AtomicBool::new(directory.join(FILE).is_file()),
        }
    }

    /// Makes it, unless it is there.
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
        let bytes = BYTES.min(system.f_blocks.saturating_mul(system.f_frsize) / SHARE);
        // There must be more room than that: what is stored next would need it.
        if system.f_bavail.saturating_mul(system.f_frsize) < bytes.saturating_mul(2) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut file = File::create(path)?;
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes.max(1)).is_ok() {
            return Ok(());
        }
        // A file system that cannot promise room: it has what was written.
        io::copy(&mut io::Read::take(io::repeat(1), bytes), &mut file)?;
        file.flush()
    }

    /// Does what needs room; where there is none, once more with that of the reserve.
    pub(super) fn with_room<T>(&self, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        work().or_else(|error| match self.is_full(&error) && self.give() {
            true => work(),
            false => Err(error),
        })
    }

    /// Removes it; `false`: it was not there.
    pub(super) fn give(&self) -> bool {
        self.is_there.store(false, Ordering::Release);
        let path = self.directory.join(FILE);
        // A file that was removed while it is read keeps its room.
        let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0));
        cut.is_ok() && fs::remove_file(&path).is_ok()
    }

    /// Whether an error is for lack of room. SQLite has other words for it where it cannot map a file.
    fn is_full(&self, error: &Error) -> bool {
        match error {
            Error::Full { .. } | Error::IndexFull { .. } => true,
            Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => true,
            Error::Index { .. } | Error::Io { .. } => {
                let free = rustix::fs::statvfs(&self.directory).map(|system| system.f_bavail.saturating_mul(system.f_frsize));
                free.is_ok_and(|free| free < FULL)
            }
            _ => false,
        }
    }
}

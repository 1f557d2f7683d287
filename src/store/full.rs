//! Whether the disk is full for requests of a given size: small ones may still fit when large ones are refused.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::Error;

/// The smallest request refused for lack of room since one of at least its size was stored.
#[derive(Debug, Default)]
pub(super) struct FullDisk(Mutex<Option<u64>>);

/// Room a request needs besides its bytes: for the reserve, the index, and its journal.
const EXTRA: u64 = 4 << 20;
/// On a small file system, at most this fraction of it: the same as the reserve.
const MAX_SHARE: u64 = 8;

impl FullDisk {
    /// Records the outcome of a request; logs once that the disk is full, and once that it has room again.
    pub(super) fn note(&self, directory: &Path, bytes: u64, stored: Result<(), &Error>) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (stored, *refused) {
            (Ok(()), Some(smallest)) if bytes >= smallest => {
                *refused = None;
                tracing::info!(directory = %directory.display(), "the disk has room again, and requests are stored");
            }
            (Err(Error::Full { .. } | Error::IndexFull { .. }), known) => {
                *refused = Some(known.map_or(bytes, |smallest| smallest.min(bytes)));
                if known.is_none() {
                    let (free, capacity) = room(directory).unwrap_or_default();
                    tracing::error!(
                        directory = %directory.display(),
                        free_bytes = free,
                        capacity_bytes = capacity,
                        request_bytes = bytes,
                        "the disk is full: requests are refused until there is room; free some space, or set retain_bytes"
                    );
                }
            }
            _ => {}
        }
    }

    /// An error if requests like the smallest refused one would be refused now.
    pub(super) fn check(&self, directory: &Path) -> Result<(), Error> {
        let refused = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = refused else { return Ok(()) };
        match room(directory) {
            Some((free, capacity)) if free < bytes.saturating_mul(2).saturating_add(EXTRA.min(capacity / MAX_SHARE)) => Err(Error::Full {
                path: directory.to_owned(),
                source: Arc::new(std::io::ErrorKind::StorageFull.into()),
            }),
            _ => Ok(()),
        }
    }
}

/// Free bytes and capacity of the file system.
fn room(directory: &Path) -> Option<(u64, u64)> {
    let system = rustix::fs::statvfs(directory).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
    Some((bytes(system.f_bavail), bytes(system.f_blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_for_requests_of_the_size_that_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let error = Error::Full {
            path: path.to_owned(),
            source: Arc::new(std::io::ErrorKind::StorageFull.into()),
        };
        let disk = FullDisk::default();
        // No disk has so much room.
        let large = 1 << 60;
        disk.note(path, large, Err(&error));
        assert!(disk.check(path).is_err());
        disk.note(path, 100, Ok(()));
        assert!(disk.check(path).is_err(), "a small request says nothing about a large one");
        disk.note(path, large, Ok(()));
        assert!(disk.check(path).is_ok());
        // There is room for this one again.
        disk.note(path, 100, Err(&error));
        assert!(disk.check(path).is_ok());
        disk.note(path, 100, Err(&Error::Closed));
        assert!(disk.check(path).is_ok());
    }
}

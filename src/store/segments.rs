//! Reading messages of the log by their place, from any segment.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::Error;
use super::disk::Disk;
use super::log::{Position, Segment, file_name};

/// So many segments are kept open: of compressed ones also the table of their records, 16 bytes each.
const OPEN: usize = 64;

/// The segments of a log, opened when they are asked for.
#[derive(Debug)]
pub(super) struct Segments {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    open: RwLock<HashMap<u64, Arc<Segment>>>,
}

impl Segments {
    pub(super) fn new(directory: &Path, disk: Arc<dyn Disk>) -> Self {
        Self {
            directory: directory.to_owned(),
            disk,
            open: RwLock::default(),
        }
    }

    /// The message at a place; `None`: it is not what was written.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub(super) fn message(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        let segment = self.segment(at.segment)?;
        segment.message(at.offset).map_err(|source| self.failure(at.segment, source))
    }

    /// A segment, to read all of it.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub(super) fn segment(&self, number: u64) -> Result<Arc<Segment>, Error> {
        if let Some(segment) = self.open.read().unwrap_or_else(PoisonError::into_inner).get(&number) {
            return Ok(Arc::clone(segment));
        }
        // Opened under the lock: who replaces a file lets go of it afterwards, and nobody may come between.
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let file = self.disk.open(&file_name(number)).map_err(|source| self.failure(number, source))?;
        let segment = Arc::new(Segment::open(file, number)?.map_err(|source| self.failure(number, source))?);
        if open.len() >= OPEN {
            open.clear();
        }
        Ok(Arc::clone(open.entry(number).or_insert(segment)))
    }

    /// Lets go of a segment's file: it was replaced or removed.
    pub(super) fn forget(&self, number: u64) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    fn failure(&self, number: u64, source: io::Error) -> Error {
        Error::Io {
            doing: "read",
            path: self.directory.join(file_name(number)),
            source: Arc::new(source),
        }
    }
}

//! Reading messages of the log by position.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::chunk::{Listed, StoredEnvelope};
use super::disk::Disk;
use super::error::Error;
use super::log::{Head, Position, RecordKind, Segment, file_name};
use super::shared::Shared;

/// Maximum number of open segments. An open compressed segment has its table in memory, 16 bytes per record.
const MAX_OPEN_SEGMENTS: usize = 64;

/// The segments of a log, opened on demand.
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

    /// The message at a position; `None`: it is damaged.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub(super) fn message(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        let segment = self.segment(at.segment)?;
        segment.message(at.offset).map_err(|source| self.failure(at.segment, source))
    }

    /// The record at a position, unmodified; `None`: it is damaged.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub(super) fn record(&self, at: Position) -> Result<Option<(Head, Vec<u8>)>, Error> {
        let segment = self.segment(at.segment)?;
        segment.record(at.offset).map_err(|source| self.failure(at.segment, source))
    }

    /// Describes an envelope, for the chunks that refer to it.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub(super) fn envelope(&self, at: Position, session_keys: &[&str]) -> Result<Option<StoredEnvelope>, Error> {
        let record = self.record(at)?;
        Ok(record.and_then(|(head, bytes)| StoredEnvelope::of_record(head, &bytes, session_keys)))
    }

    /// Opens a segment.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub(super) fn segment(&self, number: u64) -> Result<Arc<Segment>, Error> {
        if let Some(segment) = self.open.read().unwrap_or_else(PoisonError::into_inner).get(&number) {
            return Ok(Arc::clone(segment));
        }
        // Opened under the lock: after a file is replaced, its old entry is removed, and must not be added again meanwhile.
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let file = self.disk.open(&file_name(number)).map_err(|source| self.failure(number, source))?;
        let segment = Arc::new(Segment::open(file, number)?.map_err(|source| self.failure(number, source))?);
        if open.len() >= MAX_OPEN_SEGMENTS {
            open.clear();
        }
        Ok(Arc::clone(open.entry(number).or_insert(segment)))
    }

    /// Closes the file of a segment that was replaced or removed.
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

/// Lists chunks from their records in the log. Envelopes shared by several chunks are read once.
pub(super) struct Listing<'a> {
    segments: &'a Segments,
    /// Attribute keys that name a session, best first.
    session_keys: Vec<&'a str>,
    envelopes: HashMap<Position, StoredEnvelope>,
}

/// Maximum number of cached envelopes.
const MAX_ENVELOPES: usize = 1 << 12;

impl<'a> Listing<'a> {
    pub(super) fn new(segments: &'a Segments, session_keys: &'a [String]) -> Self {
        Self {
            segments,
            session_keys: session_keys.iter().map(String::as_str).collect(),
            envelopes: HashMap::new(),
        }
    }

    /// The index entry of the chunk at a position; `None`: it is damaged.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub(super) fn of(&mut self, at: Position) -> Result<Option<Listed<'static>>, Error> {
        let Some((head, message)) = self.segments.record(at)? else {
            return Ok(None);
        };
        match head.kind() {
            Some(RecordKind::Chunk(kind)) => Ok(Listed::of_record(kind, &message, head.checksum, &self.session_keys).unwrap_or_default()),
            Some(RecordKind::Shared(kind)) => {
                if self.envelopes.len() >= MAX_ENVELOPES {
                    self.envelopes.clear();
                }
                let place = |distance| Position {
                    offset: at.offset.saturating_sub(distance),
                    ..at
                };
                let apart = Shared::read(&message);
                for (_, distance) in apart.iter().flat_map(Shared::envelopes) {
                    let at = place(distance);
                    if !self.envelopes.contains_key(&at) {
                        let envelope = self.segments.envelope(at, &self.session_keys)?;
                        self.envelopes.insert(at, envelope.unwrap_or_default());
                    }
                }
                let of = |distance| self.envelopes.get(&place(distance)).cloned().unwrap_or_default();
                Ok(Listed::of_shared(kind, &message, &self.session_keys, &of).unwrap_or_default())
            }
            _ => Ok(None),
        }
    }
}

//! How a store is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::disk::Disk;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; made if it is not there.
    pub directory: PathBuf,
    /// Attribute keys that name a session, best first.
    pub session_keys: Vec<String>,
    /// A segment that is larger than this is followed by the next.
    pub segment_size: u64,
    /// What is removed in time.
    pub retention: Retention,
    /// Level of zstd for sealed segments; `None`: they stay as they came.
    pub compression: Option<i32>,
    /// Instead of the directory itself, for the log's files.
    pub disk: Option<Arc<dyn Disk>>,
}

impl OpenOptions {
    /// The options of a directory, all others as they are by default.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            session_keys: Vec::new(),
            segment_size: 64 << 20,
            retention: Retention::default(),
            compression: Some(3),
            disk: None,
        }
    }
}

/// What is removed in time: whole segments of the log, the oldest first, never the one that is written to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Segments all of whose chunks came longer ago. A segment is sealed at an eighth of this age, so that nothing stays
    /// much longer.
    pub age: Option<Duration>,
    /// The oldest, while all segments together have more bytes. The index comes on top, a few hundred bytes a chunk.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Into so many segments is the age divided, that a segment does not keep what is old because of what is not.
    pub(super) const SEGMENTS: u32 = 8;
}

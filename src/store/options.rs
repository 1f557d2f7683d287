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
    /// The store is in this bucket, and not in the directory.
    pub bucket: Option<BucketOptions>,
}

/// When a request is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ack {
    /// Once the bucket has what it brought.
    #[default]
    Bucket,
    /// Once the own log on the disk has it, from where it goes to the bucket.
    Local,
}

/// A store in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketOptions {
    /// `s3://BUCKET/PREFIX`, or another of the forms that the page on buckets lists.
    pub url: String,
    /// The folder of the project below the prefix; empty: the prefix itself.
    pub folder: String,
    /// The database below the prefix that is written to. `None`: the one whose name is in the directory; a new name is made if
    /// there is none.
    pub writer: Option<String>,
    /// What came within this time is written as one object.
    pub flush_interval: Duration,
    /// How often to look for what other bridges have written.
    pub poll_interval: Duration,
    /// So many bytes wait for the bucket in memory at most.
    pub in_flight_bytes: usize,
    /// When a request is answered.
    pub ack: Ack,
    /// So many bytes wait for the bucket in the own log at most.
    pub spool_bytes: u64,
}

impl BucketOptions {
    /// The options of a URL, all others as they are by default.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            folder: String::new(),
            writer: None,
            flush_interval: Duration::from_millis(100),
            poll_interval: Duration::from_secs(1),
            in_flight_bytes: 64 << 20,
            ack: Ack::default(),
            spool_bytes: 10 << 30,
        }
    }

    /// The same of a folder below the prefix.
    #[must_use]
    pub fn with_folder(&self, folder: &Path) -> Self {
        Self {
            folder: folder.to_string_lossy().into_owned(),
            ..self.clone()
        }
    }
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
            bucket: None,
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

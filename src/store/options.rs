//! Options for opening a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::disk::Disk;

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; created if it does not exist.
    pub directory: PathBuf,
    /// Attribute keys that name a session, best first.
    pub session_keys: Vec<String>,
    /// Size in bytes from which a segment is sealed.
    pub segment_size: u64,
    /// What is removed over time.
    pub retention: Retention,
    /// zstd level for sealed segments; `None`: they are not compressed.
    pub compression: Option<i32>,
    /// Used for the log's files instead of the directory.
    pub disk: Option<Arc<dyn Disk>>,
    /// Keeps the store in this bucket instead of the directory.
    pub bucket: Option<BucketOptions>,
}

/// When a request is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ack {
    /// Once the bucket has its data.
    #[default]
    Bucket,
    /// Once its data is in the local log on disk, from which it is uploaded.
    Local,
}

/// Options of a store in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketOptions {
    /// `s3://BUCKET/PREFIX`, or another form listed in the documentation of buckets.
    pub url: String,
    /// The project's folder below the prefix; empty: the prefix itself.
    pub folder: String,
    /// Name of the database to write to. `None`: the name stored in the directory, generated if there is none.
    pub writer: Option<String>,
    /// Data that arrives within this time is written as one object.
    pub flush_interval: Duration,
    /// How often to look for data from other bridges.
    pub poll_interval: Duration,
    /// Maximum bytes waiting in memory for the bucket.
    pub in_flight_bytes: usize,
    /// When a request is acknowledged.
    pub ack: Ack,
    /// Maximum bytes waiting in the local log for the bucket.
    pub spool_bytes: u64,
}

impl BucketOptions {
    /// Default options for a URL.
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

    /// The same options for a folder below the prefix.
    #[must_use]
    pub fn with_folder(&self, folder: &Path) -> Self {
        Self {
            folder: folder.to_string_lossy().into_owned(),
            ..self.clone()
        }
    }
}

impl OpenOptions {
    /// Default options for a directory.
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

/// What is removed over time: whole segments of the log, oldest first, but never the active one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Remove segments once all their chunks are older than this. A segment is sealed at an eighth of this age, so that
    /// nothing stays much longer.
    pub age: Option<Duration>,
    /// Remove the oldest segments while all together have more bytes. The index takes a few hundred bytes more per chunk.
    pub bytes: Option<u64>,
}

impl Retention {
    /// The age is divided by this to get the time span of a segment, so that recent chunks keep old ones only briefly.
    pub(super) const SEGMENTS: u32 = 8;
}

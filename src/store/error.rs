//! Errors of a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::span::TraceId;

/// The engine's error.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// What can go wrong with a store. Cloned to every request that shares a failed commit.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process writes to this directory.
    #[error("{path} is in use by {holder}; stop it, or pass another --data-dir", path = path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The holder, from the lock file.
        holder: String,
    },
    /// The disk is full; nothing of the request is stored.
    #[error("the disk of {path} is full; free some space, then send it again", path = path.display())]
    Full {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// A sync failed: it is unknown what is on disk, so the log accepts no more writes until it is opened again.
    #[error("syncing the log to disk failed, so nothing more is written to it; check the disk, then restart the server")]
    Poisoned {
        /// The first failure.
        source: Arc<io::Error>,
    },
    /// A file or directory cannot be used.
    #[error("cannot {doing} {path}", path = path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The path it was for.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The index cannot be used; `spanbridge reindex` rebuilds it from the log.
    #[error("the index cannot be used ({doing}); if this persists, run: spanbridge reindex")]
    Index {
        /// The operation that failed.
        doing: &'static str,
        /// The engine's error.
        source: Cause,
    },
    /// The index needs more room than the disk has.
    #[error("the index has no room ({doing}) because the disk is full; free some space, then try again")]
    IndexFull {
        /// The operation that failed.
        doing: &'static str,
        /// The engine's error.
        source: Cause,
    },
    /// A part of the index is damaged; the next start rebuilds it.
    #[error("the index is damaged ({fault}): lists and documents may be incomplete; restart the server to rebuild the index from the log")]
    IndexDamaged {
        /// What is damaged.
        fault: String,
    },
    /// The index was written by another version of this program, and a process that only reads cannot rebuild it.
    #[error("the index has version {version}, and this program reads version {known}; start `spanbridge serve` to rebuild the index")]
    IndexVersion {
        /// Its version.
        version: i64,
        /// The version this program reads.
        known: i64,
    },
    /// The log was written by a later version of this program.
    #[error("segment {segment} has version {version}, and this program reads versions up to {known}; use a newer spanbridge")]
    Version {
        /// The segment.
        segment: u64,
        /// Its version.
        version: u8,
        /// The version this program reads.
        known: u8,
    },
    /// The record of deletions is lost: deleted data that is sent again would be stored.
    #[error(
        "{path} is damaged, and so is its copy, so the store is not opened: what was deleted on request could be stored again. Restore the \
         file from a backup; or, if that may happen, remove it and deletions.copy.json beside it",
        path = path.display()
    )]
    Deletions {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Arc<io::Error>,
    },
    /// The bucket cannot be read or written.
    #[error("cannot {doing} {place}: {source}; if this persists, check the bucket, the network and the credentials")]
    Bucket {
        /// The operation that failed.
        doing: &'static str,
        /// The place it was for.
        place: String,
        /// The engine's error.
        source: Cause,
    },
    /// Another process writes to the bucket as this writer.
    #[error(
        "another process writes to the bucket as {writer}, so this one stores nothing more; stop one of them, or give one another --writer"
    )]
    Fenced {
        /// The writer.
        writer: String,
    },
    /// Too many bytes wait for the bucket, or it did not answer in time. The request may still get stored.
    #[error("the bucket is slower than what comes; send it again later")]
    Slow,
    /// The URL names no bucket.
    #[error("{url} names no bucket: {fault}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong.
        fault: String,
    },
    /// This program was built without the feature this needs.
    #[error(
        "{url} takes the feature `{feature}`, which this program was built without; use a released program, or build it with --features {feature}"
    )]
    NotBuiltIn {
        /// The URL that was to be opened.
        url: String,
        /// The feature.
        feature: &'static str,
    },
    /// A store in a bucket cannot do this.
    #[error("a store in a bucket cannot do this yet: {what}")]
    NotInBucket {
        /// The unsupported operation.
        what: &'static str,
    },
    /// A chunk is larger than a record can be.
    #[error("a chunk of {bytes} bytes is too large for the log")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The trace changed meanwhile, and the append depended on its revision.
    #[error("the trace {trace_id} changed in the meantime")]
    Changed {
        /// The trace.
        trace_id: TraceId,
    },
    /// The trace was deleted on request, and accepts nothing more.
    #[error("the trace {trace_id} was deleted on request, so nothing is stored for it")]
    Deleted {
        /// The trace.
        trace_id: TraceId,
    },
    /// Data of a deleted trace is left outside the store.
    #[error("the trace is deleted from the store, but not from {what}: {source}; delete it again")]
    Beside {
        /// Where the data is left.
        what: &'static str,
        /// Why.
        source: Cause,
    },
    /// The client no longer waits for the answer.
    #[error("the read was cancelled")]
    Cancelled,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The store was opened for reading only.
    #[error("the store is open for reading only")]
    ReadOnly,
}

impl Error {
    /// Whether the same request may succeed later without intervention.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Full { .. } | Self::IndexFull { .. } | Self::Index { .. } | Self::Bucket { .. } | Self::Slow | Self::Closed
        )
    }
}

/// The system's error for a file or directory.
pub(super) fn of_io(doing: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let source = Arc::new(source);
    if full {
        Error::Full { path, source }
    } else {
        Error::Io { doing, path, source }
    }
}

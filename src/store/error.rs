//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::span::TraceId;

/// What an engine says, whichever it is.
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
        /// What the lock file says of the holder.
        holder: String,
    },
    /// The disk has no room; nothing of the request is stored.
    #[error("the disk of {path} is full; free some space, then send it again", path = path.display())]
    Full {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// A sync failed: what the system has really written is unknown, so the log takes no more until it is opened anew.
    #[error("the log takes no more after a failed sync; look at the disk, then start again")]
    Poisoned {
        /// The first failure.
        source: Arc<io::Error>,
    },
    /// A file or directory cannot be used.
    #[error("cannot {doing} {path}", path = path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// The index cannot be used; `spanbridge reindex` makes it anew from the log.
    #[error("the index cannot be used ({doing}); if it stays so, run: spanbridge reindex")]
    Index {
        /// What was tried.
        doing: &'static str,
        /// What the engine says.
        source: Cause,
    },
    /// A part of the index is damaged; the next start makes it anew.
    #[error(
        "the index is damaged ({fault}): lists and documents may lack what the log holds; start the bridge again, it makes the index anew"
    )]
    IndexDamaged {
        /// What is damaged.
        fault: String,
    },
    /// The index was written by another version of this program, and cannot be made anew by one that only reads.
    #[error("the index has version {version}, and this program reads version {known}: start `spanbridge serve`, it makes the index anew")]
    IndexVersion {
        /// Its version.
        version: i64,
        /// What this program reads.
        known: i64,
    },
    /// The log was written by a later version of this program.
    #[error("segment {segment} has version {version}; this program reads version {known}: use a newer one")]
    Version {
        /// Which segment.
        segment: u64,
        /// Its version.
        version: u8,
        /// What this program reads.
        known: u8,
    },
    /// A chunk is larger than a record can be.
    #[error("a chunk of {bytes} bytes is too large for the log")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Something came for a trace meanwhile, and an append depended on its revision.
    #[error("the trace {trace_id} has changed meanwhile")]
    Changed {
        /// The trace.
        trace_id: TraceId,
    },
    /// Whoever asked no longer waits for what was read.
    #[error("the reading was given up")]
    Cancelled,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The store was opened for reading only.
    #[error("the store is open for reading only")]
    ReadOnly,
}

impl Error {
    /// Whether the same request may succeed later without anyone's help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Index { .. } | Self::Closed)
    }
}

/// What the system says of a file or directory.
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

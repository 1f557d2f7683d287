//! Why a session file cannot be read at all.

use std::io;
use std::path::{Path, PathBuf};

/// Why a session file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// The file system reports an error.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It exceeds the maximum size of a file.
    #[error("{}: larger than {limit} bytes after decompression; raise --max-bytes to import it", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// Its session exceeds the memory limit.
    #[error("{}: reading its session would take more than {limit} bytes of memory; raise --max-memory to import it", path.display())]
    Dense {
        /// The file.
        path: PathBuf,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The database reports an error.
    #[error("{}: the database cannot be read", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The database's tables differ from those that its client creates.
    #[error("{}: its tables have computed columns, which those of OpenCode do not have", path.display())]
    Computed {
        /// The database.
        path: PathBuf,
    },
    /// A document that should be one JSON text is broken.
    #[error("{}: it is not JSON", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The position and the cause.
        source: serde_json::Error,
    },
}

impl SessionError {
    /// The file.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Dense { path, .. }
            | Self::Computed { path }
            | Self::Database { path, .. }
            | Self::Json { path, .. } => path,
        }
    }
}

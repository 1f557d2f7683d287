//! Why a session file cannot be read at all.

use std::io;
use std::path::{Path, PathBuf};

/// Why a session file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// The file system refuses it.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is longer than a file may be.
    #[error("{}: larger than {limit} bytes after decompression; raise --max-bytes to import it", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many bytes it may have.
        limit: usize,
    },
    /// Its session takes more memory than one may.
    #[error("{}: reading its session would take more than {limit} bytes of memory; raise --max-memory to import it", path.display())]
    Dense {
        /// The file.
        path: PathBuf,
        /// How many bytes it may take.
        limit: usize,
    },
    /// The database refuses it.
    #[error("{}: the database cannot be read", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The database's tables are not as their client makes them.
    #[error("{}: its tables have computed columns, which those of OpenCode do not have", path.display())]
    Computed {
        /// The database.
        path: PathBuf,
    },
    /// A document that is one JSON text is broken.
    #[error("{}: it is not JSON", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
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

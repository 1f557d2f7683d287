//! Why a session file cannot be read at all.

use std::io;
use std::path::PathBuf;

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
    /// The database refuses it.
    #[error("{}: the database cannot be read", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
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

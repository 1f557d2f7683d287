//! Errors of the search index.

use std::path::PathBuf;
use std::sync::Arc;

use crate::store;

/// Why the index cannot be read or written.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SearchError {
    /// Its folder cannot be used.
    #[error("cannot use the folder {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// One of its files cannot be read or written.
    #[error("cannot {doing} the index of search in {}", path.display())]
    Part {
        /// The attempted operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// The thread that feeds it cannot be started.
    #[error("cannot start the thread that feeds the index of search")]
    Thread {
        /// The cause.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The log cannot be read.
    #[error("cannot read what is to be in the index of search")]
    Store {
        /// The cause.
        #[source]
        source: store::Error,
    },
}

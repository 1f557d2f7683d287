//! What became of the database of a server that is gone.

/// A database that was to be merged into another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedWriter {
    /// Its name.
    pub(crate) name: String,
    /// What became of it.
    pub(crate) became: Became,
}

/// What became of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Became {
    /// All of it is in the other one, and was read back there.
    Merged {
        /// Chunks.
        chunks: u64,
        /// Bytes of their messages.
        bytes: u64,
        /// The SHA-256 of their keys, each of which has the digest of the message.
        digest: String,
    },
    /// It stays as it is, for this reason.
    Left(String),
}

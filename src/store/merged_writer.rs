//! The result of merging the database of a removed server.

/// A database that was to be merged into another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedWriter {
    /// Its name.
    pub(crate) name: String,
    /// What is in the other one now; or why it stays as it is.
    pub(crate) became: Result<Merged, String>,
}

/// What was read back from the database that has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Chunks.
    pub(crate) chunks: u64,
    /// Bytes of their messages.
    pub(crate) bytes: u64,
    /// The SHA-256 of their keys, each of which has the digest of the message.
    pub(crate) digest: String,
}

//! The result of merging the database of a server that is gone.

/// A database that was to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedWriter {
    /// Its name.
    pub(crate) name: String,
    /// What was copied; or why the database stays as it is.
    pub(crate) became: Result<Merged, String>,
}

/// Totals read back from the target database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Number of chunks.
    pub(crate) chunks: u64,
    /// Total size of their messages.
    pub(crate) bytes: u64,
    /// The SHA-256 of their keys, which contain the digests of the messages.
    pub(crate) digest: String,
}

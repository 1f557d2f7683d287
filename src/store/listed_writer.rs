//! A server that writes to a bucket.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedWriter {
    /// Its name.
    pub(crate) name: String,
    /// Arrival of the oldest chunk that is left, in nanoseconds since 1970; `None`: it has no chunks.
    pub(crate) first: Option<u64>,
    /// Arrival of the last chunk; `None`: there never was one.
    pub(crate) last: Option<u64>,
    /// Number of chunks ever received.
    pub(crate) chunks: u64,
    /// Total size of their messages, before compression.
    pub(crate) bytes: u64,
    /// When it was adopted because its server is gone; `None`: it was not, or a server uses it again.
    pub(crate) adopted: Option<u64>,
    /// Why it cannot be read, if so.
    pub(crate) unreadable: Option<String>,
}

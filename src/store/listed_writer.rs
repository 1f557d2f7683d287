//! A server that writes to a bucket, as listed in the bucket.

/// The database of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedWriter {
    /// Its name.
    pub(crate) name: String,
    /// When the first chunk came that is there, in nanoseconds since 1970; `None`: there is none.
    pub(crate) first: Option<u64>,
    /// When the last chunk came; `None`: none ever did.
    pub(crate) last: Option<u64>,
    /// Chunks that ever came.
    pub(crate) chunks: u64,
    /// Bytes of their messages, before compression.
    pub(crate) bytes: u64,
    /// When it was adopted, because its server is gone; `None`: it was not, or a server has it again.
    pub(crate) adopted: Option<u64>,
    /// Why it cannot be read, if so.
    pub(crate) unreadable: Option<String>,
}

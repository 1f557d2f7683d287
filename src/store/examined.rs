//! The result of examining whether a bucket can be used.

/// One thing that was tried with a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Examined {
    /// What was tried, and what came of it.
    pub what: String,
    /// Whether a server cannot work so.
    pub is_wrong: bool,
}

#[cfg(feature = "bucket")]
impl Examined {
    pub(super) fn ok(what: String) -> Self {
        Self { what, is_wrong: false }
    }

    pub(super) fn wrong(what: String) -> Self {
        Self { what, is_wrong: true }
    }
}

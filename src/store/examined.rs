//! The result of checking whether a bucket can be used.

/// One check of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Examined {
    /// What was tried, and the result.
    pub what: String,
    /// Whether a server cannot work this way.
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

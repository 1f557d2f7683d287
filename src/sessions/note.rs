//! What reading session files leaves to report.

/// One thing that the spans of a session do not have, or have approximately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The file, or the session.
    pub(crate) place: String,
    /// What, in words.
    pub(crate) detail: String,
}

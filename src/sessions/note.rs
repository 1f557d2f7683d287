//! Reports from reading session files.

/// A note about data that the spans of a session lack, or have only approximately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The file, or the session.
    pub(crate) place: String,
    /// A description.
    pub(crate) detail: String,
}

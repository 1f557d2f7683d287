//! Notes from reading a document.

use serde::Serialize;

/// A difference between a document and its spans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// The place in the document, as a JSON path; for [`NoteKind::Beside`] as a JSON pointer.
    pub path: String,
    /// How that part was treated.
    pub kind: NoteKind,
    /// Description for people.
    pub detail: String,
}

impl Note {
    pub(in crate::formats) fn new(path: impl Into<String>, kind: NoteKind, detail: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind,
            detail: detail.into(),
        }
    }
}

/// How a part of a document was treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoteKind {
    /// Read as another type, as the format's own reader does.
    Coerced,
    /// It does not say what it belongs to, so it was assigned by position.
    ByPosition,
    /// A time is missing; a substitute was set and marked.
    TimeUnknown,
    /// An id could not be used; another was derived.
    IdDerived,
    /// Another file was read as part of the document.
    Joined,
    /// A file that it refers to was not read.
    FileMissing,
    /// The key is repeated later in the object: the last value is read, this one is lost.
    KeyRepeated,
    /// An earlier document has the same id: where both have a value for one place, only one is kept.
    SameId,
    /// The form that reads it has no place for it, or does not know it.
    LeftOut,
    /// Spans cannot represent it: the root's `spanbridge.<format>` attribute keeps it, and no other format shows it.
    Beside,
}

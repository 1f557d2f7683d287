//! Notes from reading a document.

use serde::Serialize;

/// One thing that the spans do not represent as the document did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// The place in the document, as a JSON path; for [`NoteKind::Beside`] as a JSON pointer.
    pub path: String,
    /// What became of it.
    pub kind: NoteKind,
    /// In words.
    pub detail: String,
}

/// What became of a part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoteKind {
    /// It was read as another type, as the format's own reader does.
    Coerced,
    /// It names nothing, so it was attached by its position.
    ByPosition,
    /// A time is missing; a substitute was set and marked.
    TimeUnknown,
    /// An id could not be used and was derived.
    IdDerived,
    /// Another file was read as a part of it.
    Joined,
    /// A file that it names is not read.
    FileMissing,
    /// The same key comes again later in the object: the last value is read, this one is lost.
    KeyRepeated,
    /// Another document before it has the same id: where both have a value for one place, only one is kept.
    SameId,
    /// The form by which it is read has no place for it, or does not know it.
    LeftOut,
    /// Spans cannot represent it: it is in the root's `spanbridge.<format>` attribute and no other format shows it.
    Beside,
}

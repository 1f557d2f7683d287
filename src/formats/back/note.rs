//! What reading a document leaves to say.

use serde::Serialize;

/// One thing that the spans do not say as the document did.
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
    /// A time is missing; a stand-in was put there and marked.
    TimeUnknown,
    /// An id could not be used and was derived.
    IdDerived,
    /// Another file was read as a part of it.
    Joined,
    /// A file that it names is not read.
    FileMissing,
    /// The same key stands behind it in the same object: of the values the last one is read, this one is lost.
    KeyRepeated,
    /// Another document before it has the same id: what both say at one place is kept once.
    SameId,
    /// Spans have no words for it: it stands in the root's `spanbridge.<format>` attribute and no other format shows it.
    Beside,
}

//! How documents are laid out as text.

/// How several documents follow one another in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// One document as it is, any other number as an array; indented.
    OneOrArray,
    /// An array, indented.
    Array,
    /// One document a line.
    Lines,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    Compact,
    /// Indented by two spaces.
    Indented,
}

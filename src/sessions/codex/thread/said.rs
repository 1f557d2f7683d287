//! What the reader of a rollout knows of the last words, and of calls that nothing names.

use crate::span::UnixNanos;

/// What was said last.
#[derive(Default)]
pub(super) struct Words {
    /// Words that an event told: the item with the same words follows, if there is one.
    pub(super) held: Option<(String, Option<UnixNanos>)>,
    /// The last words, and whether an event alone told them.
    pub(super) last: Option<(String, bool)>,
    /// Whether any item had words.
    pub(super) has_items: bool,
    /// Calls without an id that have no result yet: the name and the id that they are given.
    pub(super) nameless: Vec<(String, String)>,
    /// How many of them there were.
    pub(super) count: usize,
}

//! State of the rollout reader: the last text, and calls without an id.

use crate::span::UnixNanos;

/// The last texts and the calls without an id.
#[derive(Default)]
pub(super) struct Words {
    /// A text recorded by an event, in case an item with the same text follows.
    pub(super) held: Option<(String, Option<UnixNanos>)>,
    /// The last text, and whether only an event recorded it.
    pub(super) last: Option<(String, bool)>,
    /// Whether any item had text.
    pub(super) has_items: bool,
    /// Calls recorded without an id that have no result yet: their names and generated ids.
    pub(super) nameless: Vec<(String, String)>,
    /// The number of calls without an id.
    pub(super) count: usize,
}

//! The undecoded value at a rule's place.

use super::plan::Member;
use crate::span::{AnyValue, Attributes, UnixNanos};

/// A span event or a log record.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventView<'a> {
    pub(super) name: &'a str,
    pub(super) time: UnixNanos,
    pub(super) attributes: &'a Attributes,
    pub(super) body: Option<&'a AnyValue>,
}

/// The value at a rule's place.
#[derive(Debug, Clone)]
pub(super) enum Raw<'a> {
    /// A value with its key.
    Value(&'a str, &'a AnyValue),
    /// Text declared as JSON.
    JsonText(&'a str),
    /// The keys below a prefix.
    Group(Group<'a>),
    /// The span's name.
    Name(&'a str),
    /// An event.
    Event(EventView<'a>),
    /// Events, one message each.
    Events(Vec<EventView<'a>>),
    /// The body of a log record, and the span's own messages in flattened keys.
    Body(&'a AnyValue, Vec<(&'a str, &'a AnyValue)>),
}

/// Attributes below a prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) attributes: &'a Attributes,
    pub(super) members: &'a [Member],
}

impl<'a> Group<'a> {
    /// The keys without the prefix, and the values.
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = (&'a str, &'a AnyValue)> {
        self.placed().map(|(_, key, value)| (key, value))
    }

    /// Like [`Self::iter`], with each attribute's place.
    pub(super) fn placed(self) -> impl DoubleEndedIterator<Item = (usize, &'a str, &'a AnyValue)> {
        self.members.iter().filter_map(move |member| {
            let (key, value) = self.attributes.0.get(member.place)?;
            Some((member.place, key.get(member.prefix..)?, value))
        })
    }
}

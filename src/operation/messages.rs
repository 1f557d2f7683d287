//! The input messages of an operation.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::message::Message;

/// Messages in order. The model calls of one conversation share them: each refers to a range, so that a long conversation is in
/// memory once, regardless of the number of calls.
#[derive(Clone, Default)]
pub struct Messages {
    list: Arc<SharedMessages>,
    /// The number of messages omitted at the beginning of the list.
    first: usize,
    /// The end of the input in the list.
    end: usize,
    /// How many of these are also input or output of another operation.
    continued: usize,
}

/// A whole conversation.
#[derive(Debug, Default)]
pub(crate) struct SharedMessages {
    messages: Vec<Message>,
    /// Approximate size in bytes of the messages up to and including each one; empty if the list is not shared.
    sizes: Vec<usize>,
    /// Identifies a shared list in its trace; `None` if the list is not shared.
    number: Option<usize>,
}

impl SharedMessages {
    /// An empty list for several operations to share. `number`: unique in the trace.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number: Some(number),
            ..Self::default()
        }
    }

    /// Appends a message; returns its approximate size in bytes.
    pub(crate) fn push(&mut self, message: Message) -> usize {
        let size = message.size();
        self.sizes.push(self.size(self.messages.len()).saturating_add(size));
        self.messages.push(message);
        size
    }

    /// Frees unused capacity.
    pub(crate) fn end(&mut self) {
        self.messages.shrink_to_fit();
        self.sizes.shrink_to_fit();
    }

    /// Approximate size in bytes of the first `count` messages.
    pub(crate) fn size(&self, count: usize) -> usize {
        let last = count.checked_sub(1);
        last.and_then(|last| self.sizes.get(last)).copied().unwrap_or_default()
    }

    /// All messages.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }
}

impl Messages {
    /// The beginning of a shared list. `continued`: how many of these messages belong to another operation.
    pub(crate) fn shared(list: &Arc<SharedMessages>, count: usize, continued: usize) -> Self {
        let end = count.min(list.messages.len());
        Self {
            list: Arc::clone(list),
            first: 0,
            end,
            continued: continued.min(end),
        }
    }

    /// Identifies the shared list of these messages in the trace; `None` if they are not shared.
    pub(crate) fn shared_number(&self) -> Option<usize> {
        self.list.number
    }

    /// The number and the whole of a shared list, and the range of these messages in it; `None` if they are not shared.
    pub(crate) fn in_shared(&self) -> Option<(usize, &[Message], Range<usize>)> {
        let number = self.list.number?;
        Some((number, &self.list.messages, self.first..self.end))
    }

    /// How many messages belong to another operation.
    pub(crate) fn continued(&self) -> usize {
        self.continued
    }

    /// Drops the messages that belong to another operation.
    pub(crate) fn leave_out_continued(&mut self) {
        self.first += std::mem::take(&mut self.continued);
    }

    /// The messages that belong to no other operation.
    pub(crate) fn own(&self) -> &[Message] {
        self.get(self.continued..).unwrap_or_default()
    }

    /// Approximate size in bytes of the messages that belong to other operations.
    pub(crate) fn continued_size(&self) -> usize {
        self.list.size(self.continued)
    }

    /// The messages as a separate list.
    #[must_use]
    pub fn into_vec(self) -> Vec<Message> {
        match Arc::try_unwrap(self.list) {
            Ok(mut list) => {
                list.messages.truncate(self.end);
                list.messages.drain(..self.first.min(self.end));
                list.messages
            }
            Err(list) => list.messages.get(self.first..self.end).unwrap_or_default().to_vec(),
        }
    }
}

impl Messages {
    /// The messages, mutably. Other operations keep theirs.
    pub fn to_mut(&mut self) -> &mut [Message] {
        if Arc::get_mut(&mut self.list).is_none_or(|list| list.number.is_some()) {
            *self = std::mem::take(self).into_vec().into();
        }
        let list = Arc::get_mut(&mut self.list).map(|list| list.messages.as_mut_slice());
        list.unwrap_or_default()
    }
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        self.list.messages.get(self.first..self.end).unwrap_or_default()
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self {
            first: 0,
            end: messages.len(),
            continued: 0,
            list: Arc::new(SharedMessages {
                messages,
                ..SharedMessages::default()
            }),
        }
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Vec::from_iter(messages).into()
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        let is_same_part = (self.first, self.end) == (other.first, other.end);
        is_same_part && Arc::ptr_eq(&self.list, &other.list) || **self == **other
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Role;

    #[test]
    fn calls_share_a_conversation() {
        let said = |number| Message::text(Role::User, format!("m{number}"));
        let mut list = SharedMessages::new(0);
        for number in 0..4 {
            list.push(said(number));
        }
        let list = Arc::new(list);
        let (first, second) = (Messages::shared(&list, 1, 0), Messages::shared(&list, 3, 2));
        assert_eq!((first.len(), second.len(), second.own().len()), (1, 3, 1));
        assert!(first.continued_size() == 0 && second.continued_size() > 0);
        assert_eq!(second, Messages::from((0..3).map(said).collect::<Vec<_>>()));
        assert_ne!(first, second);
        assert_eq!(second.into_vec().len(), 3);
    }
}

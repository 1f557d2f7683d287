//! Conversations that grow while a document is read. A model call was given the beginning of one, so each message is held once.

use std::collections::BTreeMap;

use crate::operation::Message;

/// The conversations of a document.
#[derive(Debug, Default)]
pub(in crate::formats) struct Histories(BTreeMap<HistoryId, Vec<Message>>);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::formats) struct HistoryId(usize);

/// How much of a conversation a model call was given.
#[derive(Debug, Clone, Copy)]
pub(in crate::formats) struct Heard {
    history: HistoryId,
    messages: usize,
}

impl Histories {
    pub(super) fn begin(&mut self) -> HistoryId {
        let id = HistoryId(self.0.len());
        self.0.insert(id, Vec::new());
        id
    }

    /// What was said so far. Messages that a model call was given stay as they are.
    pub(super) fn of(&mut self, id: HistoryId) -> &mut Vec<Message> {
        self.0.entry(id).or_default()
    }

    /// All that was said so far.
    pub(super) fn heard(&mut self, history: HistoryId) -> Heard {
        let messages = self.of(history).len();
        Heard { history, messages }
    }

    /// The messages that a model call was given. The last call of a conversation comes first: what stands after it goes.
    pub(super) fn lend(&mut self, heard: Heard) -> Vec<Message> {
        let mut messages = std::mem::take(self.of(heard.history));
        debug_assert!(messages.len() >= heard.messages, "calls are written from the last to the first");
        messages.truncate(heard.messages);
        messages
    }

    /// Takes them back for the call before.
    pub(super) fn take_back(&mut self, heard: Heard, messages: Vec<Message>) {
        *self.of(heard.history) = messages;
    }
}

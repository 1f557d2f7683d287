//! Conversations that grow while a file or a document is read. The input of a model call is a prefix of one, so each message is stored
//! once, and also once in the spans: a call continues the earlier call with the most input.

use std::collections::BTreeMap;

use crate::dialect::Continuation;
use crate::operation::Message;
use crate::span::SpanId;

/// Conversations by id.
#[derive(Debug, Default)]
pub(crate) struct Histories(BTreeMap<HistoryId, History>);

/// The id of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryId(usize);

/// The prefix of a conversation that is the input of a model call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryPrefix {
    history: HistoryId,
    messages: usize,
}

/// A conversation, and how much of it is in the spans written so far.
#[derive(Debug, Default)]
struct History {
    messages: Vec<Message>,
    written: Option<LongestInput>,
}

/// The model call with the most input from a conversation.
#[derive(Debug, Clone, Copy)]
struct LongestInput {
    by: SpanId,
    given: usize,
    /// Including its answer, if that is the next message.
    with_answer: usize,
}

/// The part of a model call's input that its span contains.
#[derive(Debug, PartialEq)]
pub(crate) struct SpanInput {
    pub(crate) continues: Option<Continuation>,
    /// The new messages.
    pub(crate) messages: Vec<Message>,
}

impl Histories {
    pub(crate) fn begin(&mut self) -> HistoryId {
        let id = HistoryId(self.0.len());
        self.0.insert(id, History::default());
        id
    }

    /// The messages so far. Those in a model call's input must not change.
    pub(crate) fn of(&mut self, id: HistoryId) -> &mut Vec<Message> {
        &mut self.0.entry(id).or_default().messages
    }

    /// The whole conversation so far.
    pub(crate) fn prefix(&mut self, history: HistoryId) -> HistoryPrefix {
        let messages = self.of(history).len();
        HistoryPrefix { history, messages }
    }

    /// Takes the input for the next span. Spans must be written in the order of the trace, so that each call continues an earlier one.
    pub(crate) fn give(&mut self, heard: HistoryPrefix, call: SpanId, answer: Option<&Message>) -> SpanInput {
        let History { messages, written } = self.0.entry(heard.history).or_default();
        let kept = written.map_or(0, |written| written.with_answer.min(heard.messages));
        let continues = written.filter(|_| kept > 0).map(|written| Continuation {
            messages: Some(kept as u64),
            ..Continuation::of(written.by)
        });
        if written.is_none_or(|written| heard.messages > written.given || heard.messages == written.with_answer) {
            let is_answer = answer.is_some() && messages.get(heard.messages) == answer;
            *written = Some(LongestInput {
                by: call,
                given: heard.messages,
                with_answer: heard.messages + usize::from(is_answer),
            });
        }
        // Moved out, since no other span contains them.
        let new = messages.get_mut(kept..heard.messages).unwrap_or_default();
        SpanInput {
            continues,
            messages: new.iter_mut().map(std::mem::take).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Role;

    /// Whatever the input of calls and their order, all spans together contain each message once.
    #[test]
    fn each_message_is_told_once() {
        let said = |number| Message::text(Role::User, format!("m{number}"));
        let mut histories = Histories::default();
        let history = histories.begin();
        histories.of(history).extend((0..6).map(said));
        let mut give = |messages: usize, number: u8, answer: Option<Message>| {
            let id = SpanId::from_bytes(&[number; 8]).expect("not zero");
            let given = histories.give(HistoryPrefix { history, messages }, id, answer.as_ref());
            let continues = given.continues.map(|it| (it.span_id.bytes()[0], it.messages.expect("a number")));
            (continues, given.messages.len())
        };
        assert_eq!(give(1, 1, Some(said(1))), (None, 1));
        assert_eq!(give(3, 2, Some(said(9))), (Some((1, 2)), 1), "the answer is in the conversation");
        assert_eq!(give(6, 3, None), (Some((2, 3)), 3), "another answer is not");
        assert_eq!(give(2, 4, None), (Some((3, 2)), 0), "a call that was given less");
        assert_eq!(give(6, 5, None), (Some((3, 6)), 0), "the same once more");
    }
}

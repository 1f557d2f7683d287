//! Conversations that grow while a file or a document is read. The input of a model call is the beginning of one, so each message is stored
//! once, and once in the spans: a call continues the earlier call with the most input.

use std::collections::BTreeMap;

use crate::dialect::Continuation;
use crate::operation::Message;
use crate::span::SpanId;

/// Conversations.
#[derive(Debug, Default)]
pub(crate) struct Histories(BTreeMap<HistoryId, History>);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryId(usize);

/// How much of a conversation a model call was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    history: HistoryId,
    messages: usize,
}

/// A conversation, and how much of it the spans written so far contain.
#[derive(Debug, Default)]
struct History {
    messages: Vec<Message>,
    written: Option<Written>,
}

/// The model call that was given most of a conversation.
#[derive(Debug, Clone, Copy)]
struct Written {
    by: SpanId,
    given: usize,
    /// Including its answer, if that is the next message.
    with_answer: usize,
}

/// The part of a model call's input that its span contains.
#[derive(Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) continues: Option<Continuation>,
    /// What is new.
    pub(crate) messages: Vec<Message>,
}

impl Histories {
    pub(crate) fn begin(&mut self) -> HistoryId {
        let id = HistoryId(self.0.len());
        self.0.insert(id, History::default());
        id
    }

    /// The messages so far. Those that a model call was given do not change.
    pub(crate) fn of(&mut self, id: HistoryId) -> &mut Vec<Message> {
        &mut self.0.entry(id).or_default().messages
    }

    /// The whole conversation so far.
    pub(crate) fn heard(&mut self, history: HistoryId) -> Heard {
        let messages = self.of(history).len();
        Heard { history, messages }
    }

    /// The input for the next span. Spans must come in the order of the trace, so that a call continues one before it.
    pub(crate) fn give(&mut self, heard: Heard, call: SpanId, answer: Option<&Message>) -> Given {
        let History { messages, written } = self.0.entry(heard.history).or_default();
        let kept = written.map_or(0, |written| written.with_answer.min(heard.messages));
        let continues = written.filter(|_| kept > 0).map(|written| Continuation {
            messages: Some(kept as u64),
            ..Continuation::of(written.by)
        });
        if written.is_none_or(|written| heard.messages > written.given || heard.messages == written.with_answer) {
            let is_answer = answer.is_some() && messages.get(heard.messages) == answer;
            *written = Some(Written {
                by: call,
                given: heard.messages,
                with_answer: heard.messages + usize::from(is_answer),
            });
        }
        // No other span contains them.
        let new = messages.get_mut(kept..heard.messages).unwrap_or_default();
        Given {
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
            let given = histories.give(Heard { history, messages }, id, answer.as_ref());
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

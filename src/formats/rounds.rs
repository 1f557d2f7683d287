//! A conversation by rounds: what a person said, and what was done until the person spoke again.

use super::{exchange, io};
use crate::operation::{Message, Role};
use crate::transcript::{Exchange, ExchangeKind};

/// A person's words and what followed them.
#[derive(Debug, Default)]
pub(in crate::formats) struct Round<'a, 'p> {
    /// The messages of the person, or of who stands in for one; empty where an agent began without any.
    pub(in crate::formats) asked: Vec<(&'a Message, &'p Exchange<'a>)>,
    /// What was said and done then.
    pub(in crate::formats) done: Vec<&'p Exchange<'a>>,
}

/// The rounds of a conversation, and what stands outside them.
#[derive(Debug, Default)]
pub(in crate::formats) struct Rounds<'a, 'p> {
    /// What the system said, wherever it stood.
    pub(in crate::formats) prompts: Vec<(&'a Message, &'p Exchange<'a>)>,
    pub(in crate::formats) list: Vec<Round<'a, 'p>>,
    /// Results that came as messages and answer no call.
    pub(in crate::formats) strays: Vec<&'p Exchange<'a>>,
}

impl<'a, 'p> Rounds<'a, 'p> {
    /// The rounds of these pieces. Messages without words are left out.
    pub(in crate::formats) fn of(pieces: &'p [Exchange<'a>]) -> Self {
        let mut out = Self::default();
        for piece in pieces {
            let message = match piece.kind {
                ExchangeKind::Message(message) if message.role != Role::Assistant => message,
                _ => {
                    out.last(false).done.push(piece);
                    continue;
                }
            };
            match message.role {
                _ if exchange::content(message).0.trim().is_empty() => {}
                Role::System | Role::Developer => out.prompts.push((message, piece)),
                Role::Tool => out.strays.push(piece),
                _ => out.last(true).asked.push((message, piece)),
            }
        }
        out
    }

    /// The round that goes on; a new one if a person speaks after something was done.
    fn last(&mut self, speaks: bool) -> &mut Round<'a, 'p> {
        let goes_on = self.list.pop_if(|last| !speaks || last.done.is_empty()).unwrap_or_default();
        self.list.push(goes_on);
        let last = self.list.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "it was pushed above")]
        &mut self.list[last]
    }
}

impl Round<'_, '_> {
    /// Whether all of it came as the input of a model call: it was said before the run.
    pub(in crate::formats) fn is_old(&self) -> bool {
        !self.done.is_empty() && self.done.iter().all(|piece| matches!(piece.kind, ExchangeKind::Message(_)))
    }

    /// The place in `done` of the answer: the last words, if beside them stand no calls but those that the provider answered.
    pub(in crate::formats) fn answer(&self) -> Option<usize> {
        let (at, piece, words) = self.done.iter().enumerate().rev().find_map(|(at, piece)| {
            let words = said(piece).is_some_and(|message| !exchange::content(message).0.trim().is_empty());
            (words || !piece.calls.is_empty()).then_some((at, piece, words))
        })?;
        let is_answered = piece
            .calls
            .iter()
            .all(|asked| asked.call.is_some_and(|call| call.answered.is_some()));
        (words && is_answered).then_some(at)
    }
}

/// What the assistant says in a piece.
pub(in crate::formats) fn said<'a>(piece: &Exchange<'a>) -> Option<&'a Message> {
    match piece.kind {
        ExchangeKind::Turn(message) | ExchangeKind::Message(message) => Some(message),
        _ => None,
    }
}

/// The words of a run's question or answer, where no message holds them.
pub(in crate::formats) fn outside(said: Option<&crate::run::Utterance>) -> Option<crate::formats::json::Text<'_>> {
    let said = said.filter(|said| !said.in_conversation)?;
    Some(io::text(&said.content)).filter(|words| !words.trim().is_empty())
}

//! A conversation in rounds: a person's message, and everything until the next one.

use crate::operation::{Message, Role};
use crate::transcript::{Exchange, ExchangeKind};
use crate::transcript::{chat, content};

/// A person's messages and what followed them.
#[derive(Debug, Default)]
pub(crate) struct Round<'a, 'p> {
    /// The user messages; empty if an agent began without any.
    pub(crate) asked: Vec<(&'a Message, &'p Exchange<'a>)>,
    /// The exchanges that followed.
    pub(crate) done: Vec<&'p Exchange<'a>>,
}

/// The rounds of a conversation, and exchanges outside them.
#[derive(Debug, Default)]
pub(crate) struct Rounds<'a, 'p> {
    /// The system prompts, regardless of position.
    pub(crate) prompts: Vec<(&'a Message, &'p Exchange<'a>)>,
    pub(crate) list: Vec<Round<'a, 'p>>,
    /// Results recorded as messages that answer no call.
    pub(crate) strays: Vec<&'p Exchange<'a>>,
}

impl<'a, 'p> Rounds<'a, 'p> {
    /// The rounds of these exchanges, without messages that have no content.
    pub(crate) fn of(exchanges: &'p [Exchange<'a>]) -> Self {
        let mut out = Self::default();
        for exchange in exchanges {
            let message = match exchange.kind {
                ExchangeKind::Message(message) if message.role != Role::Assistant => message,
                _ => {
                    out.last(false).done.push(exchange);
                    continue;
                }
            };
            match message.role {
                _ if !has_content(message) => {}
                Role::System | Role::Developer => out.prompts.push((message, exchange)),
                Role::Tool => out.strays.push(exchange),
                _ => out.last(true).asked.push((message, exchange)),
            }
        }
        out
    }

    /// The current round; a new one if a person speaks after something was done.
    fn last(&mut self, speaks: bool) -> &mut Round<'a, 'p> {
        let goes_on = self.list.pop_if(|last| !speaks || last.done.is_empty()).unwrap_or_default();
        self.list.push(goes_on);
        let last = self.list.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "it was pushed above")]
        &mut self.list[last]
    }
}

impl Round<'_, '_> {
    /// Whether all of it was input of a model call, that is, from before the run.
    pub(crate) fn is_old(&self) -> bool {
        !self.done.is_empty() && self.done.iter().all(|exchange| matches!(exchange.kind, ExchangeKind::Message(_)))
    }

    /// The index of the answer in `done`: the last message with content, if its only calls are those that the provider answered. A
    /// tool that no model asked for may follow, as frameworks run some after the answer.
    pub(crate) fn answer(&self) -> Option<usize> {
        let (at, exchange, words) = self.done.iter().enumerate().rev().find_map(|(at, exchange)| {
            let words = assistant_message(exchange).is_some_and(has_content);
            let asks = exchange.calls.iter().any(|asked| asked.call.is_some());
            (words || asks).then_some((at, exchange, words))
        })?;
        let is_answered = exchange
            .calls
            .iter()
            .all(|asked| asked.call.is_some_and(|call| call.answered.is_some()));
        (words && is_answered).then_some(at)
    }
}

/// Whether a message has text or media.
fn has_content(message: &Message) -> bool {
    message.has_media() || !chat::content(message).0.trim().is_empty()
}

/// The assistant's message of an exchange.
pub(crate) fn assistant_message<'a>(exchange: &Exchange<'a>) -> Option<&'a Message> {
    match exchange.kind {
        ExchangeKind::Turn(message) | ExchangeKind::Message(message) => Some(message),
        _ => None,
    }
}

/// The text of a run's question or answer, if no message contains it.
pub(crate) fn words_outside(utterance: Option<&crate::run::Utterance>) -> Option<crate::document::json::Text<'_>> {
    let utterance = utterance.filter(|utterance| !utterance.in_conversation)?;
    Some(content::text(&utterance.content)).filter(|words| !words.trim().is_empty())
}

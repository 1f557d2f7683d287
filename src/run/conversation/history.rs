//! What model calls were given and said, as messages of their conversation. Calls that share their input share this too, so a
//! conversation of any length is walked through once.

use std::borrow::Cow;

use super::draft::Conversation;
use super::walk::UnansweredCalls;
use crate::hash::HashSet;
use crate::run::id::{MessageId, NodeId};

/// The messages that a call was given and what it said.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The first of those that a shared input became.
    pub(super) shared: Option<SharedBeginning>,
    /// All others.
    pub(super) own: Vec<MessageId>,
}

/// How much of what a shared input became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedBeginning {
    pub(super) input: usize,
    pub(super) messages: usize,
}

/// An input that several calls share, as far as it was walked through, and where the walk is.
#[derive(Debug, Default)]
pub(super) struct SharedInput {
    /// The messages of the conversation that it became.
    pub(super) messages: Vec<MessageId>,
    /// The same, to be looked up.
    pub(super) known: HashSet<MessageId>,
    /// For each message of the input how many messages of the conversation it became with those before it.
    pub(super) ends: Vec<usize>,
    /// The message whose results may follow.
    pub(super) turn: Option<MessageId>,
    /// Calls of that message that the walk has not seen answered.
    pub(super) unanswered: UnansweredCalls,
    /// The last call that was given all that was walked through.
    pub(super) last: Option<NodeId>,
}

impl SharedInput {
    /// How many messages of the conversation the first messages of the input became.
    pub(super) fn became(&self, messages: usize) -> usize {
        let last = messages.checked_sub(1);
        last.and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }
}

impl Conversation {
    /// A history in one list. Of what a shared input became, no more than the last `most` messages.
    pub(super) fn listed<'a>(&'a self, history: &'a History, most: usize) -> Cow<'a, [MessageId]> {
        let shared = history.shared.and_then(|shared| {
            let input = self.shared_inputs.get(&shared.input)?;
            input.messages.get(shared.messages.saturating_sub(most)..shared.messages)
        });
        match shared {
            None | Some([]) => Cow::Borrowed(&history.own),
            Some(shared) => Cow::Owned([shared, &history.own].concat()),
        }
    }

    /// Whether a message is in a history.
    pub(super) fn is_in(&self, id: MessageId, history: &History) -> bool {
        let of_shared = |input: usize| self.shared_inputs.get(&input).is_some_and(|input| input.known.contains(&id));
        history.own.contains(&id) || history.shared.is_some_and(|shared| of_shared(shared.input))
    }

    /// The last message of a history.
    pub(super) fn last_of(&self, history: &History) -> Option<MessageId> {
        let shared = || {
            let shared = history.shared?;
            self.shared_inputs
                .get(&shared.input)?
                .messages
                .get(shared.messages.checked_sub(1)?)
                .copied()
        };
        history.own.last().copied().or_else(shared)
    }
}

//! Input and output of model calls, as messages of their conversation. Calls that share their input share this too, so that a
//! conversation of any length is walked through once.

use super::unanswered::UnansweredCalls;
use crate::hash::HashSet;
use crate::run::id::{MessageId, NodeId};

/// The messages of a call's input and its output.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The beginning, if it is part of a shared input.
    pub(super) shared: Option<SharedBeginning>,
    /// All others.
    pub(super) own: Vec<MessageId>,
}

/// A number of first messages of a shared input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedBeginning {
    pub(super) input: usize,
    pub(super) messages: usize,
}

/// An input that several calls share, as far as it was walked through, with the position of the walk.
#[derive(Debug, Default)]
pub(super) struct SharedInput {
    /// The messages of the conversation that it became.
    pub(super) messages: Vec<MessageId>,
    /// The same, for lookup.
    pub(super) known: HashSet<MessageId>,
    /// For each message of the input, how many messages of the conversation it and those before it became.
    pub(super) ends: Vec<usize>,
    /// The message whose results may follow.
    pub(super) turn: Option<MessageId>,
    /// Calls of that message that the walk has not seen answered.
    pub(super) unanswered: UnansweredCalls,
    /// Every call before this place has its result in the input.
    pub(super) passed: usize,
    /// The last call that received everything walked through.
    pub(super) last: Option<NodeId>,
}

impl SharedInput {
    /// How many messages of the conversation the first messages of the input became.
    pub(super) fn became(&self, messages: usize) -> usize {
        let last = messages.checked_sub(1);
        last.and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }
}

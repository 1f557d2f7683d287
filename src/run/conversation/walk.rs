//! The position of a model input in a conversation.

use super::draft::Origin;
use super::history::SharedInput;
use super::unanswered::UnansweredCalls;
use crate::hash::HashSet;
use crate::run::id::MessageId;

/// A walk through one model input.
#[derive(Default)]
pub(super) struct Walk {
    /// What the call was given so far, without system prompts.
    pub(super) history: Vec<MessageId>,
    /// The same to be looked up, where the walk goes on through an input that several calls share.
    pub(super) known: Option<HashSet<MessageId>>,
    /// The message whose results may follow.
    pub(super) turn: Option<MessageId>,
    /// Calls of that message that this walk has not seen answered.
    pub(super) unanswered: UnansweredCalls,
    /// Every call before this place has its result in this input: results without ids come in the calls' order.
    pub(super) passed: usize,
    /// Whether the next new message begins a branch: the history was edited or cut.
    pub(super) branches: bool,
    /// The message that this walk gave to the model call before.
    pub(super) given: Option<MessageId>,
    /// Answers of earlier calls of which this input contains more than their own spans do.
    pub(super) completed: Vec<MessageId>,
}

impl Walk {
    /// A turn, or a further piece of it.
    pub(super) fn goes_to(&mut self, turn: MessageId) {
        if self.turn != Some(turn) {
            self.unanswered = UnansweredCalls::default();
            self.turn = Some(turn);
        }
        if self.history.last() != Some(&turn) {
            self.push(turn);
        }
    }

    /// Goes on where the walk through a shared input is.
    pub(super) fn enter(&mut self, input: &mut SharedInput) {
        self.history = std::mem::take(&mut input.messages);
        self.known = Some(std::mem::take(&mut input.known));
        self.turn = input.turn;
        self.passed = input.passed;
        self.unanswered = std::mem::take(&mut input.unanswered);
    }

    /// Leaves a shared input where the walk is. `ends`: how long the history was after each message.
    pub(super) fn leave(&mut self, input: &mut SharedInput, ends: impl Iterator<Item = usize>) {
        input.messages = std::mem::take(&mut self.history);
        input.known = self.known.take().unwrap_or_default();
        input.turn = self.turn.take();
        input.passed = self.passed;
        input.unanswered = std::mem::take(&mut self.unanswered);
        input.ends.extend(ends);
    }

    /// A walk that left a shared input.
    pub(super) fn rest(self) -> Self {
        Self {
            completed: self.completed,
            passed: self.passed,
            ..Self::default()
        }
    }

    /// The next message of the history.
    pub(super) fn push(&mut self, id: MessageId) {
        self.history.push(id);
        if let Some(known) = &mut self.known {
            known.insert(id);
        }
    }

    /// Whether the history has this message.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.known
            .as_ref()
            .map_or_else(|| self.history.contains(&id), |known| known.contains(&id))
    }

    /// Where a new message of the input comes from: only the first one begins a branch.
    pub(super) fn next_origin(&mut self) -> Origin {
        if std::mem::take(&mut self.branches) {
            Origin::Branch
        } else {
            Origin::Input
        }
    }
}

//! The position of a model input in a conversation.

use super::draft::Origin;
use super::history::SharedInput;
use super::unanswered::UnansweredCalls;
use crate::hash::HashSet;
use crate::run::id::MessageId;

/// A walk through one model input.
#[derive(Default)]
pub(super) struct Walk {
    /// The input so far, without system prompts.
    pub(super) history: Vec<MessageId>,
    /// The same for lookup, if the walk is through an input that several calls share.
    pub(super) known: Option<HashSet<MessageId>>,
    /// The message whose results may follow.
    pub(super) turn: Option<MessageId>,
    /// Calls of that message that this walk has not seen answered.
    pub(super) unanswered: UnansweredCalls,
    /// Every call before this place has its result in this input: results without ids come in the calls' order.
    pub(super) passed: usize,
    /// Whether the next new message begins a branch: the history was edited or cut.
    pub(super) branches: bool,
    /// The message that this walk added to the previous model call.
    pub(super) given: Option<MessageId>,
    /// Answers of earlier calls that this input contains more of than their own spans do.
    pub(super) completed: Vec<MessageId>,
}

impl Walk {
    /// Moves to a turn, or to another piece of the current one.
    pub(super) fn goes_to(&mut self, turn: MessageId) {
        if self.turn != Some(turn) {
            self.unanswered = UnansweredCalls::default();
            self.turn = Some(turn);
        }
        if self.history.last() != Some(&turn) {
            self.push(turn);
        }
    }

    /// Resumes the walk through a shared input.
    pub(super) fn enter(&mut self, input: &mut SharedInput) {
        self.history = std::mem::take(&mut input.messages);
        self.known = Some(std::mem::take(&mut input.known));
        self.turn = input.turn;
        self.passed = input.passed;
        self.unanswered = std::mem::take(&mut input.unanswered);
    }

    /// Suspends the walk through a shared input. `ends`: the length of the history after each message.
    pub(super) fn leave(&mut self, input: &mut SharedInput, ends: impl Iterator<Item = usize>) {
        input.messages = std::mem::take(&mut self.history);
        input.known = self.known.take().unwrap_or_default();
        input.turn = self.turn.take();
        input.passed = self.passed;
        input.unanswered = std::mem::take(&mut self.unanswered);
        input.ends.extend(ends);
    }

    /// The walk through the rest, after a shared input.
    pub(super) fn rest(self) -> Self {
        Self {
            completed: self.completed,
            passed: self.passed,
            ..Self::default()
        }
    }

    /// Appends a message to the history.
    pub(super) fn push(&mut self, id: MessageId) {
        self.history.push(id);
        if let Some(known) = &mut self.known {
            known.insert(id);
        }
    }

    /// Whether the history contains this message.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.known
            .as_ref()
            .map_or_else(|| self.history.contains(&id), |known| known.contains(&id))
    }

    /// The origin of the next new message: only the first one begins a branch.
    pub(super) fn next_origin(&mut self) -> Origin {
        if std::mem::take(&mut self.branches) {
            Origin::Branch
        } else {
            Origin::Input
        }
    }
}

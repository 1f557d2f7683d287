//! Where in a conversation a model input is.

use super::draft::{DraftCall, Origin};
use super::history::SharedInput;
use crate::hash::{HashMap, HashSet};
use crate::run::id::{CallId, IdVec, MessageId};
use crate::run::names;

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
    /// Whether the next new message begins a branch: the history was edited or cut.
    pub(super) branches: bool,
    /// The message that this walk gave to the model call before.
    pub(super) given: Option<MessageId>,
    /// Answers of earlier calls of which this input tells more than their own spans do.
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
        self.unanswered = std::mem::take(&mut input.unanswered);
    }

    /// Leaves a shared input where the walk is. `ends`: how long the history was after each message.
    pub(super) fn leave(&mut self, input: &mut SharedInput, ends: impl Iterator<Item = usize>) {
        input.messages = std::mem::take(&mut self.history);
        input.known = self.known.take().unwrap_or_default();
        input.turn = self.turn.take();
        input.unanswered = std::mem::take(&mut self.unanswered);
        input.ends.extend(ends);
    }

    /// A walk that left a shared input.
    pub(super) fn rest(self) -> Self {
        Self {
            completed: self.completed,
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

/// The calls of one message, to be found by their results.
#[derive(Debug, Default)]
pub(super) struct UnansweredCalls {
    turn: Option<MessageId>,
    calls: Vec<CallId>,
    by_id: HashMap<String, CallId>,
    /// The places of calls, by the names of their tools.
    by_name: HashMap<String, Vec<usize>>,
    /// The same, by what names are without a server's or class's name, too.
    by_end: HashMap<String, Vec<usize>>,
    answered: HashSet<CallId>,
    /// Every call before this place is answered.
    first: usize,
}

impl UnansweredCalls {
    /// Goes to the message with these calls, if it is not there.
    pub(super) fn enter(&mut self, turn: Option<MessageId>, calls: &[CallId], all: &IdVec<CallId, DraftCall>) {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
        }
        let known = self.calls.len();
        for (place, at) in calls.iter().enumerate().skip(known) {
            let Some(draft) = all.get(*at) else { continue };
            if let Some(id) = &draft.call.id {
                let _ = self.by_id.entry(id.as_str().to_owned()).or_insert(*at);
            }
            let name = &draft.call.name;
            self.by_name.entry(name.clone()).or_default().push(place);
            for end in std::iter::once(name.as_str()).chain(names::ends(name)) {
                self.by_end.entry(end.to_owned()).or_default().push(place);
            }
        }
        self.calls.extend(calls.iter().skip(known));
    }

    /// The first call with this id.
    pub(super) fn with_id(&self, id: &str) -> Option<CallId> {
        self.by_id.get(id).copied()
    }

    /// The first open call of a tool with this name.
    pub(super) fn named(&mut self, name: &str) -> Option<CallId> {
        let (calls, answered) = (&self.calls, &self.answered);
        let mut open = |places: &mut Vec<usize>| {
            let is_open = |place: &usize| calls.get(*place).is_some_and(|at| !answered.contains(at));
            let first = places.iter().position(is_open)?;
            let _ = places.drain(..first);
            places.first().copied()
        };
        let mut first = self.by_end.get_mut(name).and_then(&mut open);
        for end in names::ends(name) {
            let named = self.by_name.get_mut(end).and_then(&mut open);
            first = [first, named].into_iter().flatten().min();
        }
        self.calls.get(first?).copied()
    }

    /// The first open call.
    pub(super) fn first(&mut self) -> Option<CallId> {
        while let Some(at) = self.calls.get(self.first) {
            if !self.answered.contains(at) {
                return Some(*at);
            }
            self.first += 1;
        }
        None
    }

    /// A result of this call was seen.
    pub(super) fn answered(&mut self, call: CallId) {
        let _ = self.answered.insert(call);
    }

    /// Whether a result was seen.
    pub(super) fn any_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The call goes by this id, too.
    pub(super) fn learn(&mut self, id: &str, call: CallId) {
        let _ = self.by_id.entry(id.to_owned()).or_insert(call);
    }
}

//! Where in a conversation a model input is.

use super::Asked;
use crate::hash::{HashMap, HashSet};
use crate::run::names;

/// A walk through one model input.
#[derive(Default)]
pub(super) struct Walk {
    /// What the call was given so far, without system prompts.
    pub(super) line: Vec<usize>,
    /// The saying whose tool answers may follow.
    pub(super) turn: Option<usize>,
    /// Calls of that saying that this walk has not seen answered.
    pub(super) open: OpenCalls,
    /// Whether the next new message begins a branch: the history was edited or cut.
    pub(super) branches: bool,
    /// The saying that this walk gave to the model call before.
    pub(super) given: Option<usize>,
}

impl Walk {
    /// A turn, or a further piece of it.
    pub(super) fn goes_to(&mut self, turn: usize) {
        if self.turn != Some(turn) {
            self.open = OpenCalls::default();
            self.turn = Some(turn);
        }
        if self.line.last() != Some(&turn) {
            self.line.push(turn);
        }
    }

    /// Whether a new message begins a branch: only the first one does.
    pub(super) fn branches(&mut self) -> bool {
        std::mem::take(&mut self.branches)
    }
}

/// The calls of one saying, to be found by their answers.
#[derive(Default)]
pub(super) struct OpenCalls {
    turn: Option<usize>,
    calls: Vec<usize>,
    by_id: HashMap<String, usize>,
    /// The places of calls, by the names of their tools.
    by_name: HashMap<String, Vec<usize>>,
    /// The same, by what names are without a server's or class's name, too.
    by_end: HashMap<String, Vec<usize>>,
    answered: HashSet<usize>,
    /// No call before this place is open.
    first: usize,
}

impl OpenCalls {
    /// Goes to the saying with these calls, if it is not there.
    pub(super) fn enter(&mut self, turn: Option<usize>, calls: &[usize], all: &[Asked]) {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
        }
        let known = self.calls.len();
        for (place, at) in calls.iter().enumerate().skip(known) {
            let Some(asked) = all.get(*at) else { continue };
            if let Some(id) = &asked.call.id {
                let _ = self.by_id.entry(id.clone()).or_insert(*at);
            }
            let name = &asked.call.name;
            self.by_name.entry(name.clone()).or_default().push(place);
            for end in std::iter::once(name.as_str()).chain(names::ends(name)) {
                self.by_end.entry(end.to_owned()).or_default().push(place);
            }
        }
        self.calls.extend(calls.iter().skip(known));
    }

    /// The first call with this id.
    pub(super) fn with_id(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The first open call of a tool with this name.
    pub(super) fn named(&mut self, name: &str) -> Option<usize> {
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
    pub(super) fn first(&mut self) -> Option<usize> {
        while let Some(at) = self.calls.get(self.first) {
            if !self.answered.contains(at) {
                return Some(*at);
            }
            self.first += 1;
        }
        None
    }

    /// An answer to this call was seen.
    pub(super) fn answered(&mut self, call: usize) {
        let _ = self.answered.insert(call);
    }

    /// Whether an answer was seen.
    pub(super) fn any_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The call goes by this id, too.
    pub(super) fn learn(&mut self, id: &str, call: usize) {
        let _ = self.by_id.entry(id.to_owned()).or_insert(call);
    }
}

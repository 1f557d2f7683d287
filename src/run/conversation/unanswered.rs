//! The calls of the message that a walk through a model input is at.

use crate::hash::{HashMap, HashSet};
use crate::operation::ToolCall;
use crate::run::id::{CallId, MessageId};
use crate::run::names;

/// The calls of one message, to be found by their results.
#[derive(Debug, Default)]
pub(super) struct UnansweredCalls {
    turn: Option<MessageId>,
    calls: Vec<CallId>,
    /// The calls of each id: a model may give one to several.
    by_id: HashMap<String, Vec<CallId>>,
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
    pub(super) fn enter<'c>(&mut self, turn: Option<MessageId>, calls: impl Iterator<Item = (CallId, &'c ToolCall, Option<&'c str>)>) {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
        }
        let known = self.calls.len();
        for (place, (at, call, shared_id)) in calls.enumerate().skip(known) {
            self.calls.push(at);
            for id in call.id.as_deref().into_iter().chain(shared_id) {
                self.by_id.entry(id.to_owned()).or_default().push(at);
            }
            let name = &call.name;
            self.by_name.entry(name.clone()).or_default().push(place);
            for end in std::iter::once(name.as_str()).chain(names::ends(name)) {
                self.by_end.entry(end.to_owned()).or_default().push(place);
            }
        }
    }

    /// The first open call with this id, else the first.
    pub(super) fn with_id(&self, id: &str) -> Option<CallId> {
        let calls = self.by_id.get(id)?;
        let open = calls.iter().find(|call| !self.answered.contains(*call));
        open.or(calls.first()).copied()
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
        let known = self.by_id.entry(id.to_owned()).or_default();
        if known.is_empty() {
            known.push(call);
        }
    }
}

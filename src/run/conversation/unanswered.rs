//! The calls of the current message of a walk through a model input.

use crate::hash::{HashMap, HashSet};
use crate::operation::ToolCall;
use crate::run::id::{CallId, MessageId};
use crate::run::names;

/// Calls in order, with the answered ones at the beginning skipped: each is skipped once.
#[derive(Debug)]
struct InOrder<T> {
    list: Vec<T>,
    /// All before this index are answered.
    passed: usize,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            passed: 0,
        }
    }
}

impl<T: Copy> InOrder<T> {
    /// The first open one.
    fn first(&mut self, is_open: impl Fn(&T) -> bool) -> Option<T> {
        while let Some(item) = self.list.get(self.passed) {
            if is_open(item) {
                return Some(*item);
            }
            self.passed += 1;
        }
        None
    }
}

/// The calls of one message, to be found by their results.
#[derive(Debug, Default)]
pub(super) struct UnansweredCalls {
    turn: Option<MessageId>,
    calls: InOrder<CallId>,
    /// The calls of each id: a model may give one to several.
    by_id: HashMap<String, InOrder<CallId>>,
    /// Indexes of calls, by tool name.
    by_name: HashMap<String, InOrder<usize>>,
    /// The same, by tool names without a server's or class's name.
    by_end: HashMap<String, InOrder<usize>>,
    answered: HashSet<CallId>,
}

impl UnansweredCalls {
    /// Moves to the message with these calls, unless it is the current one.
    pub(super) fn enter<'c>(&mut self, turn: Option<MessageId>, calls: impl Iterator<Item = (CallId, &'c ToolCall, Option<&'c str>)>) {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
        }
        let known = self.calls.list.len();
        for (place, (at, call, shared_id)) in calls.enumerate().skip(known) {
            self.calls.list.push(at);
            for id in call.id.as_deref().into_iter().chain(shared_id) {
                self.by_id.entry(id.to_owned()).or_default().list.push(at);
            }
            let name = &call.name;
            self.by_name.entry(name.clone()).or_default().list.push(place);
            for end in std::iter::once(name.as_str()).chain(names::ends(name)) {
                self.by_end.entry(end.to_owned()).or_default().list.push(place);
            }
        }
    }

    /// The first open call with this id, else the first.
    pub(super) fn with_id(&mut self, id: &str) -> Option<CallId> {
        let (calls, answered) = (self.by_id.get_mut(id)?, &self.answered);
        let open = calls.first(|call| !answered.contains(call));
        open.or_else(|| calls.list.first().copied())
    }

    /// The first open call of a tool with this name.
    pub(super) fn named(&mut self, name: &str) -> Option<CallId> {
        let (calls, answered) = (&self.calls.list, &self.answered);
        let mut open = |places: &mut InOrder<usize>| places.first(|place| calls.get(*place).is_some_and(|at| !answered.contains(at)));
        let mut first = self.by_end.get_mut(name).and_then(&mut open);
        for end in names::ends(name) {
            let named = self.by_name.get_mut(end).and_then(&mut open);
            first = [first, named].into_iter().flatten().min();
        }
        calls.get(first?).copied()
    }

    /// The first open call.
    pub(super) fn first(&mut self) -> Option<CallId> {
        let answered = &self.answered;
        self.calls.first(|call| !answered.contains(call))
    }

    /// Records that a result of this call was seen.
    pub(super) fn answered(&mut self, call: CallId) {
        let _ = self.answered.insert(call);
    }

    /// Whether any result was seen.
    pub(super) fn any_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Adds another id of a call.
    pub(super) fn learn(&mut self, id: &str, call: CallId) {
        let known = &mut self.by_id.entry(id.to_owned()).or_default().list;
        if known.is_empty() {
            known.push(call);
        }
    }
}

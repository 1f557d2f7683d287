//! Calls by which models handed the run over, so that a handoff shown by such a call is not presented again.

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{EntryKind, Run, ScopeId, Step, handoff_target, plain_name};
use crate::span::UnixNanos;

/// A call by which a model handed the run over.
#[derive(Debug, Clone, Copy)]
struct Handoff<'a> {
    at: UnixNanos,
    /// The index of its turn in the conversation.
    entry: usize,
    /// Its index in the turn.
    place: usize,
    call_id: &'a str,
}

/// The calls by which models handed a run over, by scope and target agent (`None`: any).
#[derive(Debug, Default)]
pub(super) struct HandoffCalls<'a>(HashMap<(ScopeId, Option<String>), Rising<'a>>);

impl<'a> HandoffCalls<'a> {
    /// The calls of a run; empty if no operation is a handoff.
    pub(super) fn of(run: &'a Run) -> Self {
        let mut calls = Self::default();
        if run.steps.iter().any(|step| step.operation.kind == Kind::Handoff) {
            for (id, scope) in run.scopes.enumerate() {
                for (entry_at, entry) in scope.conversation.iter().enumerate() {
                    let EntryKind::Turn(message) = &entry.kind else { continue };
                    for (place, call) in message.tool_calls.iter().enumerate() {
                        let (Some(call_id), Some(target)) = (&call.id, handoff_target(&call.name)) else {
                            continue;
                        };
                        let call = Handoff {
                            at: entry.at,
                            entry: entry_at,
                            place,
                            call_id,
                        };
                        for target in [None, Some(target)] {
                            calls.0.entry((id, target)).or_default().add(call);
                        }
                    }
                }
            }
        }
        calls
    }

    /// The id of the latest call of the same scope that handed the run over before this handoff, to the same agent if both
    /// name it.
    pub(super) fn before(&self, handoff: &Step) -> Option<&'a str> {
        let operation = &handoff.operation;
        let target = operation.state.as_ref().and_then(|state| state.new_value.as_ref()?.as_str());
        let target = target.or(operation.agent.name.as_deref()).map(plain_name);
        // The agent may be named by the call's arguments instead of the tool's name.
        let unnamed = target.is_some().then(|| Some(String::new()));
        let targets = std::iter::once(target).chain(unnamed);
        let calls = targets.filter_map(|target| self.0.get(&(handoff.scope, target))?.before(handoff.end_or_start()));
        calls
            .max_by_key(|call| (call.entry, std::cmp::Reverse(call.place)))
            .map(|call| call.call_id)
    }
}

/// Calls with increasing times: adding an earlier call removes those that are not earlier, since it supersedes them.
#[derive(Debug, Default)]
struct Rising<'a>(Vec<Handoff<'a>>);

impl<'a> Rising<'a> {
    fn add(&mut self, call: Handoff<'a>) {
        // Only the first call of a turn counts.
        if self.0.last().is_some_and(|last| last.entry == call.entry) {
            return;
        }
        while self.0.last().is_some_and(|last| last.at >= call.at) {
            let _ = self.0.pop();
        }
        self.0.push(call);
    }

    fn before(&self, at: UnixNanos) -> Option<Handoff<'a>> {
        let until = self.0.partition_point(|call| call.at <= at);
        self.0.get(until.checked_sub(1)?).copied()
    }
}

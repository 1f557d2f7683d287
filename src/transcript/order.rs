//! Orders steps by time for formats that require times to never decrease.

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{IdVec, Observed, Run, StepId};
use crate::span::UnixNanos;

/// A step in a list whose times never decrease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    /// Index into the run's steps.
    pub(crate) step: StepId,
    /// The recorded start, or that of the step's cause if the clocks put the effect first.
    pub(crate) started_at: UnixNanos,
    /// Whether that differs from the recorded start.
    pub(crate) moved: bool,
}

/// All steps by start; equal starts keep the causal order. No step precedes its parent, and no tool the model call that asked
/// for it, as far as the document shows them: a step that it does not show moves nothing. The last turn of a model call with
/// several turns in one span follows the tools that ran in between, which are inside it.
pub(crate) fn by_start(run: &Run, is_shown: impl Fn(StepId) -> bool) -> Vec<Placed> {
    let waited = waited(run);
    let mut bounds: IdVec<StepId, Option<UnixNanos>> = IdVec::with_capacity(run.steps.len());
    let mut placed: Vec<Placed> = Vec::with_capacity(run.steps.len());
    for (id, step) in run.steps.enumerate() {
        // Only causes earlier in the causal order count: their times are known, and cycles cannot arise.
        let causes = [step.parent, step.dispatched_by, step.called_by];
        let latest = causes.into_iter().flatten().filter_map(|cause| bounds.known(cause)).max();
        let bound = latest.map_or(step.started_at, |cause| cause.max(step.started_at));
        bounds.push(if is_shown(id) { Some(bound) } else { latest });
        let started_at = waited.get(&id).map_or(bound, |end| bound.max(*end));
        placed.push(Placed {
            step: id,
            started_at,
            moved: started_at != step.started_at,
        });
    }
    placed.sort_by_key(|place| place.started_at);
    placed
}

/// For each step, the nearest one around it that a document contains. `by_callers`: an agent's caller counts as around it.
pub(crate) fn around(run: &Run, kept: &IdVec<StepId, bool>, by_callers: bool) -> IdVec<StepId, Option<StepId>> {
    let mut nearest: IdVec<StepId, Option<StepId>> = IdVec::with_capacity(run.steps.len());
    for (at, step) in run.steps.enumerate() {
        let is_kept = |above: &StepId| kept.is_set(*above);
        let above = step.parent.filter(|above| *above < at);
        let caller = step.called_by.filter(|caller| by_callers && *caller < at && is_kept(caller));
        let further = || nearest.known(above?);
        let around = above.filter(is_kept).or(caller).or_else(further);
        nearest.push(around);
    }
    nearest
}

/// The times until which model calls waited for tools inside them that an earlier turn of the same span asked for.
fn waited(run: &Run) -> HashMap<StepId, UnixNanos> {
    let mut until: HashMap<StepId, UnixNanos> = HashMap::default();
    for tool in run.steps.iter().filter(|step| step.operation.kind == Kind::Tool) {
        let (Some(around), Some(asked)) = (tool.parent, tool.dispatched_by) else {
            continue;
        };
        let is_call = run.steps.get(around).is_some_and(|step| step.operation.kind == Kind::Llm);
        let is_turn = run.steps.get(asked).is_some_and(|step| step.observed == Observed::Messages);
        if is_call && is_turn && asked != around {
            let end = until.entry(around).or_default();
            *end = (*end).max(tool.ended_at.unwrap_or(tool.started_at));
        }
    }
    until
}

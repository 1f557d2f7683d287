//! Steps by time where a format demands that times never decrease.

use crate::run::{IdVec, Run, StepId};
use crate::span::UnixNanos;

/// A step's place in a list whose times never decrease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    /// Index into the run's steps.
    pub(crate) step: StepId,
    /// The recorded start, or that of what caused the step if by the clocks the effect came first.
    pub(crate) started_at: UnixNanos,
    /// Whether that differs from the recorded start.
    pub(crate) moved: bool,
}

/// All steps by start; equal starts keep the causal order. Nothing comes before its parent, nor a tool before the
/// model call that asked for it, as far as the document shows them: a step that it does not show moves nothing.
pub(crate) fn by_start(run: &Run, is_shown: impl Fn(StepId) -> bool) -> Vec<Placed> {
    let mut bounds: IdVec<StepId, Option<UnixNanos>> = IdVec::with_capacity(run.steps.len());
    let mut placed: Vec<Placed> = Vec::with_capacity(run.steps.len());
    for (id, step) in run.steps.enumerate() {
        // Only causes that are earlier in the causal order count: their times are known, and no circle can arise.
        let causes = [step.parent, step.dispatched_by, step.called_by];
        let latest = causes.into_iter().flatten().filter_map(|cause| bounds.known(cause)).max();
        let started_at = latest.map_or(step.started_at, |cause| cause.max(step.started_at));
        bounds.push(if is_shown(id) { Some(started_at) } else { latest });
        placed.push(Placed {
            step: id,
            started_at,
            moved: started_at != step.started_at,
        });
    }
    placed.sort_by_key(|place| place.started_at);
    placed
}

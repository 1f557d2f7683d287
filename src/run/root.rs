//! Stage "the root": takes the steps and the scopes and returns the step that represents the whole run.
//!
//! This runs after the scopes are complete, since agents that only check others are skipped, and before facts of the
//! whole run are derived: its failure, question, answer and agent.

use super::id::{IdVec, ScopeId, StepId};
use super::model::{Scope, Step};
use crate::operation::Kind;

/// The operation that represents the run: the outermost agent that does not only check others, else the outermost agent,
/// else the outermost chain, else the only root.
pub(super) fn find(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>) -> Option<StepId> {
    let is_auxiliary = |step: &Step| scopes.get(step.scope).is_some_and(|scope| scope.is_auxiliary);
    // Parents precede their children, so a step's ancestors are settled before the step.
    let outermost = |kind: Kind, wanted: &dyn Fn(&Step) -> bool| {
        let mut below: IdVec<StepId, bool> = IdVec::with_capacity(steps.len());
        for (at, step) in steps.enumerate() {
            let hidden = step.parent.is_some_and(|parent| below.is_set(parent));
            if step.operation.kind == kind && !hidden && wanted(step) {
                return Some(at);
            }
            below.push(hidden || step.operation.kind == kind || kind == Kind::Agent && step.operation.kind == Kind::Tool);
        }
        None
    };
    let only_root = || {
        let mut roots = steps.enumerate().filter(|(_, step)| step.parent.is_none());
        match (roots.next(), roots.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    };
    outermost(Kind::Agent, &|step| !is_auxiliary(step))
        .or_else(|| outermost(Kind::Agent, &|_| true))
        .or_else(|| outermost(Kind::Chain, &|_| true))
        .or_else(only_root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id;
    use crate::run::testing::step;
    use crate::span::UnixNanos;

    #[test]
    fn the_outermost_agent_stands_for_the_run() {
        let new = |kind, parent| Step {
            parent,
            ..step(String::new(), kind, "", UnixNanos(0), UnixNanos(9))
        };
        let [first, second] = [StepId::FIRST, StepId::new(1)];
        let scopes: IdVec<ScopeId, Scope> = [Scope::default()].into_iter().collect();
        let steps: IdVec<StepId, Step> = [
            new(Kind::Chain, None),
            new(Kind::Agent, Some(first)),
            new(Kind::Agent, Some(second)),
        ]
        .into_iter()
        .collect();
        assert_eq!(find(&steps, &scopes), Some(second));
        let plain: IdVec<StepId, Step> = [new(Kind::Plain, None), new(Kind::Tool, Some(first))].into_iter().collect();
        assert_eq!(find(&plain, &scopes), Some(first), "the only root");
    }
}

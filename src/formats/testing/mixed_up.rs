//! Runs that violate every contract.

use super::ms;
use super::samples::samples;
use crate::operation::Kind;
use crate::run::{EntryKind, Id, Run, ScopeId, StepId};

/// Samples whose links, times and ids are mixed up: they violate every contract of a run, and still must not cause a panic.
pub(crate) fn mixed_up() -> Vec<Run> {
    let mut state = 1_u64;
    let mut next = move |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    let mut out = Vec::new();
    for _ in 0..20 {
        for (_, mut run) in samples() {
            let (steps, scopes) = (run.steps.len(), run.scopes.len());
            let ids: Vec<String> = run.steps.iter().map(|step| step.id.clone()).collect();
            for step in &mut run.steps {
                match next(12) {
                    0 => step.parent = Some(StepId::new(next(steps + 2))),
                    1 => step.dispatched_by = Some(StepId::new(next(steps + 2))),
                    2 => step.called_by = Some(StepId::new(next(steps + 2))),
                    3 => step.scope = ScopeId::new(next(scopes + 2)),
                    4 => step.started_at = ms(next(9000) as u64),
                    5 => step.ended_at = Some(ms(next(9000) as u64)),
                    6 => step.call_index = Some(next(3)),
                    7 => step.id = ids[next(steps)].clone(),
                    8 => step.operation.kind = Kind::ALL[next(Kind::ALL.len())],
                    9 => step.inside_tool = Some(StepId::new(next(steps + 2))),
                    _ => {}
                }
            }
            for scope in &mut run.scopes {
                match next(4) {
                    0 => scope.parent = Some(ScopeId::new(next(scopes + 2))),
                    1 => scope.called_by = Some(StepId::new(next(steps + 2))),
                    2 => scope.conversation.reverse(),
                    _ => {}
                }
                for entry in &mut scope.conversation {
                    if next(6) == 0 {
                        entry.step = Some(StepId::new(next(steps + 2)));
                    }
                    if let EntryKind::Result(result) = &mut entry.kind
                        && next(4) == 0
                    {
                        result.tool = Some(StepId::new(next(steps + 2)));
                    }
                }
            }
            if next(4) == 0 {
                run.root = Some(StepId::new(next(steps + 2)));
            }
            out.push(run);
        }
    }
    out.retain(Run::has_agent_work);
    out
}

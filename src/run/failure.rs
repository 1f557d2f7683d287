//! Stage "failure": takes the steps and the root, removes repeated errors from agents and chains above the place where they
//! happened, and determines whether the run failed.
//!
//! It comes after the root is known, and before the answer: a run that failed has none.

use super::id::{IdVec, StepId};
use super::model::{RunFailure, Step};
use crate::hash::HashMap;
use crate::operation::{Failure, Kind};

pub(super) fn settle(steps: &mut IdVec<StepId, Step>, root: Option<StepId>) -> Option<RunFailure> {
    // An agent beside the first one may have gone on: then the first one's failure is not the run's.
    let goes_on = root.and_then(|root| steps.get(root)?.ended_at).is_some_and(|end| {
        steps
            .iter()
            .any(|step| step.operation.kind == Kind::Llm && step.started_at >= end && step.operation.failure.is_none())
    });
    let failed_root = root
        .and_then(|root| steps.get(root))
        .is_some_and(|step| step.operation.failure.is_some());
    let mut deepest: Option<RunFailure> = None;
    let paths = PlainPaths::of(steps);
    let mut walked: IdVec<StepId, bool> = IdVec::filled(false, steps.len());
    // The deepest error below that a step repeats. A step that keeps its error meets its own repetitions above.
    let mut repeated: HashMap<StepId, RunFailure> = HashMap::default();
    // Children come after their parents: from the end, each error meets its repetitions above.
    for at in steps.ids().rev() {
        let Some((failure, span_id)) = steps
            .get(at)
            .and_then(|step| Some((step.operation.failure.clone()?, step.span_id?)))
        else {
            continue;
        };
        let own = RunFailure {
            failure: failure.clone(),
            span_id,
        };
        let deepest_here = repeated.remove(&at).unwrap_or(own);
        let mut up = steps.get(at).and_then(|step| step.parent);
        let mut reaches_root = Some(at) == root;
        while let Some(above) = up {
            if walked.is_set(above) {
                // Plain spans that were passed before.
                reaches_root |= paths.pass(above, root);
                up = paths.beyond(above);
                continue;
            }
            let Some(step) = steps.get_mut(above) else { break };
            let repeats = step.operation.failure.as_ref().is_some_and(|other| is_repetition(other, &failure));
            if !repeats && step.operation.kind != Kind::Plain {
                break;
            }
            reaches_root |= Some(above) == root;
            if matches!(
                step.operation.kind,
                Kind::Agent | Kind::Chain | Kind::Plain | Kind::Unknown | Kind::AgentCreate
            ) {
                step.operation.failure = None;
            } else {
                repeated.entry(above).or_insert_with(|| deepest_here.clone());
                break;
            }
            if step.operation.kind == Kind::Plain {
                walked.set(above, true);
            }
            up = step.parent;
        }
        if reaches_root && failed_root && deepest.is_none() {
            deepest = Some(deepest_here);
        }
    }
    if goes_on {
        return None;
    }
    deepest.or_else(|| {
        let step = steps.get(root?)?;
        Some(RunFailure {
            failure: step.operation.failure.clone()?,
            span_id: step.span_id?,
        })
    })
}

/// The paths up through plain spans: a parent comes before its children.
struct PlainPaths {
    /// The nearest step above that is not plain.
    beyond: IdVec<StepId, Option<StepId>>,
    /// The outermost of the consecutive plain steps around a plain step, or the step itself.
    outermost: IdVec<StepId, StepId>,
}

impl PlainPaths {
    fn of(steps: &IdVec<StepId, Step>) -> Self {
        let mut paths = Self {
            beyond: IdVec::with_capacity(steps.len()),
            outermost: IdVec::with_capacity(steps.len()),
        };
        for (at, step) in steps.enumerate() {
            let parent = step.parent.filter(|parent| *parent < at);
            let plain = parent.filter(|parent| steps.get(*parent).is_some_and(|parent| parent.operation.kind == Kind::Plain));
            let beyond = plain.map_or(parent, |plain| paths.beyond(plain));
            let outermost = plain.and_then(|plain| paths.outermost.get(plain)).copied().unwrap_or(at);
            paths.beyond.push(beyond);
            paths.outermost.push(outermost);
        }
        paths
    }

    fn beyond(&self, plain: StepId) -> Option<StepId> {
        self.beyond.known(plain)
    }

    /// Whether the path from here through plain spans passes the root, which has nothing above it if it is plain.
    fn pass(&self, plain: StepId, root: Option<StepId>) -> bool {
        root.is_some() && (root == Some(plain) || self.outermost.get(plain).copied() == root)
    }
}

fn is_repetition(outer: &Failure, inner: &Failure) -> bool {
    if outer.is_code_of(inner) {
        return true;
    }
    match (&outer.message, &inner.message) {
        (None, _) | (_, None) => true,
        (Some(a), Some(b)) => {
            a == b || a.contains(b.as_str()) || b.contains(a.as_str()) || outer.error_type.is_some() && outer.error_type == inner.error_type
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id;
    use crate::run::testing::step;
    use crate::span::{SpanId, UnixNanos};

    #[test]
    fn an_error_is_told_where_it_happened() {
        let failed = |number: u8, kind, parent: Option<usize>| {
            let mut step = step(String::new(), kind, "", UnixNanos(0), UnixNanos(9));
            step.span_id = SpanId::from_bytes(&[0, 0, 0, 0, 0, 0, 0, number]);
            step.parent = parent.map(StepId::new);
            step.operation.failure = Some(Failure {
                message: Some("no such city".to_owned()),
                ..Failure::default()
            });
            step
        };
        let agent = failed(1, Kind::Agent, None);
        let mut steps: IdVec<StepId, Step> = [agent, failed(2, Kind::Chain, Some(0)), failed(3, Kind::Llm, Some(1))]
            .into_iter()
            .collect();
        let failure = settle(&mut steps, Some(StepId::FIRST));
        assert_eq!(failure.map(|failure| failure.span_id), steps.last().and_then(|step| step.span_id));
        let failures: Vec<bool> = steps.iter().map(|step| step.operation.failure.is_some()).collect();
        assert_eq!(failures, [false, false, true]);
    }
}

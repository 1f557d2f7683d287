//! Stage "failure": takes the steps and the root, removes errors that agents and chains repeat from below, and determines whether
//! the run failed.
//!
//! This runs after the root is known and before the answer, since a failed run has none.

use super::id::{IdVec, ScopeId, StepId};
use super::model::{RunFailure, Scope, Step};
use crate::hash::HashMap;
use crate::operation::{Failure, Kind, has_nothing};
use crate::span::UnixNanos;

/// The failure of the run.
pub(super) struct Failed {
    pub(super) failure: RunFailure,
    /// The root, or the run's last operation: in that case an answer from elsewhere overrides the failure.
    pub(super) at: StepId,
}

pub(super) fn settle(steps: &mut IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>, root: Option<StepId>) -> Option<Failed> {
    let has_failed = |at: StepId| steps.get(at).is_some_and(|step| step.operation.failure.is_some());
    let failed = root.filter(|root| has_failed(*root) && !recovers(steps, *root));
    let failed = failed.or_else(|| last_operation(steps, scopes).filter(|last| !recovers(steps, *last)));
    // A cancelled step was not cancelled by a failure below it.
    let stopped = failed.and_then(|at| own(steps, at)).filter(|own| own.failure.is_cancellation());
    let mut deepest: Option<RunFailure> = None;
    let paths = PlainPaths::of(steps);
    let mut walked: IdVec<StepId, bool> = IdVec::filled(false, steps.len());
    // For each step, the deepest error below that it repeats. A step that keeps its error is matched with repetitions above.
    let mut repeated: HashMap<StepId, RunFailure> = HashMap::default();
    // Children follow their parents, so going backwards matches each error with its repetitions above.
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
        let mut reaches_failed = Some(at) == failed;
        while let Some(above) = up {
            if walked.is_set(above) {
                // Plain spans that were walked before.
                reaches_failed |= paths.pass(above, failed);
                up = paths.beyond(above);
                continue;
            }
            let Some(step) = steps.get_mut(above) else { break };
            let repeats = step.operation.failure.as_ref().is_some_and(|other| is_repetition(other, &failure));
            if !repeats && step.operation.kind != Kind::Plain {
                break;
            }
            reaches_failed |= Some(above) == failed;
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
        if reaches_failed && deepest.is_none() {
            deepest = Some(deepest_here);
        }
    }
    let at = failed?;
    let failure = stopped.or(deepest).or_else(|| own(steps, at))?;
    Some(Failed { failure, at })
}

/// A step's own failure.
fn own(steps: &IdVec<StepId, Step>, at: StepId) -> Option<RunFailure> {
    let step = steps.get(at)?;
    Some(RunFailure {
        failure: step.operation.failure.clone()?,
        span_id: step.span_id?,
    })
}

/// Whether a model answered after this step ended: then its failure is not the run's.
fn recovers(steps: &IdVec<StepId, Step>, failed: StepId) -> bool {
    let end = steps.get(failed).and_then(|step| step.ended_at);
    let answers =
        |step: &Step, end: UnixNanos| step.operation.kind == Kind::Llm && step.started_at >= end && step.operation.failure.is_none();
    end.is_some_and(|end| steps.iter().any(|step| answers(step, end)))
}

/// The last operation, if it failed and everything around it ended without output: instrumentations end the spans around a run
/// successfully, whatever happened inside (OpenInference for the OpenAI Agents SDK), or without a status.
fn last_operation(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>) -> Option<StepId> {
    let is_of_run = |step: &Step| {
        let is_auxiliary = scopes.get(step.scope).is_some_and(|scope| scope.is_auxiliary);
        !is_auxiliary && !matches!(step.operation.kind, Kind::Detail | Kind::Evaluator)
    };
    let mut last_below: IdVec<StepId, Option<StepId>> = IdVec::filled(None, steps.len());
    let mut last_of_all = None;
    let end = |at: Option<StepId>| at.and_then(|at| steps.get(at)).map(Step::end_or_start);
    for (at, step) in steps.enumerate().filter(|(_, step)| is_of_run(step)) {
        let before = step.parent.map_or(last_of_all, |parent| last_below.known(parent));
        if end(before) > Some(step.end_or_start()) {
            continue;
        }
        match step.parent {
            Some(parent) => last_below.set(parent, Some(at)),
            None => last_of_all = Some(at),
        }
    }
    let mut last = last_of_all;
    // Parents precede their children.
    while let Some((at, step)) = last.and_then(|at| Some((at, steps.get(at)?))) {
        if step.operation.failure.is_some() {
            return Some(at);
        }
        if !is_silent_wrapper(step) {
            return None;
        }
        last = last_below.known(at).filter(|below| *below > at);
    }
    None
}

/// Whether a step is an ended wrapper without output.
fn is_silent_wrapper(step: &Step) -> bool {
    let operation = &step.operation;
    let is_wrapper = matches!(
        operation.kind,
        Kind::Agent | Kind::Chain | Kind::Plain | Kind::Unknown | Kind::AgentCreate
    );
    is_wrapper && step.ended_at.is_some() && operation.output_messages.is_none() && operation.output.get().is_none_or(has_nothing)
}

/// The paths up through plain spans, built in one pass because parents precede their children.
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

    /// Whether the path from here through plain spans includes the root, which has nothing above it if it is plain.
    fn pass(&self, plain: StepId, root: Option<StepId>) -> bool {
        root.is_some() && (root == Some(plain) || self.outermost.get(plain).copied() == root)
    }
}

fn is_repetition(outer: &Failure, inner: &Failure) -> bool {
    // A step cancelled because of a failure is not its cause.
    if inner.is_cancellation() && !outer.is_cancellation() && (outer.message.is_some() || outer.error_type.is_some()) {
        return false;
    }
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
        let failed = settle(&mut steps, &IdVec::default(), Some(StepId::FIRST));
        let span = failed.map(|failed| failed.failure.span_id);
        assert_eq!(span, steps.last().and_then(|step| step.span_id));
        let failures: Vec<bool> = steps.iter().map(|step| step.operation.failure.is_some()).collect();
        assert_eq!(failures, [false, false, true]);
    }

    #[test]
    fn what_ends_last_below_silent_wrappers_fails_the_run() {
        let new = |number: u8, kind, parent: Option<usize>, end: u64, fails: bool| {
            let mut step = step(String::new(), kind, "", UnixNanos(0), UnixNanos(end));
            step.span_id = SpanId::from_bytes(&[0, 0, 0, 0, 0, 0, 0, number]);
            step.parent = parent.map(StepId::new);
            step.operation.failure = fails.then(Failure::default);
            step
        };
        let failed_at = |answered: bool, last: u64| {
            let mut wrapper = new(1, Kind::Chain, None, 90, false);
            wrapper.operation.output = answered.then(|| serde_json::Value::from("Sorry.")).into();
            let agent = new(2, Kind::Agent, Some(0), 80, false);
            let tool = new(3, Kind::Tool, Some(1), last, true);
            let mut steps: IdVec<StepId, Step> = [wrapper, agent, tool, new(4, Kind::Llm, Some(1), 50, false)].into_iter().collect();
            settle(&mut steps, &IdVec::default(), Some(StepId::new(1))).map(|failed| failed.at)
        };
        assert_eq!(failed_at(false, 60), Some(StepId::new(2)));
        assert_eq!(failed_at(false, 40), None, "the model went on");
        assert_eq!(failed_at(true, 60), None, "the program answered");
    }
}

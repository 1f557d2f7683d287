//! An error is told once, where it happened; the run is marked as failed once.

use super::{RunFailure, Step};
use crate::hash::HashMap;
use crate::operation::{Failure, Kind};
use crate::span::UnixNanos;

/// Takes an error off steps that have their answer and only repeat, in their status, what another step failed with.
pub(super) fn unsay_echoes(steps: &mut [Step]) {
    let bare = |failure: &Failure| failure.error_type.is_none() && failure.stacktrace.is_none();
    // The latest step that failed with these words.
    let mut origins: HashMap<String, UnixNanos> = HashMap::default();
    for step in steps.iter() {
        let failure = step.operation.failure.as_ref().filter(|failure| !bare(failure));
        if let Some(message) = failure.and_then(|failure| failure.message.clone()) {
            let latest = origins.entry(message).or_insert(step.started_at);
            *latest = step.started_at.max(*latest);
        }
    }
    for step in steps {
        let Some(failure) = step.operation.failure.as_ref().filter(|failure| bare(failure)) else {
            continue;
        };
        let Some(message) = failure.message.as_deref().filter(|message| !message.is_empty()) else {
            continue;
        };
        let operation = &step.operation;
        let answered = match operation.kind {
            Kind::Tool => operation
                .tool
                .as_ref()
                .and_then(|tool| tool.result.as_ref())
                .is_some_and(|result| !result.to_string().contains(message)),
            Kind::Llm => operation.output_messages.is_some(),
            Kind::Agent | Kind::Chain => operation.output.is_some() || operation.output_messages.is_some(),
            _ => false,
        };
        let inside = |at: &UnixNanos| *at >= step.started_at || matches!(operation.kind, Kind::Tool | Kind::Llm);
        if answered && origins.get(message).is_some_and(inside) {
            step.operation.failure = None;
        }
    }
}

/// Takes repeated errors off agents and chains above the place where they happened, and says whether the run failed.
pub(super) fn settle(steps: &mut [Step], root: Option<usize>) -> Option<RunFailure> {
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
    let ways = Ways::of(steps);
    let mut walked = vec![false; steps.len()];
    // The deepest error below that a step repeats. A step that keeps its error meets its own repetitions above.
    let mut repeated: HashMap<usize, RunFailure> = HashMap::default();
    // Children stand behind their parents: from the end, each error meets its repetitions above.
    for at in (0..steps.len()).rev() {
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
        let told = repeated.remove(&at).unwrap_or(own);
        let mut up = steps.get(at).and_then(|step| step.parent);
        let mut reaches_root = Some(at) == root;
        while let Some(above) = up {
            if walked.get(above) == Some(&true) {
                // Plain spans that were passed before.
                reaches_root |= ways.pass(above, root);
                up = ways.beyond(above);
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
                repeated.entry(above).or_insert(told.clone());
                break;
            }
            if let (Kind::Plain, Some(walked)) = (step.operation.kind, walked.get_mut(above)) {
                *walked = true;
            }
            up = step.parent;
        }
        if reaches_root && failed_root && deepest.is_none() {
            deepest = Some(told);
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

/// The ways up through plain spans: a parent stands before its children.
struct Ways {
    /// The nearest step above that is not plain.
    beyond: Vec<Option<usize>>,
    /// The outermost of the plain steps that stand around a plain step without another between them, or the step itself.
    outermost: Vec<usize>,
}

impl Ways {
    fn of(steps: &[Step]) -> Self {
        let mut ways = Self {
            beyond: Vec::with_capacity(steps.len()),
            outermost: Vec::with_capacity(steps.len()),
        };
        for (at, step) in steps.iter().enumerate() {
            let parent = step.parent.filter(|parent| *parent < at);
            let plain = parent.filter(|parent| steps.get(*parent).is_some_and(|parent| parent.operation.kind == Kind::Plain));
            let beyond = plain.map_or(parent, |plain| ways.beyond(plain));
            let outermost = plain.and_then(|plain| ways.outermost.get(plain)).copied().unwrap_or(at);
            ways.beyond.push(beyond);
            ways.outermost.push(outermost);
        }
        ways
    }

    fn beyond(&self, plain: usize) -> Option<usize> {
        self.beyond.get(plain).copied().flatten()
    }

    /// Whether the way from here through plain spans passes the root, which has nothing above it if it is plain.
    fn pass(&self, plain: usize, root: Option<usize>) -> bool {
        root.is_some() && (root == Some(plain) || self.outermost.get(plain).copied() == root)
    }
}

fn is_repetition(outer: &Failure, inner: &Failure) -> bool {
    match (&outer.message, &inner.message) {
        (None, _) | (_, None) => true,
        (Some(a), Some(b)) => {
            a == b || a.contains(b.as_str()) || b.contains(a.as_str()) || outer.error_type.is_some() && outer.error_type == inner.error_type
        }
    }
}

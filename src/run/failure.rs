//! An error is told once, where it happened; the run is marked as failed once.

use super::{RunFailure, Step};
use crate::operation::{Failure, Kind};

/// Takes an error off steps that have their answer and only repeat, in their status, what another step failed with.
pub(super) fn unsay_echoes(steps: &mut [Step]) {
    let bare = |failure: &Failure| failure.error_type.is_none() && failure.stacktrace.is_none();
    let origins: Vec<(String, crate::span::UnixNanos)> = steps
        .iter()
        .filter_map(|step| {
            let failure = step.operation.failure.as_ref().filter(|failure| !bare(failure))?;
            Some((failure.message.clone()?, step.started_at))
        })
        .collect();
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
        let inside = |at: &crate::span::UnixNanos| *at >= step.started_at || matches!(operation.kind, Kind::Tool | Kind::Llm);
        if answered && origins.iter().any(|(words, at)| words == message && inside(at)) {
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
    // Children stand behind their parents: from the end, each error meets its repetitions above.
    for at in (0..steps.len()).rev() {
        let Some((failure, span_id)) = steps
            .get(at)
            .and_then(|step| Some((step.operation.failure.clone()?, step.span_id?)))
        else {
            continue;
        };
        let mut up = steps.get(at).and_then(|step| step.parent);
        let mut reaches_root = Some(at) == root;
        while let Some(above) = up {
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
            }
            up = step.parent;
        }
        if reaches_root && failed_root && deepest.is_none() {
            deepest = Some(RunFailure { failure, span_id });
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

fn is_repetition(outer: &Failure, inner: &Failure) -> bool {
    match (&outer.message, &inner.message) {
        (None, _) | (_, None) => true,
        (Some(a), Some(b)) => {
            a == b || a.contains(b.as_str()) || b.contains(a.as_str()) || outer.error_type.is_some() && outer.error_type == inner.error_type
        }
    }
}

//! Stage "evaluations by link": takes the runs and the links of their spans and gives evaluations to the judged steps.
//!
//! An evaluator may run long after the judged span ended: its own span has the scores and links to that one, often in another trace.
//! This runs last, since both traces must be present. Within a trace a score is recorded once, on the judged step; in the document of
//! another trace the evaluator keeps it, with the span that it judges.

use serde_json::json;

use super::id::StepId;
use super::model::{Run, Step};
use crate::hash::HashMap;
use crate::operation::{Evaluation, Kind};
use crate::span::{Span, SpanId, TraceId};

/// A span with one link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    by: (TraceId, SpanId),
    span: (TraceId, SpanId),
}

/// The spans with one link. Which of them are evaluators is known once they are read.
pub(super) fn links(spans: &[Span]) -> impl Iterator<Item = Judged> {
    spans.iter().filter_map(|span| match span.links.as_slice() {
        [link] => Some(Judged {
            by: (span.trace_id, span.span_id),
            span: (link.trace_id, link.span_id),
        }),
        _ => None,
    })
}

/// Gives the evaluations to the judged steps.
pub(super) fn give(runs: &mut [Run], links: &[Judged]) {
    if links.is_empty() {
        return;
    }
    let steps = runs.iter().enumerate().flat_map(|(run, of)| {
        let spans = |step: &Step| step.span_id.into_iter().chain(step.evidence.iter().copied()).collect::<Vec<_>>();
        of.steps
            .enumerate()
            .flat_map(move |(id, step)| spans(step).into_iter().map(move |span| ((of.trace_id, span), (run, id))))
    });
    let places: HashMap<(TraceId, SpanId), (usize, StepId)> = steps.collect();
    let roots = runs.iter().enumerate();
    let roots = roots.filter_map(|(run, of)| Some((of.trace_id, (run, of.root.or_else(|| of.steps.ids().next())?))));
    let roots: HashMap<TraceId, (usize, StepId)> = roots.collect();
    for judged in links {
        let Some((run, step)) = places.get(&judged.by).copied() else {
            continue;
        };
        let Some(evaluator) = runs.get_mut(run).and_then(|run| run.steps.get_mut(step)) else {
            continue;
        };
        if evaluator.operation.kind != Kind::Evaluator || evaluator.operation.evaluations.is_empty() {
            continue;
        }
        // If the judged span is not a step, such as a web framework's span inside the run, the run is judged.
        let target = places.get(&judged.span).or_else(|| roots.get(&judged.span.0));
        let target = target.filter(|target| **target != (run, step)).copied();
        let is_here = judged.by.0 == judged.span.0;
        let evaluations = match target {
            Some(_) if is_here => std::mem::take(&mut evaluator.operation.evaluations),
            _ => {
                let (trace, span) = judged.span;
                let about = json!({"trace_id": trace.to_string(), "span_id": span.to_string()});
                let _ = evaluator.operation.metadata.entry("evaluated_span").or_insert(about);
                evaluator.operation.evaluations.clone()
            }
        };
        let Some((run, step)) = target else { continue };
        if let Some(step) = runs.get_mut(run).and_then(|run| run.steps.get_mut(step)) {
            Evaluation::add(&mut step.operation.evaluations, evaluations);
        }
    }
}

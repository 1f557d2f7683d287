//! Marks model calls that several runs record.

use super::call_record::{self, CallRecord};
use super::id::StepId;
use super::model::Run;
use crate::hash::{HashMap, HashSet};
use crate::trace::{Finding, FindingKind};

/// Marks model calls that two traces record (two instrumentations, with the client's spans as separate roots); both
/// remain. A response id repeated later, or with another answer, belongs to another call.
pub(super) fn mark(runs: &mut [Run]) {
    let mut by_id: HashMap<String, Vec<(usize, StepId)>> = HashMap::default();
    let mut marked: HashSet<usize> = HashSet::default();
    for (at, run) in runs.iter().enumerate() {
        for (id, step) in run.steps.enumerate() {
            if let Some(response) = &step.operation.response_id {
                by_id.entry(response.clone()).or_default().push((at, id));
            }
        }
    }
    let step_of = |(run, step): (usize, StepId)| runs.get(run).and_then(|run| run.steps.get(step));
    let contradict = |one, other| {
        let pair = (step_of(one), step_of(other));
        matches!(pair, (Some(one), Some(other)) if CallRecord::from(one).contradicts(&CallRecord::from(other)))
    };
    let groups: Vec<Vec<(usize, StepId)>> = by_id
        .into_values()
        .filter(|places| places.len() > 1)
        .flat_map(|places| call_record::groups(&places, contradict))
        .collect();
    for places in groups {
        let Some((first_run, first_step)) = places.iter().copied().max_by_key(|(run, step)| {
            let size = runs.get(*run).map(|run| {
                (
                    run.steps.len(),
                    run.steps.get(*step).is_some_and(|step| step.operation.input_messages.is_some()),
                )
            });
            (size, std::cmp::Reverse((*run, *step)))
        }) else {
            continue;
        };
        let Some(kept) = runs
            .get(first_run)
            .and_then(|run| Some((run.trace_id, run.steps.get(first_step)?.span_id?)))
        else {
            continue;
        };
        for (run, step) in places {
            if run == first_run {
                continue;
            }
            let _ = marked.insert(run);
            let Some(run) = runs.get_mut(run) else { continue };
            let Some(step) = run.steps.get_mut(step) else { continue };
            step.same_call_as = Some(kept);
            run.findings.push(Finding::new(
                step.span_id,
                FindingKind::SameCallAs,
                format!("the same model call as span {} of trace {}", kept.1, kept.0),
            ));
        }
    }
    for run in marked {
        if let Some(run) = runs.get_mut(run) {
            run.findings
                .sort_by(|a, b| (a.kind, a.span_id, &a.detail).cmp(&(b.kind, b.span_id, &b.detail)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Registry;
    use crate::span::{Span, SpanId, TraceId};

    fn trace(number: u8) -> Option<TraceId> {
        TraceId::from_bytes(&[number; 16])
    }

    #[test]
    fn the_call_of_the_larger_run_is_meant() {
        let span = |of: u8, number: u8, start| {
            let mut span = Span::new(
                trace(of).expect("not zero"),
                SpanId::from_bytes(&[number; 8]).expect("not zero"),
                "chat",
            );
            (span.start, span.end) = (crate::span::UnixNanos(start), crate::span::UnixNanos(start + 5));
            span.attributes.push("openinference.span.kind", "LLM");
            span
        };
        let spans = vec![span(1, 1, 18), span(2, 2, 20), span(2, 3, 30)];
        let mut runs = crate::run::from_batch(spans, Vec::new(), Registry::built_in());
        for run in &mut runs {
            if let Some(step) = run.steps.first_mut() {
                step.operation.response_id = Some("response".to_owned());
            }
        }
        mark(&mut runs);
        let marked: Vec<Option<TraceId>> = runs
            .iter()
            .map(|run| run.steps.first()?.same_call_as.map(|(trace, _)| trace))
            .collect();
        assert_eq!(marked, [trace(2), None]);
        assert_eq!(
            runs.first()
                .map(|run| run.findings.iter().filter(|it| it.kind == FindingKind::SameCallAs).count()),
            Some(1)
        );
    }
}

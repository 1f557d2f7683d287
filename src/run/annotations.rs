//! Stage "annotations": takes the spans of a trace, returns people's judgements of the run, and keeps the spans of those that count.
//!
//! For each name, judged span and person the last judgement counts, or none if that one is a withdrawal. This runs before the
//! reading, since a corrected judgement is not an operation: documents have those that count, the history has all.

use std::collections::BTreeMap;

use super::model::Annotation;
use crate::dialect::{self, Registry};
use crate::hash::HashSet;
use crate::operation::Evaluation;
use crate::span::{ANNOTATION_SCOPE, Span, SpanId, UnixNanos};

/// Metadata key: who made the annotation.
pub(crate) const ANNOTATOR: &str = "annotator";
/// Metadata key: when it was made.
pub(crate) const ANNOTATED_AT: &str = "annotated_at";
/// Metadata key: whether it withdraws the one before it.
pub(crate) const WITHDRAWN: &str = "withdrawn";

/// Returns all annotations in the order they were made; `spans` keeps those of the annotations that count.
pub(super) fn settle(spans: &mut Vec<Span>, registry: &Registry) -> Vec<Annotation> {
    let of_people = spans.iter().filter(|span| span.scope.name == ANNOTATION_SCOPE);
    // The same span may have been received twice.
    let of_people: BTreeMap<SpanId, &Span> = of_people.map(|span| (span.span_id, span)).collect();
    let mut all: Vec<Annotation> = of_people.into_values().filter_map(|span| read(span, registry)).collect();
    all.sort_by_key(|annotation| (annotation.at, annotation.span_id));
    let mut judged = HashSet::default();
    for annotation in all.iter_mut().rev() {
        let key = (annotation.judged, annotation.evaluation.name.clone(), annotation.annotator.clone());
        annotation.counts = judged.insert(key) && !annotation.withdraws;
    }
    let past: HashSet<SpanId> = all.iter().filter(|one| !one.counts).map(|one| one.span_id).collect();
    if !past.is_empty() {
        spans.retain(|span| span.scope.name != ANNOTATION_SCOPE || !past.contains(&span.span_id));
    }
    all
}

/// The judgement that a span records, `None` if it records none. Whether it counts depends on the others.
pub(crate) fn read(span: &Span, registry: &Registry) -> Option<Annotation> {
    let mut operation = dialect::take(registry, &mut span.clone(), &[]).operation;
    let text = |name: &str| operation.metadata.get(name).and_then(|value| value.as_str());
    let at: Option<jiff::Timestamp> = text(ANNOTATED_AT).and_then(|text| text.parse().ok());
    Some(Annotation {
        span_id: span.span_id,
        judged: span.parent,
        annotator: text(ANNOTATOR).map(str::to_owned),
        at: at.and_then(|at| u64::try_from(at.as_nanosecond()).ok()).map(UnixNanos),
        withdraws: operation.metadata.get(WITHDRAWN).and_then(|value| value.as_bool()) == Some(true),
        counts: false,
        evaluation: (!operation.evaluations.is_empty()).then(|| operation.evaluations.swap_remove(0))?,
    })
}

impl Annotation {
    /// Whether it judges this span, under this name, by this person.
    #[must_use]
    pub fn is_of(&self, judged: Option<SpanId>, name: &str, annotator: Option<&str>) -> bool {
        self.judged == judged && self.evaluation.name.as_deref() == Some(name) && self.annotator.as_deref() == annotator
    }

    /// Its evaluation, if it counts.
    #[must_use]
    pub fn counting(&self) -> Option<&Evaluation> {
        Some(&self.evaluation).filter(|_| self.counts)
    }
}

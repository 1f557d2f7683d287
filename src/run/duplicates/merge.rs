//! Merges two readings of one operation.

use crate::operation::Kind;
use crate::run::fill::fill;
use crate::run::id::ReadingId;
use crate::run::readings::Readings;
use crate::trace::{Finding, FindingKind};

/// Merges `lost` into `kept`.
pub(super) fn merge(readings: &mut Readings, lost: ReadingId, kept: ReadingId) {
    let kept = readings.standing(kept);
    if lost == kept || !readings.is_independent(lost) {
        return;
    }
    let Some(node) = readings.get_mut(lost) else { return };
    let (gone, detail) = (node.span_id, node.kind() == Kind::Detail);
    let (sums_usage, asked_by) = (node.beside.sums_usage, node.beside.asked_by.take());
    // The lost reading may still be compared with others, so it keeps its operation.
    let operation = (*node.operation).clone();
    let mut evidence = std::mem::take(&mut node.evidence);
    evidence.insert(0, gone);
    readings.merge(lost, kept);
    let Some(node) = readings.get_mut(kept) else { return };
    fill(&mut node.operation, operation);
    node.beside.sums_usage |= sums_usage;
    node.beside.asked_by = node.beside.asked_by.take().or(asked_by);
    if node.evidence.is_empty() {
        node.evidence = evidence;
    } else {
        node.evidence.extend(evidence);
    }
    let of = node.span_id;
    if !detail {
        readings.findings.push(Finding::new(
            Some(gone),
            FindingKind::SameOperation,
            format!("records the same operation as {of}, which is kept"),
        ));
    }
}

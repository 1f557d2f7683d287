//! One body a span id: the one that ended later; the same bytes again are a no-op.

use std::collections::HashMap;

use crate::span::Span;
use crate::trace::{Finding, FindingKind, Trace};

pub(super) fn keep_one(trace: &mut Trace) {
    let mut kept: Vec<Span> = Vec::with_capacity(trace.spans.len());
    let mut at = HashMap::with_capacity(trace.spans.len());
    for span in std::mem::take(&mut trace.spans) {
        let slot = match at.get(&span.span_id) {
            Some(slot) => *slot,
            None => {
                let _ = at.insert(span.span_id, kept.len());
                kept.push(span);
                continue;
            }
        };
        let Some(have) = kept.get_mut(slot) else { continue };
        // NaN is not equal to itself, its text is.
        if *have == span || rank(have) == rank(&span) {
            continue;
        }
        trace.findings.push(Finding::new(
            Some(span.span_id),
            FindingKind::DuplicateSpan,
            "the span came with different bodies; the one that ended later is used",
        ));
        if rank(&span) > rank(have) {
            trace.superseded.push(std::mem::replace(have, span));
        } else {
            trace.superseded.push(span);
        }
    }
    trace.superseded.sort_by_key(rank);
    trace.superseded.dedup();
    trace.spans = kept;
}

/// The later end wins, then the fuller body; the text settles ties the same way in any order of arrival.
fn rank(span: &Span) -> (u64, usize, String) {
    (span.end.0, span.attributes.len() + span.events.len(), format!("{span:?}"))
}

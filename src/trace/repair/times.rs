//! Times that cannot be.

use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

/// An end before the start becomes the start.
pub(super) fn clamp(trace: &mut Trace) {
    for span in &mut trace.spans {
        if span.end.0 == 0 {
            trace
                .findings
                .push(Finding::new(Some(span.span_id), FindingKind::Unfinished, "the span has not ended"));
        } else if span.end < span.start {
            let by = span.start.0 - span.end.0;
            trace.findings.push(Finding::new(
                Some(span.span_id),
                FindingKind::EndBeforeStart,
                format!("the span ends {by} ns before it starts"),
            ));
            span.end = span.start;
        }
    }
}

/// Reports a child that begins before its parent; nothing is moved.
pub(super) fn report_skew(trace: &mut Trace) {
    for (span, parent) in trace.spans.iter().zip(&trace.parents) {
        let Some(parent) = parent.and_then(|index| trace.spans.get(index)) else {
            continue;
        };
        if span.start < parent.start {
            let by = parent.start.0 - span.start.0;
            trace.findings.push(Finding::new(
                Some(span.span_id),
                FindingKind::ClockSkew,
                format!("the span starts {by} ns before its parent"),
            ));
        }
    }
}

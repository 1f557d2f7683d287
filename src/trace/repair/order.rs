//! Spans by start, then id.

use crate::trace::tree::Trace;

pub(super) fn sort(trace: &mut Trace) {
    trace.spans.sort_by_key(|span| (span.start, span.span_id));
}

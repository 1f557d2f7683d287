//! Repair: an ordered list of small named steps.
//!
//! Duplicates go first, since every later step wants one span an id; times before parents, since roots and children
//! are ordered by them.

mod duplicates;
mod order;
mod parents;
mod times;

use super::Trace;

/// Runs the steps in order.
pub(super) fn run(trace: &mut Trace) {
    for step in [
        duplicates::keep_one,
        times::clamp,
        order::sort,
        parents::link,
        parents::cut_cycles,
        parents::report_roots,
        times::report_skew,
    ] {
        step(trace);
    }
    trace
        .findings
        .sort_by(|a, b| (a.kind, a.span_id, &a.detail).cmp(&(b.kind, b.span_id, &b.detail)));
    trace.findings.dedup();
}

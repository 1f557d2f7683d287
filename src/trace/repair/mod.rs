//! Repair: an ordered list of small named steps.
//!
//! Duplicates come first, since every later step expects one span per id; times before parents, since roots and children
//! are ordered by them, with the unit of times before anything that reads them; clocks last, since only the tree shows which
//! of them differ. Spans are also sorted before their times are mended: those that mending gives equal times then keep the
//! order of their recorded times, not of their arrival.

mod clocks;
mod duplicates;
mod order;
mod parents;
mod times;
mod units;

use super::tree::Trace;
use crate::span::Span;

impl Trace {
    /// Mends the spans of one trace into a forest.
    #[must_use]
    pub fn from_spans(spans: Vec<Span>) -> Self {
        let mut trace = Self { spans, ..Self::default() };
        run(&mut trace);
        trace
    }
}

/// Runs the steps in order.
fn run(trace: &mut Trace) {
    for step in [
        duplicates::keep_one,
        order::sort,
        units::settle,
        times::settle,
        order::sort,
        parents::link,
        parents::cut_cycles,
        parents::report_roots,
        clocks::align,
    ] {
        step(trace);
    }
    trace
        .findings
        .sort_by(|a, b| (a.kind, a.span_id, &a.detail).cmp(&(b.kind, b.span_id, &b.detail)));
    trace.findings.dedup();
}

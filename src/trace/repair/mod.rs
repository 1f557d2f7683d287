//! Repair: an ordered list of small named steps.
//!
//! Duplicates go first, since every later step expects one span for each id; times before parents, since roots and children
//! are ordered by them, and their unit before all that is asked of them; clocks last, since only the tree shows which of them
//! differ. Spans are in order before their times are mended, too: those that have the same times only then stay in the order of the
//! times that came, and not in that of their arrival.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{SpanId, TraceId, UnixNanos};

    #[test]
    fn spans_whose_times_become_the_same_are_in_one_order() {
        let span = |number: u8, start: u64, end: u64| {
            let id = SpanId::from_bytes(&[number; 8]).expect("not zero");
            let mut span = Span::new(TraceId::from_bytes(&[1; 16]).expect("not zero"), id, "");
            (span.start, span.end) = (UnixNanos(start), UnixNanos(end));
            span
        };
        // The second ends before it starts.
        let spans = [span(1, 20, 20), span(2, 20, 10)];
        let order = |spans: Vec<Span>| -> Vec<SpanId> {
            let trace = Trace::from_spans(spans);
            assert!(
                trace
                    .spans
                    .iter()
                    .all(|span| (span.start, span.end) == (UnixNanos(20), UnixNanos(20)))
            );
            trace.spans.iter().map(|span| span.span_id).collect()
        };
        let reversed = spans.iter().rev().cloned().collect();
        assert_eq!(order(spans.to_vec()), order(reversed));
    }
}

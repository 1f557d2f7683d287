//! Sorts spans by start, then end. Those with equal times keep the order of arrival: a millisecond clock gives parallel calls one
//! time, and ids are random, so they do not show which was first.

use crate::trace::tree::Trace;

pub(super) fn sort(trace: &mut Trace) {
    trace.spans.sort_by_key(|span| (span.start, span.end));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{Span, SpanId, TraceId, UnixNanos};

    fn span(number: u8, start: u64, end: u64) -> Span {
        let id = SpanId::from_bytes(&[number; 8]).expect("not zero");
        let mut span = Span::new(TraceId::from_bytes(&[1; 16]).expect("not zero"), id, "");
        (span.start, span.end) = (UnixNanos(start), UnixNanos(end));
        span
    }

    fn order(trace: &Trace) -> Vec<u8> {
        let first = |span: &Span| span.span_id.bytes().first().copied().unwrap_or_default();
        trace.spans.iter().map(first).collect()
    }

    #[test]
    fn spans_of_one_time_stay_as_they_came() {
        let mut trace = Trace {
            spans: vec![span(9, 20, 30), span(1, 20, 30), span(5, 20, 25), span(7, 10, 40)],
            ..Trace::default()
        };
        sort(&mut trace);
        assert_eq!(order(&trace), [7, 5, 9, 1]);
    }

    #[test]
    fn spans_whose_times_become_the_same_are_in_the_order_of_those_that_came() {
        // The second ends before it starts.
        let spans = [span(1, 20, 20), span(2, 20, 10)];
        for arrived in [spans.to_vec(), spans.iter().rev().cloned().collect()] {
            let trace = Trace::from_spans(arrived);
            assert!(
                trace
                    .spans
                    .iter()
                    .all(|span| (span.start, span.end) == (UnixNanos(20), UnixNanos(20)))
            );
            assert_eq!(order(&trace), [2, 1]);
        }
    }
}

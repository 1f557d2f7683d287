//! Spans by start, then end. Those with the same times stay as they came: a clock of milliseconds gives parallel calls one time,
//! and an id, which is random, tells nothing about which was first.

use crate::trace::tree::Trace;

pub(super) fn sort(trace: &mut Trace) {
    trace.spans.sort_by_key(|span| (span.start, span.end));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{Span, SpanId, TraceId, UnixNanos};

    #[test]
    fn spans_of_one_time_stay_as_they_came() {
        let span = |number: u8, start: u64, end: u64| {
            let id = SpanId::from_bytes(&[number; 8]).expect("not zero");
            let mut span = Span::new(TraceId::from_bytes(&[1; 16]).expect("not zero"), id, "");
            (span.start, span.end) = (UnixNanos(start), UnixNanos(end));
            span
        };
        let mut trace = Trace {
            spans: vec![span(9, 20, 30), span(1, 20, 30), span(5, 20, 25), span(7, 10, 40)],
            ..Trace::default()
        };
        sort(&mut trace);
        let order: Vec<u8> = trace
            .spans
            .iter()
            .map(|span| span.span_id.bytes().first().copied().unwrap_or_default())
            .collect();
        assert_eq!(order, [7, 5, 9, 1]);
    }
}

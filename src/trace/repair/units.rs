//! Converts times to nanoseconds: some clients, and people who write OTLP/JSON, record milliseconds or microseconds instead.

use crate::span::{LATEST, TimeUnit, UnixNanos};
use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

/// Converts the times of a trace from the one other unit in which all of them are present-day times, if any.
pub(super) fn settle(trace: &mut Trace) {
    let is_set = |time: &UnixNanos| time.0 != 0 && *time <= LATEST;
    let mut units = trace
        .spans
        .iter()
        .flat_map(|span| [span.start, span.end])
        .filter(is_set)
        .map(TimeUnit::of);
    let Some(Some(unit)) = units.next() else { return };
    if units.any(|other| other != Some(unit)) {
        return;
    }
    let mend = |time: &mut UnixNanos| {
        if TimeUnit::of(*time) == Some(unit) {
            *time = unit.nanos(*time);
        }
    };
    for span in &mut trace.spans {
        mend(&mut span.start);
        mend(&mut span.end);
        span.events.iter_mut().for_each(|event| mend(&mut event.time));
    }
    let detail = format!("all times are of 1970 in nanoseconds: read as {}", unit.name());
    trace.findings.push(Finding::new(None, FindingKind::TimesInOtherUnit, detail));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{Span, SpanId, TraceId};

    #[test]
    fn only_what_all_spans_agree_on_is_another_unit() {
        let (trace_id, span_id) = (
            TraceId::from_bytes(&[1; 16]).expect("not zero"),
            SpanId::from_bytes(&[1; 8]).expect("not zero"),
        );
        let nanos = 1_767_261_600_000_000_000;
        for (starts, read) in [
            ([nanos / 1_000_000, nanos / 1_000_000 + 5], Some(nanos + 5_000_000)),
            ([nanos / 1_000, nanos / 1_000 + 5], Some(nanos + 5_000)),
            ([nanos, nanos + 5], None),
            ([nanos / 1_000, nanos], None),
            ([nanos / 1_000, nanos / 1_000_000], None),
            // Round numbers of tests.
            ([1_000_000_000_000, 2_000_000_000_000], None),
        ] {
            let spans = starts.map(|start| {
                let mut span = Span::new(trace_id, span_id, "chat");
                span.start = UnixNanos(start);
                span
            });
            let mut trace = Trace {
                spans: spans.into(),
                ..Trace::default()
            };
            settle(&mut trace);
            let [_, last] = starts;
            let found = trace.spans.last().map(|span| (span.start.0, span.end.0));
            assert_eq!(found, Some((read.unwrap_or(last), 0)), "{starts:?}");
            assert_eq!(trace.findings.len(), usize::from(read.is_some()), "{starts:?}");
        }
    }
}

//! Corrects clocks of several hosts: moves a span outside its parent's time, with everything below it.
//!
//! Like tracing backends, this places a server's span within its client's, and nothing before its cause.

use std::sync::Arc;

use crate::span::{Span, SpanKind, UnixNanos};
use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

/// Nanoseconds by which clocks of one host, or a millisecond and a nanosecond clock, may differ.
const TOLERANCE: u64 = 2_000_000;

/// Moves spans with a different clock, and reports those that still begin before their parent.
pub(super) fn align(trace: &mut Trace) {
    let mut moves: Vec<i128> = vec![0; trace.spans.len()];
    for (place, _) in trace.depth_first() {
        let parent = trace.parents.get(place).copied().flatten();
        let Some((above, span)) = parent.and_then(|parent| Some((trace.spans.get(parent)?, trace.spans.get(place)?))) else {
            continue;
        };
        let inherited = parent.and_then(|parent| moves.get(parent)).copied().unwrap_or(0);
        let crosses = crosses(above, span);
        // Spans below a server have its clock, until one is on another host again.
        let candidates = if crosses { [0, inherited] } else { [inherited, 0] };
        let fits = |by: &i128| fits(above, span, *by, crosses);
        let by = candidates.into_iter().find(fits).unwrap_or_else(|| inside(above, span));
        if let Some(slot) = moves.get_mut(place) {
            *slot = by;
        }
        if by != 0 && by != inherited {
            let (behind, direction) = if by > 0 { (by, "behind") } else { (-by, "ahead of") };
            trace.findings.push(Finding::new(
                Some(span.span_id),
                FindingKind::ClockSkew,
                format!("the clock of this span is at least {behind} ns {direction} its parent's: it and what is below it are moved"),
            ));
        }
        if let Some(span) = trace.spans.get_mut(place).filter(|_| by != 0) {
            shift(span, by);
        }
        report(trace, place, parent);
    }
    if moves.iter().any(|by| *by != 0) {
        in_order(trace);
    }
}

/// Whether a span may run on another host than its parent.
fn crosses(above: &Span, span: &Span) -> bool {
    serves(above, span) || !Arc::ptr_eq(&above.resource, &span.resource) && above.resource != span.resource
}

/// Whether a span is a server's work for its parent. Many clients record requests without a span of kind client.
fn serves(above: &Span, span: &Span) -> bool {
    matches!(above.kind, SpanKind::Client | SpanKind::Internal) && matches!(span.kind, SpanKind::Server)
}

/// Clamps to the range of times, so that spans moved by the same amount stay in order. Zero means no time.
fn moved(time: UnixNanos, by: i128) -> UnixNanos {
    if by == 0 {
        return time;
    }
    let moved = (i128::from(time.0) + by).clamp(1, i128::from(u64::MAX));
    UnixNanos(u64::try_from(moved).unwrap_or(time.0))
}

/// Whether a span, moved by this much, may be its parent's child.
fn fits(above: &Span, span: &Span, by: i128, crosses: bool) -> bool {
    let (start, end) = (moved(span.start, by), moved(span.end, by));
    let is_over = !span.is_running() && end.0.saturating_add(TOLERANCE) < above.start.0;
    let waits = crosses && serves(above, span) && !above.is_running();
    let begins_before = waits && start.0.saturating_add(TOLERANCE) < above.start.0;
    let begins_after = waits && start.0 > above.end.0.saturating_add(TOLERANCE);
    !(is_over || begins_before || begins_after)
}

/// The shift that centers a span in its parent, or aligns their starts if the span is longer.
fn inside(above: &Span, span: &Span) -> i128 {
    let length = |span: &Span| i128::from(span.end.0.saturating_sub(span.start.0));
    let rest = if above.is_running() {
        0
    } else {
        (length(above) - length(span)).max(0)
    };
    i128::from(above.start.0) + rest / 2 - i128::from(span.start.0)
}

fn shift(span: &mut Span, by: i128) {
    span.start = moved(span.start, by);
    if !span.is_running() {
        span.end = moved(span.end, by);
    }
    for event in &mut span.events {
        event.time = moved(event.time, by);
    }
}

/// Reports a child that begins before its parent and is not moved.
fn report(trace: &mut Trace, place: usize, parent: Option<usize>) {
    let Some((above, span)) = parent.and_then(|parent| Some((trace.spans.get(parent)?, trace.spans.get(place)?))) else {
        return;
    };
    if span.start < above.start {
        let by = above.start.0 - span.start.0;
        let detail = format!("the span starts {by} ns before its parent");
        trace
            .findings
            .push(Finding::new(Some(span.span_id), FindingKind::ClockSkew, detail));
    }
}

/// Sorts spans by their new starts and rewrites references to them.
fn in_order(trace: &mut Trace) {
    let mut order: Vec<usize> = (0..trace.spans.len()).collect();
    order.sort_by_key(|place| trace.spans.get(*place).map(|span| (span.start, span.end)));
    let mut new_places = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(slot) = new_places.get_mut(*old) {
            *slot = new;
        }
    }
    let moved = |old: usize| new_places.get(old).copied();
    let mut spans: Vec<Option<Span>> = std::mem::take(&mut trace.spans).into_iter().map(Some).collect();
    let parents = std::mem::take(&mut trace.parents);
    trace.spans = order.iter().filter_map(|old| spans.get_mut(*old)?.take()).collect();
    trace.parents = order
        .iter()
        .map(|old| parents.get(*old).copied().flatten().and_then(moved))
        .collect();
    trace.children = vec![Vec::new(); trace.spans.len()];
    trace.roots.clear();
    for (place, parent) in trace.parents.iter().enumerate() {
        match parent.and_then(|parent| trace.children.get_mut(parent)) {
            Some(children) => children.push(place),
            None => trace.roots.push(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{SpanId, TraceId};

    fn span(number: u8, parent: Option<u8>, kind: SpanKind, time: std::ops::Range<u64>) -> Span {
        let id = |number: u8| SpanId::from_bytes(&[number; 8]).expect("not zero");
        let mut span = Span::new(TraceId::from_bytes(&[1; 16]).expect("not zero"), id(number), "");
        span.parent = parent.map(id);
        span.kind = kind;
        let seconds = |time: u64| UnixNanos(1_764_000_000_000_000_000 + time * 1_000_000_000);
        (span.start, span.end) = (seconds(time.start + 3600), seconds(time.end + 3600));
        span
    }

    #[test]
    fn a_server_behind_its_client_is_moved_with_all_below() {
        let mut server = span(3, Some(2), SpanKind::Server, 0..4);
        let mut inner = span(4, Some(3), SpanKind::Internal, 1..2);
        for late in [&mut server, &mut inner] {
            shift(late, -3_600_000_000_000);
        }
        let spans = vec![
            span(1, None, SpanKind::Internal, 0..90),
            span(2, Some(1), SpanKind::Client, 10..20),
            server,
            inner,
        ];
        let trace = Trace::from_spans(spans);
        let starts: Vec<u64> = trace
            .spans
            .iter()
            .map(|span| (span.start.0 - 1_764_003_600_000_000_000) / 1_000_000_000)
            .collect();
        assert_eq!(starts, [0, 10, 13, 14]);
        assert_eq!(
            trace
                .findings
                .iter()
                .filter(|finding| finding.kind == FindingKind::ClockSkew)
                .count(),
            1
        );
    }

    #[test]
    fn what_is_moved_beyond_all_times_ends_no_earlier_than_it_begins() {
        for by in [
            -5_000_000_000_000_000_000_000,
            5_000_000_000_000_000_000_000,
            -1_764_003_601_000_000_000,
        ] {
            let mut late = span(1, None, SpanKind::Internal, 0..4);
            shift(&mut late, by);
            assert!(late.start <= late.end && late.start.0 > 0, "{by}: {:?} {:?}", late.start, late.end);
        }
    }

    #[test]
    fn what_goes_on_behind_its_parent_stays() {
        let spans = vec![
            span(1, None, SpanKind::Internal, 0..10),
            span(2, Some(1), SpanKind::Internal, 20..30),
        ];
        let trace = Trace::from_spans(spans.clone());
        assert_eq!(trace.spans, spans);
    }
}

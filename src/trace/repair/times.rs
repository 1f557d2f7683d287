//! Repairs impossible times: no start, an end before the start, an end beyond any clock.

use crate::hash::HashMap;
use crate::span::{EARLIEST, LATEST, Span, SpanId, TIMES_UNKNOWN, UnixNanos};
use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

/// Substitutes a missing start, with a mark, and an end before the start. An end after [`LATEST`], such as the largest
/// number, means that the span has not ended.
///
/// A span without a start began before everything below it and before its end: these bound it.
pub(super) fn settle(trace: &mut Trace) {
    let is_real = |time: UnixNanos| time >= EARLIEST && time <= LATEST;
    let is_recent = trace.spans.iter().any(|span| is_real(span.start) || is_real(span.end));
    let lacks_start = |span: &Span| is_recent && !is_real(span.start);
    if trace.spans.iter().any(lacks_start) {
        stand_in(trace, lacks_start);
    }
    let (first, last) = bounds(&trace.spans);
    for span in &mut trace.spans {
        if span.end.0 == 0 || span.end > LATEST {
            let detail = match span.end.0 {
                0 => "the span has not ended".to_owned(),
                end => format!("the span has not ended: {end} ns after 1970 is not a time"),
            };
            trace
                .findings
                .push(Finding::new(Some(span.span_id), FindingKind::Unfinished, detail));
            span.end = UnixNanos(0);
        } else if span.end < span.start {
            let by = span.start.0 - span.end.0;
            trace.findings.push(Finding::new(
                Some(span.span_id),
                FindingKind::EndBeforeStart,
                format!("the span ends {by} ns before it starts"),
            ));
            let is_within = |time: UnixNanos| first.is_some_and(|first| first <= time) && last.is_some_and(|last| time <= last);
            if is_within(span.end) && !is_within(span.start) {
                span.start = span.end;
                mark(span, "start");
            } else {
                span.end = span.start;
            }
        }
    }
}

/// The first start and the last end of spans with possible times.
fn bounds(spans: &[Span]) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let sound = || spans.iter().filter(|span| span.start <= span.end && span.end <= LATEST);
    (sound().map(|span| span.start).min(), sound().map(|span| span.end).max())
}

fn mark(span: &mut Span, which: &str) {
    span.attributes.push(TIMES_UNKNOWN, which);
}

fn stand_in(trace: &mut Trace, lacks_start: impl Fn(&Span) -> bool) {
    let places: HashMap<SpanId, usize> = trace.spans.iter().enumerate().map(|(place, span)| (span.span_id, place)).collect();
    let parent_of = |span: &Span| places.get(&span.parent?).copied();
    let mut lacking: Vec<usize> = (0..trace.spans.len())
        .filter(|place| trace.spans.get(*place).is_some_and(&lacks_start))
        .collect();
    let mut known: Vec<(UnixNanos, usize)> = trace.spans.iter().enumerate().map(|(place, span)| (span.start, place)).collect();
    known.retain(|(_, place)| trace.spans.get(*place).is_some_and(|span| !lacks_start(span)));
    known.sort_unstable();
    // The first known start below each span without one: starts are in order, so the first to get there.
    let mut below: HashMap<usize, UnixNanos> = HashMap::default();
    for (start, place) in &known {
        let mut up = trace.spans.get(*place).and_then(parent_of);
        while let Some(place) = up.filter(|place| trace.spans.get(*place).is_some_and(&lacks_start) && !below.contains_key(place)) {
            let _ = below.insert(place, *start);
            up = trace.spans.get(place).and_then(parent_of);
        }
    }
    let first = known.first().map(|(start, _)| *start);
    // Of two spans without a start, the one that ends first is settled first.
    lacking.sort_by_key(|place| trace.spans.get(*place).map(|span| span.end));
    for place in lacking {
        let above = trace.spans.get(place).and_then(parent_of).and_then(|above| trace.spans.get(above));
        let above = above.filter(|above| !lacks_start(above)).map(|above| above.start);
        let Some(span) = trace.spans.get_mut(place) else { continue };
        let end = Some(span.end).filter(|end| *end >= EARLIEST && *end <= LATEST);
        let known = [below.get(&place).copied(), end].into_iter().flatten().min();
        let Some(start) = known.or(above).or(first) else { continue };
        trace.findings.push(Finding::new(
            Some(span.span_id),
            FindingKind::NoStart,
            format!("the span has no start: {} is used instead", start.rfc3339()),
        ));
        span.start = start;
        if span.end < start && span.end.0 != 0 {
            span.end = start;
            mark(span, "start, end");
        } else {
            mark(span, "start");
        }
    }
}

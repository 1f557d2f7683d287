//! Finds the span nearest to a time, for many spans and many times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::span::{Span, SpanId, UnixNanos};

/// A span's duration and id: of equally near spans the shortest wins.
type Best = (u64, SpanId);

/// Spans by their times.
#[derive(Debug, Default)]
pub(super) struct NearestSpan {
    /// For the interval from each key to the next, the best span that contains it.
    holding: BTreeMap<u64, Option<Best>>,
    /// The best span that begins at each time.
    starts: BTreeMap<u64, Best>,
    /// The best span that ends at each time.
    ends: BTreeMap<u64, Best>,
}

impl NearestSpan {
    pub(super) fn of(spans: &[&Span]) -> Self {
        let mut nearest = Self::default();
        let mut begins: Vec<(u64, u64, Best)> = Vec::with_capacity(spans.len());
        for span in spans {
            // A running span has no end and is treated as an instant.
            let (start, end) = (span.start.0, span.end.max(span.start).0);
            let best = (span.end.0.saturating_sub(span.start.0), span.span_id);
            begins.push((start, end, best));
            for (map, at) in [(&mut nearest.starts, start), (&mut nearest.ends, end)] {
                let have = map.entry(at).or_insert(best);
                *have = best.min(*have);
            }
        }
        begins.sort_unstable();
        // The best span is on top; ended spans are popped when they get there.
        let mut open: BinaryHeap<Reverse<(Best, u64)>> = BinaryHeap::new();
        let mut begins = begins.into_iter().peekable();
        let after = nearest.ends.keys().filter_map(|end| end.checked_add(1));
        let mut changes: Vec<u64> = nearest.starts.keys().copied().chain(after).collect();
        changes.sort_unstable();
        changes.dedup();
        for at in changes {
            while let Some((_, end, best)) = begins.next_if(|(start, ..)| *start <= at) {
                open.push(Reverse((best, end)));
            }
            while open.peek().is_some_and(|Reverse((_, end))| *end < at) {
                let _ = open.pop();
            }
            let _ = nearest.holding.insert(at, open.peek().map(|Reverse((best, _))| *best));
        }
        nearest
    }

    /// The span that contains this time, else the one with the nearest end or start.
    pub(super) fn to(&self, at: UnixNanos) -> Option<SpanId> {
        let at = at.0;
        if let Some((_, Some((_, id)))) = self.holding.range(..=at).next_back() {
            return Some(*id);
        }
        let before = self.ends.range(..at).next_back().map(|(end, best)| (at - end, *best));
        let after = self.starts.range(at..).next().map(|(start, best)| (start - at, *best));
        before.into_iter().chain(after).min().map(|(_, (_, id))| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::TraceId;

    /// By definition: the smallest gap, then the shortest, then the lowest id.
    fn plainly(spans: &[&Span], at: UnixNanos) -> Option<SpanId> {
        let gap = |span: &Span| {
            if at < span.start {
                span.start.0 - at.0
            } else {
                at.0.saturating_sub(span.end.max(span.start).0)
            }
        };
        let key = |span: &&&Span| (gap(span), span.end.0.saturating_sub(span.start.0), span.span_id);
        spans.iter().min_by_key(key).map(|span| span.span_id)
    }

    #[test]
    #[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
    fn as_when_each_span_is_asked() {
        let mut state = 7u64;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let edge = [0, 1, u64::MAX - 1, u64::MAX];
        for round in 0..500 {
            let spans: Vec<Span> = (0..below(9))
                .map(|number| {
                    let id = SpanId::from_bytes(&(number + 1).to_be_bytes()).unwrap();
                    let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), id, "");
                    let mut time = || {
                        if below(8) == 0 {
                            edge[usize::try_from(below(4)).unwrap()]
                        } else {
                            below(20)
                        }
                    };
                    (span.start, span.end) = (UnixNanos(time()), UnixNanos(time()));
                    span
                })
                .collect();
            let spans: Vec<&Span> = spans.iter().collect();
            let nearest = NearestSpan::of(&spans);
            for at in (0..25).chain(edge) {
                assert_eq!(
                    nearest.to(UnixNanos(at)),
                    plainly(&spans, UnixNanos(at)),
                    "round {round}, {at}: {spans:?}"
                );
            }
        }
    }
}

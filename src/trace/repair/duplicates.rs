//! One body a span id: the one that ended later; the same bytes again are a no-op.

use crate::hash::HashMap;
use crate::span::{Span, SpanId};
use crate::trace::{Finding, FindingKind, Trace};

pub(super) fn keep_one(trace: &mut Trace) {
    let mut kept: Vec<Span> = Vec::with_capacity(trace.spans.len());
    // Made where a span id comes with several bodies, once a body.
    let mut ranks: HashMap<SpanId, Rank> = HashMap::default();
    let mut superseded: Vec<(Rank, Span)> = Vec::new();
    let mut at = HashMap::with_capacity_and_hasher(trace.spans.len(), foldhash::fast::RandomState::default());
    for span in std::mem::take(&mut trace.spans) {
        let slot = match at.get(&span.span_id) {
            Some(slot) => *slot,
            None => {
                let _ = at.insert(span.span_id, kept.len());
                kept.push(span);
                continue;
            }
        };
        let Some(have) = kept.get_mut(slot) else { continue };
        if *have == span {
            continue;
        }
        let had = ranks.entry(span.span_id).or_insert_with(|| rank(have));
        let came = rank(&span);
        // NaN is not equal to itself, its text is.
        if *had == came {
            continue;
        }
        trace.findings.push(Finding::new(
            Some(span.span_id),
            FindingKind::DuplicateSpan,
            "the span came with different bodies; the one that ended later is used",
        ));
        if came > *had {
            superseded.push((std::mem::replace(had, came), std::mem::replace(have, span)));
        } else {
            superseded.push((came, span));
        }
    }
    superseded.sort_by(|(a, _), (b, _)| a.cmp(b));
    trace.superseded = superseded.into_iter().map(|(_, span)| span).collect();
    trace.superseded.dedup();
    trace.spans = kept;
}

/// The later end wins, then the fuller body; the text settles ties the same way in any order of arrival.
type Rank = (u64, usize, String);

fn rank(span: &Span) -> Rank {
    (span.end.0, span.attributes.len() + span.events.len(), format!("{span:?}"))
}

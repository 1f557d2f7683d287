//! Keeps one body for each span id: the last revision if the client numbers them, else the one that ended later. Identical
//! bodies count as one.

use std::cell::OnceCell;
use std::cmp::Ordering;

use crate::hash::HashMap;
use crate::span::{AnyValue, LOGS_SCOPE, SESSION_SCOPE, Span, SpanId, UnixNanos};
use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

pub(super) fn keep_one(trace: &mut Trace) {
    let mut kept: Vec<Span> = Vec::with_capacity(trace.spans.len());
    // Computed only for span ids with several bodies, once per body.
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
        let had = ranks.entry(span.span_id).or_insert_with(|| Rank::of(have));
        let came = Rank::of(&span);
        let order = came.cmp((&span, had, have));
        // Compared by rank, since NaN is not equal to itself, but its text is.
        if order == Ordering::Equal {
            continue;
        }
        // For a growing session, this program itself writes several bodies.
        if !matches!(span.scope.name.as_str(), SESSION_SCOPE | LOGS_SCOPE) {
            trace.findings.push(Finding::new(
                Some(span.span_id),
                FindingKind::DuplicateSpan,
                "the span came with different bodies; the one that ended later is used",
            ));
        }
        if order == Ordering::Greater {
            superseded.push((std::mem::replace(had, came), std::mem::replace(have, span)));
        } else {
            superseded.push((came, span));
        }
    }
    superseded.sort_by(|(one, span), (other, of)| one.cmp((span, other, of)));
    trace.superseded = superseded.into_iter().map(|(_, span)| span).collect();
    trace.superseded.dedup();
    trace.spans = kept;
}

/// The attribute that numbers the bodies of a span which the client sends repeatedly while it runs (judgeval).
const REVISION: &str = "judgment.update_id";

/// The higher revision wins, then the later end, then the fuller body; the text breaks ties independently of the order of arrival.
struct Rank {
    revision: Option<i64>,
    end: UnixNanos,
    parts: usize,
    /// Computed only for ties, because it is long.
    text: OnceCell<String>,
}

impl Rank {
    fn of(span: &Span) -> Self {
        let revision = match span.attributes.get(REVISION) {
            Some(AnyValue::Int(number)) => Some(*number),
            _ => None,
        };
        Self {
            revision,
            end: span.end,
            parts: span.attributes.len() + span.events.len(),
            text: OnceCell::new(),
        }
    }

    /// This span's rank against another's.
    fn cmp(&self, (span, other, of): (&Span, &Self, &Span)) -> Ordering {
        let known = (self.revision, self.end, self.parts).cmp(&(other.revision, other.end, other.parts));
        known
            .then_with(|| self.text(span).len().cmp(&other.text(of).len()))
            .then_with(|| self.text(span).cmp(other.text(of)))
    }

    fn text(&self, span: &Span) -> &str {
        self.text.get_or_init(|| format!("{span:?}"))
    }
}

//! Spans that continue another one's conversation, written in full for destinations that cannot read this.

use bytes::Bytes;

use super::cost;
use super::memory::{MEMORY, share};
use crate::dialect::{Continuation, Registry};
use crate::otlp::{decode, encode};
use crate::run::{self, InFull};
use crate::span::{Signal, Span};
use crate::store::Store;

/// Messages that a request repeats take this many bytes at most: the other spans are sent as they came.
const MOST: usize = 16 << 20;

/// A larger trace is not read for the spans of a request that go on with others of it.
const TRACE: u64 = 4 << 20;

/// The request, its spans with all that went into them. A request that cannot be decoded stays as it came.
pub(super) fn request_in_full(message: Bytes, store: &dyn Store, registry: &Registry) -> Bytes {
    if !Continuation::may_be_in(&message) {
        return message;
    }
    let cost = cost::of_translation(&message, Signal::Traces);
    if cost > share(message.len()) {
        return message;
    }
    let _reserved = MEMORY.reserve(cost.saturating_add(2 * MOST));
    let Ok(decoded) = decode::traces(&message) else { return message };
    if !decoded.refused.is_empty() {
        return message;
    }
    let mut spans = decoded.items;
    let mut others = Vec::new();
    for trace in run::missing_bases(&spans) {
        let is_small = store.row(trace).ok().flatten().is_some_and(|row| row.bytes <= TRACE);
        let stored = is_small.then(|| store.read_trace(trace).ok()).flatten().flatten();
        others.extend(stored.into_iter().flat_map(|stored| stored.spans));
    }
    match spans_in_full(&mut spans, &others, registry) {
        0 => message,
        _ => encode::traces(&spans).into(),
    }
}

/// Writes all that went into spans into their own attributes; how many are changed.
pub(super) fn spans_in_full(spans: &mut [Span], others: &[Span], registry: &Registry) -> usize {
    let InFull { written, left } = run::in_full(spans, others, registry, MOST);
    if left > 0 {
        tracing::info!(
            spans = left,
            "spans are forwarded with only what is new in their conversation: all of it would take too much, or is not there"
        );
    }
    written
}

//! Writes spans that continue another span's conversation in full, for destinations that cannot resolve continuations.

use bytes::Bytes;

use super::cost;
use super::memory::{MEMORY, share};
use crate::dialect::{Continuation, Registry};
use crate::otlp::{decode, encode};
use crate::run::{self, InFull};
use crate::span::{Signal, Span};
use crate::store::Store;

/// Maximum bytes of repeated messages in a request; further spans are sent as they are.
const MAX_REPEATED_BYTES: usize = 16 << 20;

/// Maximum bytes of a trace that is read to resolve continuations.
const MAX_TRACE_BYTES: u64 = 4 << 20;

/// The request with the complete input of each span. A request that cannot be decoded stays as it is.
pub(super) fn request_in_full(message: Bytes, store: &dyn Store, registry: &Registry) -> Bytes {
    if !Continuation::may_be_in(&message) {
        return message;
    }
    let cost = cost::of_translation(&message, Signal::Traces);
    if cost > share(message.len()) {
        return message;
    }
    let _reserved = MEMORY.reserve(cost.saturating_add(2 * MAX_REPEATED_BYTES));
    let Ok(decoded) = decode::traces(&message) else { return message };
    if !decoded.refused.is_empty() {
        return message;
    }
    let mut spans = decoded.items;
    let mut others = Vec::new();
    for trace in run::missing_bases(&spans) {
        let is_small = store.row(trace).ok().flatten().is_some_and(|row| row.bytes <= MAX_TRACE_BYTES);
        let stored = is_small.then(|| store.read_trace(trace).ok()).flatten().flatten();
        others.extend(stored.into_iter().flat_map(|stored| stored.spans));
    }
    match spans_in_full(&mut spans, &others, registry) {
        0 => message,
        _ => encode::traces(&spans).into(),
    }
}

/// Writes the complete input of spans into their own attributes; returns how many changed.
pub(super) fn spans_in_full(spans: &mut [Span], others: &[Span], registry: &Registry) -> usize {
    let InFull { written, left } = run::in_full(spans, others, registry, MAX_REPEATED_BYTES);
    if left > 0 {
        tracing::info!(
            spans = left,
            "spans are forwarded with only what is new in their conversation: all of it would take too much, or is not there"
        );
    }
    written
}

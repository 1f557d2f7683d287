//! Estimates the memory that a trace takes while it is read, from its bytes before they are decoded.

use crate::otlp::census::{Census, census};
use crate::store::ChunkKind;

/// A trace with fewer bytes is not looked through: it takes this many times its bytes at most.
const SMALL: u64 = 64 << 10;
const SMALL_FACTOR: usize = 300;

/// What a trace is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its spans as they are.
    Spans,
    /// A document, or its entry in a list.
    Document,
}

/// Bytes of memory for a trace, or for all of a session, that has few bytes; `None`: its chunks have to be looked through.
pub(crate) fn of_small(bytes: u64) -> Option<usize> {
    let bytes = usize::try_from(Some(bytes).filter(|bytes| *bytes <= SMALL)?).ok()?;
    Some(bytes * SMALL_FACTOR)
}

/// Bytes of memory for one chunk. The factors are measured: `tests/security/reading.rs` checks them.
pub(crate) fn of_chunk(kind: ChunkKind, message: &[u8], purpose: Purpose) -> usize {
    let Census {
        items,
        parts,
        pairs,
        values,
        json_values,
        ..
    } = census(message, kind.signal());
    let (item, value, byte) = match purpose {
        Purpose::Spans => (1_000, 130, 4),
        Purpose::Document => (4_500, 200, 9),
    };
    let json = if purpose == Purpose::Spans { 0 } else { 180 };
    [
        (items, item),
        (parts, 160),
        (pairs, 150),
        (values, value),
        (json_values, json),
        (message.len(), byte),
    ]
    .into_iter()
    .fold(0, |sum, (count, each)| sum.saturating_add(count.saturating_mul(each)))
}

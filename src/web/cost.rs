//! Estimates the memory needed to read a trace, from its bytes before they are decoded.

use crate::otlp::census::{Census, census};
use crate::store::ChunkKind;

/// A smaller trace is not scanned: it takes at most this many times its size.
const SMALL: u64 = 64 << 10;
const SMALL_FACTOR: usize = 300;

/// Why a trace is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For its spans as they are.
    Spans,
    /// For a document, or an entry in a list.
    Document,
}

/// Memory for a small trace or session; `None`: its chunks must be scanned.
pub(crate) fn of_small(bytes: u64) -> Option<usize> {
    let bytes = usize::try_from(Some(bytes).filter(|bytes| *bytes <= SMALL)?).ok()?;
    Some(bytes * SMALL_FACTOR)
}

/// Memory for one chunk. The factors are measured: `tests/security/reading.rs` checks them.
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

//! Chunks in their order of arrival.

use super::chunk::kind::ChunkKind;
use super::log::Position;
use crate::span::TraceId;

/// Consecutive chunks of the log.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    /// The chunks, in the order in which they came.
    pub chunks: Vec<Arrival>,
    /// Where the next read goes on.
    pub next: Position,
    /// Segments between the position and the first chunk that retention has removed.
    pub removed_segments: u64,
    /// Bytes that were skipped because they are damaged on the disk.
    pub damaged_bytes: u64,
}

/// One chunk as it came.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Its position.
    pub at: Position,
    /// Its kind.
    pub kind: ChunkKind,
    /// Its trace; `None` for loose log records and for metrics.
    pub trace_id: Option<TraceId>,
    /// When it came, nanoseconds since 1970.
    pub time: u64,
    /// Its OTLP message.
    pub message: Vec<u8>,
}

/// Which chunks are read.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalLimits {
    /// Reading ends once the messages take this many bytes; at least one chunk is read.
    pub bytes: usize,
    /// No chunk that came later, in nanoseconds since 1970.
    pub latest: u64,
}

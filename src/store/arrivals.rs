//! Reading chunks in order of arrival.

use super::chunk::kind::ChunkKind;
use super::log::Position;
use crate::span::TraceId;

/// Consecutive chunks of the log.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    /// The chunks, in order of arrival.
    pub chunks: Vec<Arrival>,
    /// Position at which the next read continues.
    pub next: Position,
    /// Segments between the requested position and the first chunk that retention has removed.
    pub removed_segments: u64,
    /// Bytes skipped because they are damaged on disk.
    pub damaged_bytes: u64,
}

/// One chunk, with when it arrived.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Its position.
    pub at: Position,
    /// Its kind.
    pub kind: ChunkKind,
    /// Its trace; `None` for loose log records and for metrics.
    pub trace_id: Option<TraceId>,
    /// Arrival time, nanoseconds since 1970.
    pub time: u64,
    /// Its OTLP message.
    pub message: Vec<u8>,
}

/// Limits of one read.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalLimits {
    /// Stop reading once the messages reach this many bytes; at least one chunk is read.
    pub bytes: usize,
    /// Skip chunks that arrived later than this, in nanoseconds since 1970.
    pub latest: u64,
}

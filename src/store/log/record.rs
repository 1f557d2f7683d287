//! The head of a record.

use crate::span::TraceId;
use crate::store::chunk::kind::ChunkKind;

/// Size of a head in bytes.
pub const HEAD: usize = 40;

/// A place in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Number of the segment.
    pub segment: u64,
    /// Byte offset in it.
    pub offset: u64,
}

/// What a record contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A chunk; its message is an OTLP request.
    Chunk(ChunkKind),
    /// A chunk whose message has references in place of its items' envelopes.
    Shared(ChunkKind),
    /// The envelope of a resource, shared by later chunks.
    OfResource,
    /// The envelope of a scope, shared by later chunks.
    OfScope,
}

impl RecordKind {
    /// The number on disk.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Chunk(kind) => kind.number(),
            Self::Shared(kind) => kind.number() + SHARED,
            Self::OfResource => 4,
            Self::OfScope => 5,
        }
    }

    /// Whether its message may be compressed separately.
    pub(super) fn may_be_packed(self) -> bool {
        matches!(self, Self::Chunk(kind) | Self::Shared(kind) if kind != ChunkKind::Metrics)
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            4 => Some(Self::OfResource),
            5 => Some(Self::OfScope),
            6..=8 => ChunkKind::from_number(number - SHARED).map(Self::Shared),
            _ => ChunkKind::from_number(number).map(Self::Chunk),
        }
    }
}

/// Added to a chunk's number if it shares envelopes.
const SHARED: u8 = 5;
/// Added to the number of a chunk whose message is compressed separately, even in a raw segment.
pub(super) const PACKED: u8 = 16;
/// A record that was deleted on request: zeros. Readers treat it as an unknown kind.
pub(super) const ERASED: u8 = 10;
/// The largest known kind.
pub(super) const LAST_KIND: u8 = PACKED + 8;

/// The head of a record, before its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Length of the message in bytes.
    pub length: u32,
    /// The kind's number, plus 16 if the message is compressed separately; kinds of later versions are kept as they are.
    pub kind: u8,
    /// Time of arrival, nanoseconds since 1970.
    pub arrival: u64,
    /// The trace, if there is one.
    pub trace_id: Option<TraceId>,
    /// CRC-32 of the message.
    pub checksum: u32,
}

impl Head {
    /// The kind, if this version knows it.
    #[must_use]
    pub fn kind(&self) -> Option<RecordKind> {
        match self.kind.checked_sub(PACKED) {
            None => RecordKind::from_number(self.kind),
            Some(number) => RecordKind::from_number(number).filter(|kind| kind.may_be_packed()),
        }
    }

    /// Whether the message is compressed separately.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.kind >= PACKED && self.kind().is_some()
    }

    /// The head in its form on disk.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let mut put = |from: usize, field: &[u8]| bytes.iter_mut().skip(from).zip(field).for_each(|(to, from)| *to = *from);
        put(0, &self.length.to_le_bytes());
        put(4, &[self.kind]);
        put(8, &self.arrival.to_le_bytes());
        if let Some(id) = self.trace_id {
            put(16, id.bytes());
        }
        put(32, &self.checksum.to_le_bytes());
        let own = bytes.split_last_chunk::<4>().map_or(0, |(fields, _)| crc32fast::hash(fields));
        bytes.iter_mut().skip(36).zip(own.to_le_bytes()).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Parses a head; `None` if its own checksum does not match.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fields, own) = bytes.get(..HEAD)?.split_last_chunk::<4>()?;
        if crc32fast::hash(fields) != u32::from_le_bytes(*own) {
            return None;
        }
        let (length, rest) = fields.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first_chunk::<4>()?;
        let (arrival, rest) = rest.split_first_chunk::<8>()?;
        let (trace_id, checksum) = rest.split_first_chunk::<16>()?;
        Some(Self {
            length: u32::from_le_bytes(*length),
            kind: kind[0],
            arrival: u64::from_le_bytes(*arrival),
            trace_id: TraceId::from_bytes(trace_id),
            checksum: u32::from_le_bytes(checksum.try_into().ok()?),
        })
    }
}

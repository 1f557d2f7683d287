//! Values of a writer's database, in protobuf so that later versions can add fields.

use prost::Message;

use crate::store::chunk::{Chunk, ChunkKind};

/// What lists show of a chunk.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Head {
    /// Number of the chunk in the database.
    #[prost(uint64, tag = "1")]
    pub(super) number: u64,
    /// Arrival time, nanoseconds since 1970.
    #[prost(fixed64, tag = "2")]
    pub(super) arrival: u64,
    #[prost(uint32, tag = "3")]
    pub(super) kind: u32,
    #[prost(uint64, tag = "4")]
    pub(super) items: u64,
    #[prost(uint64, tag = "5")]
    pub(super) errors: u64,
    #[prost(fixed64, tag = "6")]
    pub(super) start: u64,
    #[prost(fixed64, tag = "7")]
    pub(super) end: u64,
    /// Size of its message.
    #[prost(uint64, tag = "8")]
    pub(super) bytes: u64,
    #[prost(string, optional, tag = "9")]
    pub(super) root: Option<String>,
    #[prost(fixed64, tag = "10")]
    pub(super) root_start: u64,
    #[prost(bool, tag = "11")]
    pub(super) root_ended: bool,
    #[prost(string, optional, tag = "12")]
    pub(super) service: Option<String>,
    #[prost(string, optional, tag = "13")]
    pub(super) session: Option<String>,
    #[prost(bool, tag = "14")]
    pub(super) session_of_root: bool,
    /// The claims by which it was stored; most chunks have none.
    #[prost(uint64, repeated, tag = "15")]
    pub(super) claims: Vec<u64>,
    /// Services beside `service`.
    #[prost(string, repeated, tag = "16")]
    pub(super) further_services: Vec<String>,
}

/// A chunk in order of arrival.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrivalRecord {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) owner: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub(super) kind: u32,
    /// Arrival time, nanoseconds since 1970.
    #[prost(fixed64, tag = "3")]
    pub(super) time: u64,
    /// Total size of the messages before it.
    #[prost(uint64, tag = "4")]
    pub(super) before: u64,
    /// Size of its message.
    #[prost(uint64, tag = "5")]
    pub(super) bytes: u64,
}

/// A writer's counters.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Counter {
    /// Version of the tables.
    #[prost(uint32, tag = "1")]
    pub(super) version: u32,
    /// The number of the next chunk.
    #[prost(uint64, tag = "2")]
    pub(super) next: u64,
    /// Total size of all messages.
    #[prost(uint64, tag = "3")]
    pub(super) bytes: u64,
    /// Arrival of the last chunk.
    #[prost(fixed64, tag = "4")]
    pub(super) last: u64,
    /// Number of chunks, if databases were merged into this one: numbers then have gaps.
    #[prost(uint64, optional, tag = "5")]
    pub(super) chunks: Option<u64>,
}

/// Raised when earlier programs can no longer read what is written.
pub(super) const VERSION: u32 = 1;

/// The object that claims the next append to a trace: whoever created it appends its chunk.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Claim {
    /// The writer that created it.
    #[prost(string, tag = "1")]
    pub(super) writer: String,
    /// Distinguishes this attempt from all others.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) nonce: Vec<u8>,
    /// When it was created, nanoseconds since 1970.
    #[prost(fixed64, tag = "3")]
    pub(super) time: u64,
    /// The chunk's message, compressed.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) packed: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) digest: Vec<u8>,
    /// What lists show of it.
    #[prost(message, required, tag = "6")]
    pub(super) head: Head,
}

impl Head {
    /// What is known of a chunk before it has a number.
    pub(super) fn of(chunk: &Chunk) -> Self {
        let part = chunk.part();
        let (root_start, root) = part.root.clone().unzip();
        let is_of_spans = chunk.kind() == ChunkKind::Spans;
        let is_loose = chunk.kind() == ChunkKind::LooseLogs;
        Self {
            number: 0,
            arrival: 0,
            kind: chunk.kind().number().into(),
            items: part.items as u64,
            errors: part.errors as u64,
            // Times of a trace's log records are not times of the trace.
            start: if is_of_spans || is_loose { part.start } else { 0 },
            end: if is_of_spans || is_loose { part.end } else { 0 },
            bytes: chunk.length() as u64,
            root,
            root_start: root_start.unwrap_or_default(),
            root_ended: part.root_ended,
            service: part.service.as_deref().map(str::to_owned),
            session: part.session.as_deref().map(str::to_owned),
            session_of_root: part.session_of_root,
            claims: Vec::new(),
            further_services: part.further_services.iter().map(|service| service.to_string()).collect(),
        }
    }

    pub(super) fn kind(&self) -> Option<ChunkKind> {
        kind_of(self.kind)
    }
}

pub(super) fn kind_of(number: u32) -> Option<ChunkKind> {
    u8::try_from(number).ok().and_then(ChunkKind::from_number)
}

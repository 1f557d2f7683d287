//! What is stored as one: the spans or log records of one trace that came in one request.

use bytes::Bytes;

use crate::otlp::scan::{Key, Part, Scan, scan};
use crate::otlp::{Cut, Fault};
use crate::span::{Signal, TraceId};

/// What a record of the log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// Spans of one trace: an `ExportTraceServiceRequest`.
    Spans,
    /// Log records of one trace: an `ExportLogsServiceRequest`.
    Logs,
    /// Log records without a trace, of one session.
    LooseLogs,
}

impl ChunkKind {
    /// The number on the disk.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Spans => 1,
            Self::Logs => 2,
            Self::LooseLogs => 3,
        }
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Spans),
            2 => Some(Self::Logs),
            3 => Some(Self::LooseLogs),
            _ => None,
        }
    }

    /// What the chunk's message carries.
    #[must_use]
    pub fn signal(self) -> Signal {
        match self {
            Self::Spans => Signal::Traces,
            Self::Logs | Self::LooseLogs => Signal::Logs,
        }
    }
}

/// One chunk.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// What it holds.
    pub kind: ChunkKind,
    /// What the scan says of it.
    pub part: Part,
    /// CRC-32 of the message.
    pub checksum: u32,
    request: Bytes,
    cut: Cut,
}

impl Chunk {
    /// The chunks of a request that was scanned. They share its bytes.
    #[must_use]
    pub fn of_request(scan: &Scan, request: impl Into<Bytes>) -> Vec<Self> {
        let request = request.into();
        let cuts = scan.split(request.len()).into_iter();
        let parts = scan.parts.iter().cloned();
        parts
            .zip(cuts)
            .map(|(part, cut)| {
                let kind = match (&part.key, scan.signal) {
                    (Key::Trace(_), Signal::Traces) => ChunkKind::Spans,
                    (Key::Trace(_), _) => ChunkKind::Logs,
                    (Key::Session(_), _) => ChunkKind::LooseLogs,
                };
                Self::new(kind, part, request.clone(), cut)
            })
            .collect()
    }

    fn new(kind: ChunkKind, part: Part, request: Bytes, cut: Cut) -> Self {
        let mut checksum = crc32fast::Hasher::new();
        cut.slices(&request).for_each(|slice| checksum.update(slice));
        Self {
            kind,
            part,
            checksum: checksum.finalize(),
            request,
            cut,
        }
    }

    /// The chunk that a record holds; `None` if the message is not what the record says.
    ///
    /// # Errors
    ///
    /// The message is broken, although its checksum holds.
    pub fn of_record(kind: ChunkKind, message: Vec<u8>, session_keys: &[&str]) -> Result<Option<Self>, Fault> {
        // More than one part: the keys that name a session were others when the record was written; the first has it all.
        let part = scan(&message, kind.signal(), session_keys)?.parts.into_iter().next();
        let cut = Cut::whole(message.len());
        Ok(part.map(|part| Self::new(kind, part, message.into(), cut)))
    }

    /// The trace; `None` for loose log records.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        match self.part.key {
            Key::Trace(trace_id) => Some(trace_id),
            Key::Session(_) => None,
        }
    }

    /// Length of the message in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.cut.length()
    }

    /// The OTLP message, one slice after the other.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.cut.slices(&self.request)
    }

    /// Whether the message is these bytes.
    #[must_use]
    pub fn is(&self, message: &[u8]) -> bool {
        let mut rest = message;
        let same = self.slices().all(|slice| match rest.split_at_checked(slice.len()) {
            Some((begin, after)) => {
                rest = after;
                begin == slice
            }
            None => false,
        });
        same && rest.is_empty()
    }
}

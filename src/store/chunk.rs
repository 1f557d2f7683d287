//! What is stored as one: the spans or log records of one trace that came in one request.

use sha2::{Digest as _, Sha256};

use crate::otlp::Fault;
use crate::otlp::scan::{Key, Part, Scan, scan};
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
    /// The OTLP message.
    pub bytes: Vec<u8>,
    /// The first half of the message's SHA-256.
    pub digest: [u8; 16],
}

impl Chunk {
    /// The chunks of a request that was scanned.
    #[must_use]
    pub fn of_request(scan: &Scan, bytes: &[u8]) -> Vec<Self> {
        let messages = scan.split(bytes).into_iter();
        let parts = scan.parts.iter().cloned();
        parts
            .zip(messages)
            .map(|(part, message)| Self::new(scan.signal, part, message.into_owned()))
            .collect()
    }

    fn new(signal: Signal, part: Part, bytes: Vec<u8>) -> Self {
        let kind = match (&part.key, signal) {
            (Key::Trace(_), Signal::Traces) => ChunkKind::Spans,
            (Key::Trace(_), _) => ChunkKind::Logs,
            (Key::Session(_), _) => ChunkKind::LooseLogs,
        };
        let digest = digest(&bytes);
        Self { kind, part, bytes, digest }
    }

    /// The chunk that a record holds; `None` if the message is not what the record says.
    ///
    /// # Errors
    ///
    /// The message is broken, although its checksum holds.
    pub fn of_record(kind: ChunkKind, bytes: Vec<u8>, session_keys: &[&str]) -> Result<Option<Self>, Fault> {
        let mut scanned = scan(&bytes, kind.signal(), session_keys)?;
        if scanned.parts.len() > 1 {
            // The keys that name a session were others when the record was written: the first session has it all.
            scanned.parts.truncate(1);
        }
        let part = scanned.parts.pop();
        Ok(part.map(|part| Self {
            kind,
            part,
            digest: digest(&bytes),
            bytes,
        }))
    }

    /// The trace; `None` for loose log records.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        match self.part.key {
            Key::Trace(trace_id) => Some(trace_id),
            Key::Session(_) => None,
        }
    }
}

fn digest(bytes: &[u8]) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    let mut half = [0; 16];
    half.iter_mut().zip(whole).for_each(|(half, whole)| *half = whole);
    half
}

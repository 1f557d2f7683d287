//! What a chunk contains, and its number on the disk.

use crate::span::Signal;

/// What a record of the log contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// Spans of one trace: an `ExportTraceServiceRequest`.
    Spans,
    /// Log records of one trace: an `ExportLogsServiceRequest`.
    Logs,
    /// Log records without a trace, of one session.
    LooseLogs,
    /// Metrics, the whole request: an `ExportMetricsServiceRequest`. Not in the index.
    Metrics,
}

impl ChunkKind {
    /// The number on the disk.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Spans => 1,
            Self::Logs => 2,
            Self::LooseLogs => 3,
            Self::Metrics => 9,
        }
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Spans),
            2 => Some(Self::Logs),
            3 => Some(Self::LooseLogs),
            9 => Some(Self::Metrics),
            _ => None,
        }
    }

    /// What the chunk's message carries.
    #[must_use]
    pub fn signal(self) -> Signal {
        match self {
            Self::Spans => Signal::Traces,
            Self::Logs | Self::LooseLogs => Signal::Logs,
            Self::Metrics => Signal::Metrics,
        }
    }
}

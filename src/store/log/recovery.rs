//! What was found when the log was opened: what a crash left, and what was lost.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::record::Position;

/// What was found when the log was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The end of the last segment, if a record was cut off there.
    pub torn: Option<Torn>,
    /// Places that could not be read and were skipped.
    pub damaged: Vec<Damage>,
    /// Acknowledged records that are gone, since now or earlier, until an operator acknowledges the loss.
    pub lost: Vec<Lost>,
    /// Number of records replayed into the index.
    pub replayed: usize,
    /// Why the index was rebuilt, if it was.
    pub index_rebuilt: Option<String>,
    /// Faults of the files that record deletions, which were rewritten.
    pub deletions_mended: Vec<String>,
}

/// An unfinished record at the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Where it begins.
    pub at: Position,
    /// Number of bytes that were cut off.
    pub bytes: u64,
    /// Whether the index has records there: then they were acknowledged, and the file was cut afterwards.
    pub acknowledged: bool,
}

/// Bytes that differ from what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin.
    pub at: Position,
    /// Number of bytes.
    pub bytes: u64,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { segment, offset } = self.at;
        let bytes = self.bytes;
        if self.acknowledged {
            write!(
                f,
                "segment {segment}: {bytes} bytes at byte {offset} are the rest of an acknowledged record, and were cut off"
            )
        } else {
            write!(
                f,
                "segment {segment}: {bytes} bytes of an unfinished write at byte {offset} were cut off; as far as the index knows, nothing acknowledged was in them"
            )
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { segment, offset } = self.at;
        write!(
            f,
            "segment {segment}: {} bytes at byte {offset} are damaged and were skipped",
            self.bytes
        )
    }
}

/// Acknowledged records of one segment that are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The segment they were in.
    pub segment: u64,
    /// What is wrong with the segment.
    #[serde(flatten)]
    pub fault: Fault,
    /// Number of records.
    pub records: u64,
    /// Number of traces they belong to.
    pub traces: u64,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "lowercase")]
pub enum Fault {
    /// The file is gone.
    Gone,
    /// The file was cut off.
    Cut {
        /// Its size now.
        bytes: u64,
    },
    /// Parts of it differ from what was written.
    Damaged,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            segment, records, traces, ..
        } = self;
        match self.fault {
            Fault::Gone => write!(f, "segment {segment}: the file is gone")?,
            Fault::Cut { bytes } => write!(f, "segment {segment}: the file was cut off at byte {bytes}")?,
            Fault::Damaged => write!(f, "segment {segment}: parts of the file are damaged")?,
        }
        match records {
            0 => f.write_str("; all its records are there"),
            _ => write!(f, "; {records} acknowledged records of {traces} traces are lost"),
        }
    }
}

//! Records in a small file which spans are being prepared: if they crash the process, the next start can skip them.
//!
//! The file is not synced: it must only survive the process, not the machine.

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ForwardError;
use crate::store::Position;

/// Chunks that were being prepared when the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempt {
    segment: u64,
    offset: u64,
    end_segment: u64,
    end_offset: u64,
    /// Whether only the first chunk was being prepared.
    alone: bool,
}

/// The file that records a destination's attempts.
#[derive(Debug)]
pub(super) struct Attempts {
    file: File,
    path: PathBuf,
}

impl Attempt {
    /// Covers the chunks from one position up to another.
    pub(super) fn new(from: Position, end: Position, alone: bool) -> Self {
        Self {
            segment: from.segment,
            offset: from.offset,
            end_segment: end.segment,
            end_offset: end.offset,
            alone,
        }
    }

    fn from(&self) -> Position {
        Position {
            segment: self.segment,
            offset: self.offset,
        }
    }

    fn end(&self) -> Position {
        Position {
            segment: self.end_segment,
            offset: self.end_offset,
        }
    }

    /// Whether the chunk at this position may have ended the process.
    pub(super) fn suspects(&self, at: Position) -> bool {
        at >= self.from() && at < self.end()
    }

    /// Whether the chunk at this position did end the process.
    pub(super) fn blames(&self, at: Position) -> bool {
        self.alone && at == self.from()
    }
}

impl Attempts {
    /// Opens a destination's file; returns the attempt that was in progress when the process ended.
    pub(super) fn open(folder: &Path, name: &str) -> Result<(Self, Option<Attempt>), ForwardError> {
        let path = folder.join(format!("{name}.attempt.json"));
        let before = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(ForwardError::io("open", &path))?;
        Ok((Self { file, path }, before))
    }

    /// Records what is being prepared now; `None`: nothing.
    pub(super) fn note(&mut self, attempt: Option<Attempt>) -> Result<(), ForwardError> {
        let bytes = attempt.map_or_else(Vec::new, |attempt| serde_json::to_vec(&attempt).unwrap_or_default());
        let mut write = || {
            self.file.rewind()?;
            self.file.write_all(&bytes)?;
            self.file.set_len(bytes.len() as u64)
        };
        write().map_err(ForwardError::io("write", &self.path))
    }
}

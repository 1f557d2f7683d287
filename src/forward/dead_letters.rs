//! Spans and log records that a destination refused for good: one JSON line each, with the reason. What they hold stays in the log
//! and is named by its place there, so they can be sent again until retention removes it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ForwardError;
use super::progress::replace;
use crate::span::Signal;
use crate::store::Position;

/// A span or log record that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// When it was given up, nanoseconds since 1970.
    pub time: u64,
    /// `traces`, `logs` or `metrics`.
    pub signal: String,
    /// The segment that has it; `None`: it came from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u64>,
    /// The byte at which its chunk begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Its trace, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Its span, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// How many items are meant: more than one where the destination refused a part of a request and did not say which.
    pub items: u64,
    /// What the destination said.
    pub reason: String,
}

impl DeadLetter {
    /// What it is of.
    pub(super) fn signal(&self) -> Option<Signal> {
        let all = [Signal::Traces, Signal::Logs, Signal::Metrics];
        all.into_iter().find(|signal| signal.name() == self.signal)
    }

    /// The place of its chunk.
    #[must_use]
    pub fn at(&self) -> Option<Position> {
        let (segment, offset) = (self.segment?, self.offset?);
        Some(Position { segment, offset })
    }
}

/// The file of a destination.
#[must_use]
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.dead.jsonl"))
}

/// All of a destination. A line that a crash left unfinished is left out.
///
/// # Errors
///
/// The file cannot be read.
pub fn read(folder: &Path, name: &str) -> Result<Vec<DeadLetter>, ForwardError> {
    let path = path(folder, name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ForwardError::io("read", path)(error)),
    }
}

/// Adds some; when this returns, they are on the disk.
///
/// # Errors
///
/// The disk.
pub fn append(folder: &Path, name: &str, letters: &[DeadLetter]) -> Result<(), ForwardError> {
    let path = path(folder, name);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.map_err(ForwardError::io("open", &path))?;
    // A line break first: a crash may have left half a line.
    let mut text = String::from("\n");
    for letter in letters {
        text.push_str(&serde_json::to_string(letter).unwrap_or_default());
        text.push('\n');
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(ForwardError::io("write", &path))
}

/// Replaces all of a destination.
///
/// # Errors
///
/// The disk.
pub fn write(folder: &Path, name: &str, letters: &[DeadLetter]) -> Result<(), ForwardError> {
    let lines: Vec<String> = letters.iter().filter_map(|letter| serde_json::to_string(letter).ok()).collect();
    replace(&path(folder, name), format!("{}\n", lines.join("\n")).as_bytes())
}

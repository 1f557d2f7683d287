//! Spans and log records that a destination refused for good: one JSON line each, with the reason. They refer to their
//! content in the log by position, so they can be sent again until retention removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::error::ForwardError;
use super::progress::replace_with;
use crate::hash::HashSet;
use crate::span::{Signal, TraceId};
use crate::store::Position;

/// A span or log record that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// When it was given up, nanoseconds since 1970.
    pub time: u64,
    /// `traces`, `logs` or `metrics`.
    pub signal: String,
    /// The segment of its chunk; `None`: it came from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u64>,
    /// The offset of its chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Its trace, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Its span, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Number of items: more than one if the destination refused part of a request without saying which.
    pub items: u64,
    /// The destination's message.
    pub reason: String,
}

/// Segment, offset, span and number of items.
pub(super) type LetterKey = (Option<u64>, Option<u64>, Option<String>, u64);

impl DeadLetter {
    /// Identifies it regardless of time and reason.
    pub(super) fn key(&self) -> LetterKey {
        (self.segment, self.offset, self.span_id.clone(), self.items)
    }

    /// Its signal.
    pub(super) fn signal(&self) -> Option<Signal> {
        let all = [Signal::Traces, Signal::Logs, Signal::Metrics];
        all.into_iter().find(|signal| signal.name() == self.signal)
    }

    /// Position of its chunk.
    #[must_use]
    pub fn at(&self) -> Option<Position> {
        let (segment, offset) = (self.segment?, self.offset?);
        Some(Position { segment, offset })
    }
}

/// Path of a destination's file.
#[must_use]
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.dead.jsonl"))
}

/// Path of the file of letters that are being resent.
fn retried(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.retried.jsonl"))
}

/// Maximum characters of a reason that are read: earlier versions stored them in full.
const MAX_REASON_CHARS: usize = 1_000;

/// An iterator over the letters in a file.
struct Letters {
    lines: BufReader<File>,
    path: PathBuf,
}

impl Letters {
    /// `None`: there is no such file.
    fn open(path: PathBuf) -> Result<Option<Self>, ForwardError> {
        match File::open(&path) {
            Ok(file) => Ok(Some(Self {
                lines: BufReader::new(file),
                path,
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ForwardError::io("read", path)(error)),
        }
    }
}

impl Iterator for Letters {
    type Item = Result<DeadLetter, ForwardError>;

    /// Skips a line that a crash left unfinished.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = Vec::new();
            match self.lines.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(ForwardError::io("read", &self.path)(error))),
            }
            let Ok(mut letter) = serde_json::from_slice::<DeadLetter>(&line) else {
                continue;
            };
            if let Some((end, _)) = letter.reason.char_indices().nth(MAX_REASON_CHARS) {
                letter.reason.truncate(end);
                letter.reason.push('…');
            }
            return Some(Ok(letter));
        }
    }
}

/// Iterates over all dead letters of a destination.
///
/// # Errors
///
/// A file cannot be read.
pub fn each(folder: &Path, name: &str) -> Result<impl Iterator<Item = Result<DeadLetter, ForwardError>>, ForwardError> {
    let files = [Letters::open(retried(folder, name))?, Letters::open(path(folder, name))?];
    Ok(files.into_iter().flatten().flatten())
}

/// Reads all dead letters of a destination.
///
/// # Errors
///
/// A file cannot be read.
pub fn read(folder: &Path, name: &str) -> Result<Vec<DeadLetter>, ForwardError> {
    each(folder, name)?.collect()
}

/// Letters being resent. A crash before [`Retry::end`] loses none of them.
pub(super) struct Retry {
    letters: Option<Letters>,
    folder: PathBuf,
    name: String,
}

impl Retry {
    /// Takes all letters of a destination.
    pub(super) fn begin(folder: &Path, name: &str) -> Result<Self, ForwardError> {
        recover(folder, name)?;
        let (from, to) = (path(folder, name), retried(folder, name));
        match fs::rename(&from, &to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ForwardError::io("move", from)(error)),
        }
        Ok(Self {
            letters: Letters::open(to)?,
            folder: folder.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The next letter.
    pub(super) fn next(&mut self) -> Result<Option<DeadLetter>, ForwardError> {
        self.letters.as_mut().and_then(Iterator::next).transpose()
    }

    /// Keeps the letters that were not sent, from this one on.
    pub(super) fn end(mut self, rest: Option<DeadLetter>) -> Result<(), ForwardError> {
        let mut rest: Vec<DeadLetter> = rest.into_iter().collect();
        while let Some(letter) = self.next()? {
            rest.push(letter);
            if rest.len() == BATCH_LETTERS {
                append(&self.folder, &self.name, &std::mem::take(&mut rest))?;
            }
        }
        if !rest.is_empty() {
            append(&self.folder, &self.name, &rest)?;
        }
        remove(&retried(&self.folder, &self.name))
    }
}

/// Letters written in one batch.
const BATCH_LETTERS: usize = 500;

/// Restores the letters that were being resent when the process ended.
pub(super) fn recover(folder: &Path, name: &str) -> Result<(), ForwardError> {
    let left = retried(folder, name);
    let Some(letters) = Letters::open(left.clone())? else {
        return Ok(());
    };
    let retry = Retry {
        letters: Some(letters),
        folder: folder.to_owned(),
        name: name.to_owned(),
    };
    retry.end(None)
}

fn remove(path: &Path) -> Result<(), ForwardError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ForwardError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Serializes changes to the files: letters added while others are removed must not get lost.
static CHANGING: Mutex<()> = Mutex::new(());

/// Removes the letters of these traces, for all destinations that ever existed here.
///
/// # Errors
///
/// The disk failed.
pub fn forget(folder: &Path, traces: &[TraceId]) -> Result<(), ForwardError> {
    let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let unwanted: HashSet<String> = traces.iter().map(ToString::to_string).collect();
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        entries => entries.map_err(ForwardError::io("read", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(ForwardError::io("read", folder))?;
        let path = entry.path();
        let name = entry.file_name();
        let is_of_letters = name
            .to_str()
            .is_some_and(|name| name.ends_with(".dead.jsonl") || name.ends_with(".retried.jsonl"));
        if !is_of_letters {
            continue;
        }
        let is_unwanted = |letter: &DeadLetter| letter.trace_id.as_ref().is_some_and(|id| unwanted.contains(id));
        let letters = || Ok::<_, ForwardError>(Letters::open(path.clone())?.into_iter().flatten());
        let mut has_any = false;
        for letter in letters()? {
            has_any |= is_unwanted(&letter?);
        }
        if !has_any {
            continue;
        }
        replace_with(&path, |file, new| {
            for letter in letters()? {
                let letter = letter?;
                if !is_unwanted(&letter) {
                    let mut line = serde_json::to_vec(&letter).unwrap_or_default();
                    line.push(b'\n');
                    file.write_all(&line).map_err(ForwardError::io("write", new))?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Appends letters; they are on disk when this returns.
///
/// # Errors
///
/// The disk failed.
pub fn append(folder: &Path, name: &str, letters: &[DeadLetter]) -> Result<(), ForwardError> {
    let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = path(folder, name);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.map_err(ForwardError::io("open", &path))?;
    // Start with a line break: a crash may have left half a line.
    let mut text = String::from("\n");
    for letter in letters {
        text.push_str(&serde_json::to_string(letter).unwrap_or_default());
        text.push('\n');
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(ForwardError::io("write", &path))
}

//! Limits on reading the files of one session: bytes of each file after decompression, and memory for all of them.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::SessionError;
use super::opened;
use crate::formats::ParsedSize;

/// Limits on reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum bytes of a file after decompression.
    pub(crate) bytes: usize,
    /// Maximum bytes of memory for one session; `None`: 1 GiB, or 8 times the size of its files if that is more.
    pub(crate) memory: Option<usize>,
}

/// Bytes that any record becomes: a message or an event, a span with its attributes.
const RECORD: usize = 9_000;
/// The same for an object in a record that may become a message, a part of one, or a tool.
const PART: usize = 1_500;
/// Copies of a text: as read, in operations and in spans.
const TEXT_COPIES: usize = 4;
/// Copies of values that are also kept unchanged: arguments, results, facts. Objects are counted with more capacity than they have.
const LIST_COPIES: usize = 4;
const OBJECT_COPIES: usize = 2;

/// The remaining budget while one session is read.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: usize,
    memory: usize,
    spent: Cell<usize>,
}

impl Budget {
    /// The budget for a session with these files.
    pub(super) fn new(limits: Limits, files: &[PathBuf]) -> Self {
        let size = |path: &PathBuf| fs::metadata(path).map_or(0, |about| usize::try_from(about.len()).unwrap_or(usize::MAX));
        let files = files.iter().map(size).fold(0, usize::saturating_add);
        Self {
            bytes: limits.bytes,
            memory: limits.memory.unwrap_or_else(|| files.saturating_mul(8).max(1 << 30)),
            spent: Cell::new(0),
        }
    }

    /// The bytes of a file after decompression. Reading fails once the file exceeds the limit.
    pub(super) fn open(&self, path: &Path) -> Result<Bounded, SessionError> {
        let length = fs::metadata(path).map_or(0, |about| about.len());
        if length > self.bytes as u64 {
            return Err(self.too_large(path));
        }
        let inner = opened::decompressed(path).map_err(|source| self.failed(path, source))?;
        Ok(Bounded { inner, left: self.bytes })
    }

    /// The bytes of a whole file.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, SessionError> {
        let mut text = Vec::new();
        let most = self.left();
        let mut reader = self.open(path)?.take((most as u64).saturating_add(1));
        reader.read_to_end(&mut text).map_err(|source| self.failed(path, source))?;
        if text.len() > most {
            return Err(self.dense(path));
        }
        Ok(text)
    }

    /// The document next to a session's file; null if it does not exist.
    pub(super) fn sibling_document(&self, path: &Path) -> Result<Value, SessionError> {
        match self.read(path) {
            Ok(text) => Ok(self.value(path, &text)?.unwrap_or_default()),
            Err(SessionError::Io { .. }) => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }

    /// The value of a record; `None` if it is not JSON. Bytes that are not UTF-8 are replaced, so that the record is not lost.
    pub(super) fn value(&self, path: &Path, text: &[u8]) -> Result<Option<Value>, SessionError> {
        self.spend(path, text)?;
        let read = serde_json::from_slice(text);
        Ok(read.or_else(|_| serde_json::from_str(&String::from_utf8_lossy(text))).ok())
    }

    /// Charges the cost of reading a record.
    pub(super) fn spend(&self, path: &Path, text: &[u8]) -> Result<(), SessionError> {
        let size = ParsedSize::of(text);
        let objects = [size.operations, size.answers, size.heard, size.parts];
        let kept = [
            (1, RECORD),
            (objects.into_iter().fold(0, usize::saturating_add), PART),
            (size.texts, TEXT_COPIES),
            (size.lists, LIST_COPIES),
            (size.objects, OBJECT_COPIES),
        ];
        let kept = kept
            .into_iter()
            .fold(0_usize, |sum, (count, each)| sum.saturating_add(count.saturating_mul(each)));
        let spent = self.spent.get().saturating_add(kept);
        self.spent.set(spent);
        match spent.saturating_add(text.len()).saturating_add(size.growth) <= self.memory {
            true => Ok(()),
            false => Err(self.dense(path)),
        }
    }

    /// The remaining bytes of memory.
    pub(super) fn left(&self) -> usize {
        self.memory.saturating_sub(self.spent.get())
    }

    /// The maximum size of one value in bytes.
    pub(super) fn longest(&self) -> usize {
        self.bytes.min(self.left())
    }

    /// The error for a file that cannot be read.
    pub(super) fn failed(&self, path: &Path, source: io::Error) -> SessionError {
        match source.kind() {
            io::ErrorKind::FileTooLarge => self.too_large(path),
            _ => SessionError::Io {
                path: path.to_owned(),
                source,
            },
        }
    }

    fn too_large(&self, path: &Path) -> SessionError {
        SessionError::TooLarge {
            path: path.to_owned(),
            limit: self.bytes,
        }
    }

    pub(super) fn dense(&self, path: &Path) -> SessionError {
        SessionError::Dense {
            path: path.to_owned(),
            limit: self.memory,
        }
    }
}

/// A reader that fails after a number of bytes.
pub(super) struct Bounded {
    inner: Box<dyn BufRead>,
    left: usize,
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let buffer = self.inner.fill_buf()?;
        if self.left == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(buffer.get(..buffer.len().min(self.left)).unwrap_or_default())
    }

    fn consume(&mut self, read: usize) {
        self.inner.consume(read);
        self.left = self.left.saturating_sub(read);
    }
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut buffer = self.fill_buf()?;
        let read = buffer.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

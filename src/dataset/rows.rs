//! Writes rows to files, one per line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::manifest::RowFile;
use crate::span::hex;

/// Creates a file, removing an existing one first, so that links are not followed.
pub(super) fn new_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A file that counts and hashes the bytes written.
#[derive(Debug)]
pub(super) struct Counted {
    out: BufWriter<File>,
    bytes: u64,
    hash: Sha256,
}

impl Counted {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, new_file(path)?),
            bytes: 0,
            hash: Sha256::new(),
        })
    }

    /// Flushes the file and returns its entry for the manifest.
    pub(super) fn finish(mut self, file: String, rows: u64) -> io::Result<RowFile> {
        self.out.flush()?;
        Ok(RowFile {
            file,
            rows,
            bytes: self.bytes,
            sha256: hex(&self.hash.finalize()),
        })
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let bytes = bytes.get(..written).unwrap_or_default();
        self.hash.update(bytes);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A JSONL file.
#[derive(Debug)]
pub(super) struct Lines {
    out: Counted,
    rows: u64,
}

impl Lines {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let out = Counted::create(path)?;
        Ok(Self { out, rows: 0 })
    }

    pub(super) fn row(&mut self, text: &str) -> io::Result<()> {
        self.rows += 1;
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")
    }

    pub(super) fn finish(self, file: String) -> io::Result<RowFile> {
        self.out.finish(file, self.rows)
    }
}

//! One segment, raw or compressed, open for reading.
//!
//! ```text
//! compressed    0   8  "SPBRLOG" and the version, 2
//! segment       8   8  the segment's number, little-endian
//!              16      records, one after the other
//!                      the table: 8 bytes place in the raw segment, 8 bytes place here, for each record
//!         24 bytes     8 the table's place, 4 the number of its rows, 4 its CRC-32, 8 "SPBRTAB" and 1
//!   before the end
//!
//! record        0  40  the head as it was; length and checksum are those of the message, decompressed
//!              40   8  the record's place in the raw segment: by this it is known for ever
//!              48   4  length of what follows behind the head
//!              52   4  CRC-32 of the 12 bytes before
//!              56      the message as one zstd frame; as it is, if that is not shorter
//! ```

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;

use super::files::SEGMENT_HEAD;
use super::form::{Form, form_of};
use super::packed::unpacked;
use super::read::{self, Record, next_whole, read_record};
use super::record::{ERASED, Head, Position, RecordKind};
use super::recovery::Damage;
use super::table::{Row, table};
use crate::store::disk::DiskFile;
use crate::store::error::Error;
use crate::store::shared::Shared;

/// A segment, open for reading.
#[derive(Debug)]
pub struct Segment {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) number: u64,
    pub(super) form: Form,
    table: Vec<Row>,
    /// Where the records end; `None` for a raw segment, which may grow.
    pub(super) records_end: Option<u64>,
}

/// What reading one segment found.
#[derive(Debug, Default)]
pub(in crate::store) struct Scanned {
    /// End of the last whole record.
    pub(super) end: u64,
    pub(in crate::store) damaged: Vec<Damage>,
    /// Bytes after `end` that are not a whole record.
    pub(in crate::store) rest: u64,
}

impl Segment {
    /// Opens a segment. If the table of a compressed segment is damaged, it is rebuilt from the records. If the head marks
    /// the segment as compressed but its records are raw, it is read as a raw segment.
    ///
    /// # Errors
    ///
    /// It has a later version. The inner error: it cannot be read.
    pub fn open(file: Box<dyn DiskFile>, number: u64) -> Result<io::Result<Self>, Error> {
        let form = match form_of(&*file, number)? {
            Ok(form) => form.unwrap_or(Form::Raw),
            Err(error) => return Ok(Err(error)),
        };
        let mut segment = Self {
            file,
            number,
            form,
            table: Vec::new(),
            records_end: None,
        };
        if form == Form::Raw {
            return Ok(Ok(segment));
        }
        Ok(segment.read_table().map(|()| segment))
    }

    fn read_table(&mut self) -> io::Result<()> {
        if let Some((table, end)) = table(&*self.file)? {
            (self.table, self.records_end) = (table, Some(end));
            return Ok(());
        }
        self.table = self.rows()?;
        if self.table.is_empty() {
            // The head has no checksum, so it may be wrongly marked as compressed.
            self.form = Form::Raw;
            if self.rows()?.is_empty() {
                self.form = Form::Compressed;
            }
        }
        Ok(())
    }

    /// Whether it ends like a compressed segment, whatever its head says.
    pub(super) fn has_table(&self) -> io::Result<bool> {
        Ok(table(&*self.file)?.is_some())
    }

    /// Its number.
    pub(in crate::store) fn number(&self) -> u64 {
        self.number
    }

    /// The offsets of all whole records in the raw segment.
    pub(in crate::store) fn places(&self) -> io::Result<Vec<u64>> {
        Ok(self.rows()?.into_iter().map(|row| row.raw).collect())
    }

    /// The offsets of all whole records.
    fn rows(&self) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let Ok(_) = self.scan(0, &mut |row, _, _| {
            rows.push(row);
            Ok::<(), Infallible>(())
        })?;
        Ok(rows)
    }

    /// The offset in the file of the first record at or after an offset of the raw segment; `None` if there is none.
    pub(super) fn place_of_first(&self, from: u64) -> Option<u64> {
        if self.table.is_empty() {
            return Some(SEGMENT_HEAD);
        }
        let first = self.table.partition_point(|row| row.raw < from);
        self.table.get(first).map(|row| row.here)
    }

    /// How its records are written.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The OTLP message of the chunk at an offset of the raw segment, including what it shares with other chunks; `None`: it
    /// is damaged.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn message(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((head, message)) = self.record(offset)? else {
            return Ok(None);
        };
        if !matches!(head.kind(), Some(RecordKind::Shared(_))) {
            return Ok(Some(message));
        }
        let Some(apart) = Shared::read(&message) else { return Ok(None) };
        let mut envelopes = HashMap::new();
        for (_, distance) in apart.envelopes() {
            if envelopes.contains_key(&distance) {
                continue;
            }
            let Some(at) = offset.checked_sub(distance) else { return Ok(None) };
            match self.record(at)? {
                Some((head, bytes)) if matches!(head.kind(), Some(RecordKind::OfResource | RecordKind::OfScope)) => {
                    envelopes.insert(distance, bytes);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(apart.message(&envelopes)))
    }

    /// The record at an offset of the raw segment, with its message decompressed; `None`: it is damaged.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn record(&self, offset: u64) -> io::Result<Option<(Head, Vec<u8>)>> {
        let at = match self.form {
            Form::Raw => offset,
            Form::Compressed => match self.table.binary_search_by_key(&offset, |row| row.raw) {
                Ok(index) => self.table.get(index).map_or(0, |row| row.here),
                Err(_) => return Ok(None),
            },
        };
        let size = self.records_end.map_or_else(|| self.file.size(), Ok)?;
        Ok(match read_record(&*self.file, self.form, at, size.max(at))? {
            Record::Whole { head, message, .. } if head.kind != ERASED => unpacked(head, message),
            _ => None,
        })
    }
}

impl Segment {
    /// Reads the records from an offset of the raw segment on, and passes each whole one to `visit` in its raw form, with
    /// its offset.
    pub(in crate::store) fn scan<E>(
        &self,
        from: u64,
        visit: &mut dyn FnMut(Row, Head, Vec<u8>) -> Result<(), E>,
    ) -> io::Result<Result<Scanned, E>> {
        self.scan_until(from, u64::MAX, visit)
    }

    /// The same, up to an offset, ignoring what is appended meanwhile.
    pub(in crate::store) fn scan_until<E>(
        &self,
        from: u64,
        until: u64,
        visit: &mut dyn FnMut(Row, Head, Vec<u8>) -> Result<(), E>,
    ) -> io::Result<Result<Scanned, E>> {
        let size = self.records_end.map_or_else(|| self.file.size(), Ok)?;
        let (mut at, size) = match self.form {
            Form::Raw => (from.max(SEGMENT_HEAD), size.min(until)),
            Form::Compressed => (self.place_of_first(from).unwrap_or(size), size),
        };
        let mut scanned = Scanned {
            end: at.min(size.max(SEGMENT_HEAD)),
            ..Scanned::default()
        };
        // Damage counts only if a whole record follows; else it is the torn end.
        let mut pending: Vec<Damage> = Vec::new();
        while at < size {
            match read_record(&*self.file, self.form, at, size)? {
                Record::Whole { head, message, raw, next } => {
                    scanned.damaged.append(&mut pending);
                    if raw >= from
                        && let Err(error) = visit(Row { raw, here: at }, head, message)
                    {
                        return Ok(Err(error));
                    }
                    at = next;
                    scanned.end = at;
                }
                Record::BadMessage { next } => {
                    pending.push(self.damage(at, next));
                    at = next;
                }
                Record::CutOff => break,
                Record::BadHead => {
                    let Some(next) = next_whole(&*self.file, self.form, at + 1, size)? else {
                        break;
                    };
                    pending.push(self.damage(at, next));
                    at = next;
                }
            }
        }
        scanned.rest = size.saturating_sub(scanned.end);
        Ok(Ok(scanned))
    }

    /// The heads of all records, and whether the segment is free of damage.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn heads(&self) -> io::Result<(Vec<Head>, bool)> {
        let mut heads = Vec::new();
        let scanned = self.scan(0, &mut |_, head, _| {
            heads.push(head);
            Ok::<(), std::convert::Infallible>(())
        })?;
        let whole = scanned.is_ok_and(|scanned| scanned.damaged.is_empty() && scanned.rest == 0);
        Ok((heads, whole))
    }

    /// Arrival of the first record, in nanoseconds since 1970; `None` if the segment is empty or the first record is damaged.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn first_arrival(&self) -> io::Result<Option<u64>> {
        read::first_arrival(&*self.file)
    }

    fn damage(&self, from: u64, to: u64) -> Damage {
        let at = Position {
            segment: self.number,
            offset: from,
        };
        Damage { at, bytes: to - from }
    }
}

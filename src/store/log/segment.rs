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

use super::record::{Head, RecordKind};
use super::recovery::{Record, read_record};
use super::{MAGIC, SEGMENT_HEAD, VERSION};
use crate::store::Error;
use crate::store::disk::DiskFile;
use crate::store::shared::Shared;

/// The version of compressed segments.
pub(super) const COMPRESSED: u8 = 2;
/// Bytes of a compressed record behind the head, before the message.
pub(super) const EXTENSION: usize = 16;
const FOOTER: usize = 24;
const TABLE_MAGIC: &[u8; 8] = b"SPBRTAB\x01";
const ROW: usize = 16;

/// How the records of a segment are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As they came, while the segment is hot.
    Raw,
    /// Each compressed by itself.
    Compressed,
}

/// A segment, open for reading.
#[derive(Debug)]
pub struct Segment {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) number: u64,
    pub(super) form: Form,
    table: Vec<Row>,
    /// Where the records end; of a raw segment that grows, `None`.
    pub(super) records_end: Option<u64>,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Row {
    /// In the raw segment.
    pub(in crate::store) raw: u64,
    /// In the file.
    pub(super) here: u64,
}

/// How a segment begins; `None` if a crash left it without a whole head.
pub(in crate::store) fn form_of(file: &dyn DiskFile, segment: u64) -> Result<io::Result<Option<Form>>, Error> {
    let mut head = [0; SEGMENT_HEAD as usize];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    }
    let Some([version, ..]) = head.strip_prefix(MAGIC) else {
        return Ok(Ok(None));
    };
    match *version {
        VERSION => Ok(Ok(Some(Form::Raw))),
        COMPRESSED => Ok(Ok(Some(Form::Compressed))),
        version => Err(Error::Version {
            segment,
            version,
            known: COMPRESSED,
        }),
    }
}

impl Segment {
    /// Opens a segment. A compressed one whose table is damaged is read once to make it anew; if no record of it is compressed
    /// and one is raw, it is taken for what it was.
    ///
    /// # Errors
    ///
    /// It is of a later version; inside: it cannot be read.
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
            // The head of a segment has no checksum: raw records may stand behind one that says they are compressed.
            self.form = Form::Raw;
            if self.rows()?.is_empty() {
                self.form = Form::Compressed;
            }
        }
        Ok(())
    }

    /// Whether it ends as a compressed segment does, whatever its head says.
    pub(super) fn has_table(&self) -> io::Result<bool> {
        Ok(table(&*self.file)?.is_some())
    }

    /// Its number.
    pub(in crate::store) fn number(&self) -> u64 {
        self.number
    }

    /// Where each whole record stands in the raw segment.
    pub(in crate::store) fn places(&self) -> io::Result<Vec<u64>> {
        Ok(self.rows()?.into_iter().map(|row| row.raw).collect())
    }

    /// Where each whole record stands.
    fn rows(&self) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let Ok(_) = self.scan(0, &mut |row, _, _| {
            rows.push(row);
            Ok::<(), Infallible>(())
        })?;
        Ok(rows)
    }

    /// Where the first record stands in the file of those at a place of the raw segment or behind it; `None`: there is none.
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

    /// The OTLP message of the chunk at a place of the raw segment, with all that it shares with others; `None`: it is not
    /// what was written.
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

    /// The record at a place of the raw segment, as it stands there; `None`: it is not what was written.
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
            Record::Whole { head, message, .. } => Some((head, message)),
            _ => None,
        })
    }
}

/// Whether a file ends as a compressed segment does. What stands before the end is not looked at.
pub(in crate::store) fn has_footer(file: &dyn DiskFile) -> io::Result<bool> {
    Ok(footer(file)?.is_some())
}

/// The end of a compressed segment.
fn footer(file: &dyn DiskFile) -> io::Result<Option<Footer>> {
    let size = file.size()?;
    let Some(footer_at) = size.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER];
    file.read_exact_at(&mut footer, footer_at)?;
    let footer = Footer::from_bytes(&footer);
    let fits = |footer: &Footer| footer.place.checked_add(u64::from(footer.rows) * ROW as u64) == Some(footer_at);
    Ok(footer.filter(fits))
}

/// The table at the end of a compressed segment, and where it begins; `None` if it is damaged.
pub(super) fn table(file: &dyn DiskFile) -> io::Result<Option<(Vec<Row>, u64)>> {
    let Some(footer) = footer(file)? else { return Ok(None) };
    let mut bytes = vec![0; footer.rows as usize * ROW];
    file.read_exact_at(&mut bytes, footer.place)?;
    if crc32fast::hash(&bytes) != footer.checksum {
        return Ok(None);
    }
    let rows = bytes.chunks_exact(ROW).filter_map(Row::from_bytes).collect();
    Ok(Some((rows, footer.place)))
}

impl Row {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (raw, here) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            raw: u64::from_le_bytes(*raw),
            here: u64::from_le_bytes(here.try_into().ok()?),
        })
    }
}

struct Footer {
    place: u64,
    rows: u32,
    checksum: u32,
}

impl Footer {
    fn from_bytes(bytes: &[u8; FOOTER]) -> Option<Self> {
        let rest = bytes.strip_suffix(TABLE_MAGIC)?;
        let (place, rest) = rest.split_first_chunk::<8>()?;
        let (rows, checksum) = rest.split_first_chunk::<4>()?;
        Some(Self {
            place: u64::from_le_bytes(*place),
            rows: u32::from_le_bytes(*rows),
            checksum: u32::from_le_bytes(checksum.try_into().ok()?),
        })
    }
}

/// The table and the footer as they stand on the disk.
pub(super) fn table_bytes(rows: &[Row], place: u64) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = rows
        .iter()
        .flat_map(|row| [row.raw.to_le_bytes(), row.here.to_le_bytes()])
        .flatten()
        .collect();
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(place.to_le_bytes());
    bytes.extend(u32::try_from(rows.len()).ok()?.to_le_bytes());
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(TABLE_MAGIC);
    Some(bytes)
}

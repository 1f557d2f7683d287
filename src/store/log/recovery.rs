//! Reading the log from a position on: what a crash left, what a disk lost.

use std::cell::RefCell;
use std::fmt;
use std::io;

use zstd::bulk::Decompressor;

use super::SEGMENT_HEAD;
use super::record::{HEAD, Head, LAST_KIND, Position};
use super::segment::{EXTENSION, Form, Row, Segment};
use crate::store::disk::DiskFile;
use crate::store::lost::Lost;

/// What was found when the log was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The end of the last segment, if a record was cut off there.
    pub torn: Option<Torn>,
    /// Places that could not be read and were skipped.
    pub damaged: Vec<Damage>,
    /// What was acknowledged and is gone.
    pub lost: Vec<Lost>,
    /// How many records were read again into the index.
    pub replayed: usize,
    /// Why the index was made anew, if it was.
    pub index_rebuilt: Option<String>,
}

/// An unfinished record at the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Where it began.
    pub at: Position,
    /// How many bytes were cut off.
    pub bytes: u64,
    /// Whether the index knows of records there: then they were acknowledged, and the file was cut afterwards.
    pub acknowledged: bool,
}

/// Bytes that are not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin.
    pub at: Position,
    /// How many there are.
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

/// What reading one segment found.
#[derive(Debug, Default)]
pub(in crate::store) struct Scanned {
    /// End of the last whole record.
    pub(super) end: u64,
    pub(super) damaged: Vec<Damage>,
    /// Bytes behind `end` that are no whole record.
    pub(super) rest: u64,
}

impl Segment {
    /// Reads the records from a place of the raw segment on, and gives each whole one to `visit`, with its place there.
    pub(super) fn scan<E>(&self, from: u64, visit: &mut dyn FnMut(Row, Head, Vec<u8>) -> Result<(), E>) -> io::Result<Result<Scanned, E>> {
        self.scan_until(from, u64::MAX, visit)
    }

    /// The same, up to a place: what is written behind it meanwhile is not looked at.
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
        // Damage is only damage if something whole follows; else it is the torn end.
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

    /// The heads of all records, and whether none of it is damaged.
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

    /// When the first record came, in nanoseconds since 1970; `None`: there is none, or it is damaged.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn first_arrival(&self) -> io::Result<Option<u64>> {
        first_arrival(&*self.file)
    }

    fn damage(&self, from: u64, to: u64) -> Damage {
        let at = Position {
            segment: self.number,
            offset: from,
        };
        Damage { at, bytes: to - from }
    }
}

pub(super) fn first_arrival(file: &dyn DiskFile) -> io::Result<Option<u64>> {
    let mut head = [0; HEAD];
    match file.read_exact_at(&mut head, SEGMENT_HEAD) {
        Ok(()) => Ok(Head::from_bytes(&head).map(|head| head.arrival)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) enum Record {
    Whole {
        head: Head,
        message: Vec<u8>,
        /// Its place in the raw segment.
        raw: u64,
        /// Where the next one begins.
        next: u64,
    },
    /// The head is whole, the message is not what was written; the next record begins here.
    BadMessage {
        next: u64,
    },
    /// The head is whole, the file ends before the message does.
    CutOff,
    BadHead,
}

pub(super) fn read_record(file: &dyn DiskFile, form: Form, at: u64, size: u64) -> io::Result<Record> {
    let before = match form {
        Form::Raw => HEAD,
        Form::Compressed => HEAD + EXTENSION,
    };
    if size.saturating_sub(at) < before as u64 {
        return Ok(Record::CutOff);
    }
    let mut bytes = [0; HEAD + EXTENSION];
    let (bytes, _) = bytes.split_at_mut(before);
    file.read_exact_at(bytes, at)?;
    let (Some(head), Some((raw, stored))) = (Head::from_bytes(bytes), place_and_length(form, bytes, at)) else {
        return Ok(Record::BadHead);
    };
    let from = at + before as u64;
    let next = from + u64::from(stored);
    if next > size {
        return Ok(Record::CutOff);
    }
    let mut message = vec![0; stored as usize];
    file.read_exact_at(&mut message, from)?;
    if form == Form::Compressed && stored < head.length {
        match decompress(&message, head.length as usize) {
            Ok(plain) => message = plain,
            Err(_) => return Ok(Record::BadMessage { next }),
        }
    }
    if message.len() != head.length as usize || crc32fast::hash(&message) != head.checksum {
        return Ok(Record::BadMessage { next });
    }
    Ok(Record::Whole { head, message, raw, next })
}

thread_local! {
    /// It is kept: to make one takes longer than to decompress a small message.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn decompress(message: &[u8], length: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(decompressor) => decompressor.decompress(message, length),
        None => kept.insert(Decompressor::new()?).decompress(message, length),
    })
}

/// The record's place in the raw segment, and how many bytes follow its head; `None` if they are damaged.
fn place_and_length(form: Form, bytes: &[u8], at: u64) -> Option<(u64, u32)> {
    if form == Form::Raw {
        return Some((at, u32::from_le_bytes(*bytes.first_chunk()?)));
    }
    let (fields, checksum) = bytes.get(HEAD..)?.split_last_chunk::<4>()?;
    if crc32fast::hash(fields) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (raw, stored) = fields.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*raw), u32::from_le_bytes(stored.try_into().ok()?)))
}

/// The next byte at which a whole record stands. A head alone may be part of a message: a copy of a log, say.
fn next_whole(file: &dyn DiskFile, form: Form, from: u64, size: u64) -> io::Result<Option<u64>> {
    let mut from = from;
    while let Some(at) = next_head(file, from, size)? {
        if matches!(read_record(file, form, at, size)?, Record::Whole { .. }) {
            return Ok(Some(at));
        }
        from = at + 1;
    }
    Ok(None)
}

/// The next byte at which a whole head stands.
fn next_head(file: &dyn DiskFile, from: u64, size: u64) -> io::Result<Option<u64>> {
    const WINDOW: usize = 1 << 20;
    let mut start = from;
    while size.saturating_sub(start) >= HEAD as u64 {
        let length = usize::try_from(size - start).unwrap_or(WINDOW).min(WINDOW);
        let mut window = vec![0; length];
        file.read_exact_at(&mut window, start)?;
        let found = window
            .windows(HEAD)
            .position(|bytes| matches!(bytes, [_, _, _, _, 1..=LAST_KIND, 0, 0, 0, ..]) && Head::from_bytes(bytes).is_some());
        if let Some(found) = found {
            return Ok(Some(start + found as u64));
        }
        start += (length - HEAD + 1) as u64;
    }
    Ok(None)
}

//! Reading the log from a position on: what a crash left, what a disk lost.

use std::fmt;
use std::io;

use super::record::{HEAD, Head, Position};
use super::{MAGIC, SEGMENT_HEAD, VERSION};
use crate::store::Error;
use crate::store::disk::DiskFile;

/// What was found when the log was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The end of the last segment, if a record was cut off there.
    pub torn: Option<Torn>,
    /// Places that could not be read and were skipped.
    pub damaged: Vec<Damage>,
    /// How many records were read again into the index.
    pub replayed: usize,
    /// Why the index was made anew, if it was.
    pub index_rebuilt: Option<String>,
}

/// An unfinished record at the end of the log: it was never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Where it began.
    pub at: Position,
    /// How many bytes were cut off.
    pub bytes: u64,
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
        write!(
            f,
            "segment {segment}: {} bytes of an unfinished write at byte {offset} were cut off; nothing acknowledged was in them",
            self.bytes
        )
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
pub(super) struct Scanned {
    /// End of the last whole record.
    pub(super) end: u64,
    pub(super) damaged: Vec<Damage>,
    /// Bytes behind `end` that are no whole record.
    pub(super) rest: u64,
}

/// Whether a segment begins as it must; `Ok(false)` if a crash left it without a whole head.
pub(super) fn check_segment_head(file: &dyn DiskFile, segment: u64) -> Result<io::Result<bool>, Error> {
    let mut head = [0; 16];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Ok(false)),
        Err(error) => return Ok(Err(error)),
    }
    if !head.starts_with(MAGIC) {
        return Ok(Ok(false));
    }
    let version = head[7];
    if version != VERSION {
        return Err(Error::Version {
            segment,
            version,
            known: VERSION,
        });
    }
    Ok(Ok(true))
}

/// Reads the records of a segment from a byte on, and gives each whole one to `visit`.
pub(super) fn scan_segment(
    file: &dyn DiskFile,
    segment: u64,
    from: u64,
    visit: &mut dyn FnMut(Position, Head, Vec<u8>) -> Result<(), Error>,
) -> Result<io::Result<Scanned>, Error> {
    let size = match file.size() {
        Ok(size) => size,
        Err(error) => return Ok(Err(error)),
    };
    let mut at = from.max(SEGMENT_HEAD);
    let mut scanned = Scanned {
        end: at.min(size.max(SEGMENT_HEAD)),
        ..Scanned::default()
    };
    // Damage is only damage if something whole follows; else it is the torn end.
    let mut pending: Vec<Damage> = Vec::new();
    while at < size {
        let record = match read_record(file, at, size) {
            Ok(record) => record,
            Err(error) => return Ok(Err(error)),
        };
        match record {
            Record::Whole(head, message) => {
                scanned.damaged.append(&mut pending);
                let next = at + HEAD as u64 + message.len() as u64;
                visit(Position { segment, offset: at }, head, message)?;
                at = next;
                scanned.end = at;
            }
            Record::BadMessage(next) => {
                pending.push(damage(segment, at, next));
                at = next;
            }
            Record::CutOff => break,
            Record::BadHead => {
                let next = match next_head(file, at + 1, size) {
                    Ok(next) => next,
                    Err(error) => return Ok(Err(error)),
                };
                let Some(next) = next else { break };
                pending.push(damage(segment, at, next));
                at = next;
            }
        }
    }
    scanned.rest = size.saturating_sub(scanned.end);
    Ok(Ok(scanned))
}

fn damage(segment: u64, from: u64, to: u64) -> Damage {
    Damage {
        at: Position { segment, offset: from },
        bytes: to - from,
    }
}

enum Record {
    Whole(Head, Vec<u8>),
    /// The head is whole, the message is not what was written; the next record begins here.
    BadMessage(u64),
    /// The head is whole, the file ends before the message does.
    CutOff,
    BadHead,
}

fn read_record(file: &dyn DiskFile, at: u64, size: u64) -> io::Result<Record> {
    if size - at < HEAD as u64 {
        return Ok(Record::CutOff);
    }
    let mut bytes = [0; HEAD];
    file.read_exact_at(&mut bytes, at)?;
    let Some(head) = Head::from_bytes(&bytes) else {
        return Ok(Record::BadHead);
    };
    let from = at + HEAD as u64;
    let to = from + u64::from(head.length);
    if to > size {
        return Ok(Record::CutOff);
    }
    let mut message = vec![0; head.length as usize];
    file.read_exact_at(&mut message, from)?;
    if crc32fast::hash(&message) != head.checksum {
        return Ok(Record::BadMessage(to));
    }
    Ok(Record::Whole(head, message))
}

/// Reads one message again and checks it; `None` if it is not what was written.
pub(in crate::store) fn read_message(file: &dyn DiskFile, offset: u64) -> io::Result<Option<(Head, Vec<u8>)>> {
    let size = file.size()?;
    Ok(match read_record(file, offset, size.max(offset))? {
        Record::Whole(head, message) => Some((head, message)),
        _ => None,
    })
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
            .position(|bytes| matches!(bytes, [_, _, _, _, 1..=3, 0, 0, 0, ..]) && Head::from_bytes(bytes).is_some());
        if let Some(found) = found {
            return Ok(Some(start + found as u64));
        }
        start += (length - HEAD + 1) as u64;
    }
    Ok(None)
}

//! Reads single records of a segment, and finds the next whole one after damage.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Decompressor;

use super::files::SEGMENT_HEAD;
use super::form::{EXTENSION, Form};
use super::record::{HEAD, Head, LAST_KIND};
use crate::store::disk::DiskFile;

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
        /// Its offset in the raw segment.
        raw: u64,
        /// Offset of the next record.
        next: u64,
    },
    /// The head is whole but the message is damaged; the next record begins here.
    BadMessage {
        next: u64,
    },
    /// The head is whole but the file ends inside the message.
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
    /// Kept, because creating one takes longer than decompressing a small message.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

pub(super) fn decompress(message: &[u8], length: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(decompressor) => decompressor.decompress(message, length),
        None => kept.insert(Decompressor::new()?).decompress(message, length),
    })
}

/// The record's offset in the raw segment, and the number of bytes after its head; `None` if they are damaged.
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

/// Offset of the next whole record. A head alone may be inside a message: of a copy of a log, say.
pub(super) fn next_whole(file: &dyn DiskFile, form: Form, from: u64, size: u64) -> io::Result<Option<u64>> {
    let mut from = from;
    while let Some(at) = next_head(file, from, size)? {
        if matches!(read_record(file, form, at, size)?, Record::Whole { .. }) {
            return Ok(Some(at));
        }
        from = at + 1;
    }
    Ok(None)
}

/// Offset of the next whole head.
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

//! A log whose bytes were changed: it opens, every record that is whole is found, and a second opening finds the same.

use std::path::Path;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use spanbridge::otlp::{encode, scan};
use spanbridge::span::{AnyValue, Signal, Span, SpanId, TraceId};
use spanbridge::store::log::{Head, Log, Position, Recovery, SEGMENT_HEAD};
use spanbridge::store::{Chunk, Error};

use super::memory::MemoryDisk;

const HEAD: u64 = 40;
const SEGMENT_SIZE: u64 = 600;
const START: Position = Position { segment: 0, offset: 0 };

type Seen = Vec<(Position, Head, Vec<u8>)>;

/// Holds the law over a log that these bytes describe and damage. Where a message holds a whole record, only calm is asked
/// for: recovery takes it for one if the record around it is broken.
pub fn run(data: &[u8]) {
    let _ = damaged(&mut Unstructured::new(data));
}

fn damaged(u: &mut Unstructured<'_>) -> Result<()> {
    let disk = MemoryDisk::default();
    let written = write(&disk, u)?;
    let mut before: Vec<Vec<u8>> = Vec::new();
    disk.each(|_, bytes| before.push(bytes.clone()));
    let mut forged = written.iter().any(|(_, _, message)| holds_a_record(message));
    for _ in 0..u.int_in_range(0..=4u8)? {
        forged |= change(&disk, u)?;
    }
    let mut after: Vec<Vec<u8>> = Vec::new();
    disk.each(|_, bytes| after.push(bytes.clone()));

    let version_changed = after
        .iter()
        .any(|bytes| bytes.starts_with(b"SPBRLOG") && bytes.get(7).is_some_and(|version| *version != 1));
    let (first, recovery) = match open(&disk) {
        Ok(opened) => opened,
        Err(Error::Version { .. }) if version_changed => return Ok(()),
        Err(error) => panic!("{error}"),
    };
    let whole: Seen = written
        .iter()
        .filter(|(position, _, message)| {
            let segment = usize::try_from(position.segment).expect("small") - 1;
            let range = usize::try_from(position.offset).expect("small")..;
            let range = range.start..range.start + usize::try_from(HEAD).expect("small") + message.len();
            let (was, is) = (before.get(segment), after.get(segment));
            was.and_then(|bytes| bytes.get(range.clone())) == is.and_then(|bytes| bytes.get(range))
        })
        .cloned()
        .collect();
    if !forged {
        assert_eq!(first, whole, "{recovery:?}");
        assert_eq!(recovery.replayed, first.len());
    }
    let (second, again) = open(&disk).expect("a log that was opened opens");
    assert_eq!(second, first, "{recovery:?} {again:?}");
    assert_eq!(again.torn, None, "{recovery:?}");
    Ok(())
}

fn open(disk: &MemoryDisk) -> std::result::Result<(Seen, Recovery), Error> {
    let mut seen = Seen::new();
    let visit = &mut |position, head, message| {
        seen.push((position, head, message));
        Ok(())
    };
    let (mut log, recovery) = Log::open(Arc::new(disk.clone()), Path::new("log"), (SEGMENT_SIZE, None), START, visit)?;
    let end = log.end();
    assert!(end.offset >= SEGMENT_HEAD);
    // What was opened takes more; nothing is left behind of it.
    let one = chunk(9, 3);
    let position = log.write(std::slice::from_ref(&one), 7)?;
    log.begin_sync();
    log.finish()?;
    assert_eq!(position.len(), 1);
    let mut more = Seen::new();
    let visit = &mut |position, head, message| {
        more.push((position, head, message));
        Ok(())
    };
    let _ = Log::open(Arc::new(disk.clone()), Path::new("log"), (SEGMENT_SIZE, None), START, visit)?;
    assert_eq!(
        more.pop().map(|(at, _, message)| (at, message)),
        position.first().map(|at| (*at, bytes_of(&one)))
    );
    assert_eq!(more, seen);
    disk.each(|at, bytes| {
        if at as u64 + 1 == end.segment {
            bytes.truncate(usize::try_from(end.offset).expect("small"));
        }
    });
    disk.keep(end.segment);
    Ok((seen, recovery))
}

/// A chunk with one span.
fn chunk(number: u8, size: usize) -> Chunk {
    chunk_with(number, vec![number; size])
}

/// The same, with these bytes in its message.
fn chunk_with(number: u8, inside: Vec<u8>) -> Chunk {
    let mut span = Span::new(
        TraceId::from_bytes(&[number; 16]).expect("an id"),
        SpanId::from_bytes(&[number; 8]).expect("an id"),
        "span",
    );
    span.attributes.push("a", AnyValue::Bytes(inside));
    let bytes = encode::traces(&[span]);
    let scanned = scan::scan(&bytes, Signal::Traces, &[]).expect("a request");
    Chunk::of_request(scanned, bytes).remove(0)
}

fn bytes_of(chunk: &Chunk) -> Vec<u8> {
    chunk.message()
}

fn holds_a_record(message: &[u8]) -> bool {
    let size = usize::try_from(HEAD).expect("small");
    (0..message.len().saturating_sub(size)).any(|at| {
        let (head, rest) = message[at..].split_at(size);
        let inside = Head::from_bytes(head).and_then(|head| Some((head.checksum, rest.get(..head.length as usize)?)));
        inside.is_some_and(|(checksum, inside)| crc32fast::hash(inside) == checksum)
    })
}

fn write(disk: &MemoryDisk, u: &mut Unstructured<'_>) -> Result<Seen> {
    let (mut log, _) = Log::open(
        Arc::new(disk.clone()),
        Path::new("log"),
        (SEGMENT_SIZE, None),
        START,
        &mut |_, _, _| Ok(()),
    )
    .expect("opens");
    let mut written = Seen::new();
    for number in 1..=u.int_in_range(0..=8u8)? {
        let mut chunk = chunk(number, u.int_in_range(0..=400usize)?);
        if u.ratio(1, 4)? {
            chunk = chunk_with(number, u.arbitrary::<&[u8]>()?.to_vec());
        }
        let positions = log.write(std::slice::from_ref(&chunk), u64::from(number)).expect("writes");
        log.begin_sync();
        log.finish().expect("syncs");
        let head = Head::of(&chunk, u64::from(number)).expect("small");
        written.extend(positions.into_iter().map(|position| (position, head, bytes_of(&chunk))));
    }
    Ok(written)
}

/// Damages a file; tells whether a head may stand where none was written.
fn change(disk: &MemoryDisk, u: &mut Unstructured<'_>) -> Result<bool> {
    let mut files = 0;
    disk.each(|at, _| files = at + 1);
    let file = u.choose_index(files)?;
    let (mut size, mut source) = (0, Vec::new());
    let other = u.choose_index(files)?;
    disk.each(|at, bytes| {
        if at == file {
            size = bytes.len();
        }
        if at == other {
            source.clone_from(bytes);
        }
    });
    if size == 0 || source.is_empty() {
        return Ok(false);
    }
    let at = u.choose_index(size)?;
    let length = u.int_in_range(1..=200usize)?.min(size - at);
    let from = u.choose_index(source.len())?;
    let byte: u8 = u.arbitrary()?;
    let how = u.int_in_range(0..=6u8)?;
    disk.each(|index, bytes| {
        if index != file {
            return;
        }
        match how {
            0 => bytes[at] ^= 1 << (byte % 8),
            1 => bytes[at] = byte,
            2 => bytes[at..at + length].fill(byte),
            3 => bytes.truncate(at),
            4 => bytes.extend(std::iter::repeat_n(byte, length)),
            // Stale or moved bytes.
            5 => {
                let stale = &source[from..source.len().min(from + length)];
                bytes[at..at + stale.len().min(size - at)].copy_from_slice(&stale[..stale.len().min(size - at)]);
            }
            _ => drop(bytes.drain(at..at + length)),
        }
    });
    Ok(how >= 5)
}

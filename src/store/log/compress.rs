//! Replaces a sealed segment by a compressed one, or by one without some of its records: writes the new file next to it,
//! reads it back, and renames it over the old one.

use std::collections::HashSet;
use std::io;

use super::files::{file_name, segment_head};
use super::form::COMPRESSED;
use super::packed::unpacked;
use super::record::{ERASED, Head, RecordKind};
use super::segment::{Scanned, Segment};
use super::table::{Row, table_bytes};
use crate::store::disk::{Disk, DiskFile};
use crate::store::shared::Shared;

/// The result for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Compressed {
    /// It is compressed now.
    Done {
        /// Its size before, in bytes.
        from: u64,
        /// Its size now.
        to: u64,
    },
    /// Parts of it are damaged: it stays as it is, so that no more is lost.
    Damaged,
    /// The store is being closed.
    Stopped,
}

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Compresses a raw segment. `go_on` is called before each record, and may wait; `false` cancels the work and removes the new file.
///
/// # Errors
///
/// The disk failed; the segment is unchanged.
pub(in crate::store) fn compress(
    disk: &dyn Disk,
    segment: &Segment,
    level: i32,
    go_on: &mut dyn FnMut() -> bool,
) -> io::Result<Compressed> {
    rewrite(disk, segment, level, go_on, None)
}

/// Which records are erased, by their offset in the raw segment.
pub(in crate::store) type IsErased<'a> = dyn Fn(u64, &Head) -> bool + 'a;

/// Rewrites a sealed segment without some of its records, and without what only they share. An erased record of the same
/// length replaces each, so positions stay valid; other records stay as they are. Damaged places might belong to the same
/// traces, so they are left out. Returns the number of message bytes erased.
///
/// # Errors
///
/// The disk failed; the segment is unchanged.
pub(in crate::store) fn erase(disk: &dyn Disk, segment: &Segment, level: i32, is_erased: &IsErased<'_>) -> io::Result<u64> {
    let mut erased = Erased::default();
    let (mut shared, mut kept) = (HashSet::new(), HashSet::new());
    let scanned = segment.scan(0, &mut |row, head, message| {
        let is_gone = head.kind != ERASED && is_erased(row.raw, &head);
        if is_gone {
            erased.places.insert(row.raw);
            erased.bytes += u64::from(head.length);
        }
        if let Some((head, message)) = unpacked(head, message)
            && let Some(RecordKind::Shared(_)) = head.kind()
            && let Some(apart) = Shared::read(&message)
        {
            let places = apart.envelopes().map(|(_, distance)| row.raw.saturating_sub(distance));
            if is_gone { shared.extend(places) } else { kept.extend(places) }
        }
        Ok::<(), std::convert::Infallible>(())
    })?;
    let Ok(scanned) = scanned;
    erased.places.extend(shared.difference(&kept));
    if erased.places.is_empty() && scanned.damaged.is_empty() {
        return Ok(0);
    }
    let _ = rewrite(disk, segment, level, &mut || true, Some(&erased))?;
    Ok(erased.bytes)
}

/// The records to erase.
#[derive(Debug, Default)]
struct Erased {
    places: HashSet<u64>,
    /// Total size of their messages.
    bytes: u64,
}

fn rewrite(
    disk: &dyn Disk,
    segment: &Segment,
    level: i32,
    go_on: &mut dyn FnMut() -> bool,
    erased: Option<&Erased>,
) -> io::Result<Compressed> {
    let name = file_name(segment.number);
    let beside = format!("{name}.new");
    // Left by an attempt that a crash interrupted.
    let _ = disk.remove(&beside);
    let file = disk.create(&beside)?;
    let mut out = Out::begin(&*file, segment.number, level)?;
    let scanned = segment.scan(0, &mut |row, head, message| {
        if !go_on() {
            return Err(Ended::Stopped);
        }
        if erased.is_some_and(|erased| erased.places.contains(&row.raw)) {
            let message = vec![0; message.len()];
            let head = Head {
                kind: ERASED,
                trace_id: None,
                checksum: crc32fast::hash(&message),
                ..head
            };
            return out.record(row.raw, &head.to_bytes(), &message).map_err(Ended::Failed);
        }
        out.record(row.raw, &head.to_bytes(), &message).map_err(Ended::Failed)
    })?;
    let outcome = match scanned {
        Err(Ended::Failed(error)) => Err(error),
        Err(Ended::Stopped) => Ok(Compressed::Stopped),
        Ok(Scanned { damaged, rest, .. }) if erased.is_none() && (!damaged.is_empty() || rest > 0) => Ok(Compressed::Damaged),
        Ok(Scanned { end, .. }) => out.end().map(|to| Compressed::Done { from: end, to }),
    };
    let Ok(Compressed::Done { .. }) = outcome else {
        let _ = disk.remove(&beside);
        return outcome;
    };
    file.sync()?;
    let rows = out.rows.len();
    if records(file, segment.number)? != Some(rows) {
        let _ = disk.remove(&beside);
        return Err(io::Error::other("a compressed segment does not read back as it was written"));
    }
    disk.rename(&beside, &name)?;
    disk.sync_names()?;
    outcome
}

enum Ended {
    Stopped,
    Failed(io::Error),
}

/// Number of records in a compressed segment; `None` if any of it is damaged.
fn records(file: Box<dyn DiskFile>, number: u64) -> io::Result<Option<usize>> {
    let Ok(segment) = Segment::open(file, number) else {
        return Ok(None);
    };
    let mut records = 0;
    let scanned = segment?.scan(0, &mut |_, _, _| {
        records += 1;
        Ok::<(), std::convert::Infallible>(())
    })?;
    Ok(match scanned {
        Ok(Scanned { damaged, rest: 0, .. }) if damaged.is_empty() => Some(records),
        _ => None,
    })
}

struct Out<'a> {
    file: &'a dyn DiskFile,
    compressor: zstd::bulk::Compressor<'static>,
    written: u64,
    buffer: Vec<u8>,
    rows: Vec<Row>,
}

impl<'a> Out<'a> {
    fn begin(file: &'a dyn DiskFile, number: u64, level: i32) -> io::Result<Self> {
        Ok(Self {
            file,
            compressor: zstd::bulk::Compressor::new(level)?,
            written: 0,
            buffer: segment_head(number, COMPRESSED),
            rows: Vec::new(),
        })
    }

    fn record(&mut self, raw: u64, head: &[u8], message: &[u8]) -> io::Result<()> {
        let here = self.written + self.buffer.len() as u64;
        self.rows.push(Row { raw, here });
        let compressed = self.compressor.compress(message)?;
        let stored = if compressed.len() < message.len() { &compressed } else { message };
        self.buffer.extend_from_slice(head);
        let from = self.buffer.len();
        self.buffer.extend(raw.to_le_bytes());
        self.buffer
            .extend(u32::try_from(stored.len()).map_err(io::Error::other)?.to_le_bytes());
        let checksum = crc32fast::hash(self.buffer.get(from..).unwrap_or_default());
        self.buffer.extend(checksum.to_le_bytes());
        self.buffer.extend_from_slice(stored);
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&[&self.buffer], self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the table, and returns the size of the file.
    fn end(&mut self) -> io::Result<u64> {
        let place = self.written + self.buffer.len() as u64;
        let table = table_bytes(&self.rows, place).ok_or_else(|| io::Error::other("a segment with too many records"))?;
        self.buffer.extend(table);
        self.flush()?;
        Ok(self.written)
    }
}

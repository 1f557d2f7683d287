//! The files of the log: their names, and their heads.

use std::io;

use crate::store::disk::Disk;

/// Bytes before the first record.
pub const SEGMENT_HEAD: u64 = 16;
/// How a segment begins, before the version.
pub(super) const MAGIC: &[u8; 7] = b"SPBRLOG";
/// The version of raw segments; compressed ones have the next.
pub const VERSION: u8 = 1;

/// The file name of a segment.
#[must_use]
pub fn file_name(segment: u64) -> String {
    format!("{segment:010}.log")
}

/// The segment with this file name.
#[must_use]
pub(crate) fn segment_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 10 && digits.bytes().all(|digit| digit.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// The numbers of the segments of a disk, oldest first.
pub(in crate::store) fn segments_of(disk: &dyn Disk) -> io::Result<Vec<u64>> {
    let mut segments: Vec<u64> = disk.list()?.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    Ok(segments)
}

/// The head of a segment.
pub(super) fn segment_head(segment: u64, version: u8) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.push(version);
    head.extend(segment.to_le_bytes());
    head
}

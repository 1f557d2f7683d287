//! Messages compressed separately when they are written, even in a raw segment: those built from documents.
//!
//! A document has a few words per message, and its spans repeat keys, names and ids around them. Spans received as OTLP are
//! not compressed before their segment is sealed, so that receiving does not wait for it.
//!
//! ```text
//! message   0   4  length of the message, decompressed
//!           4   4  CRC-32 of it
//!           8      one zstd frame
//! ```

use super::read::decompress;
use super::record::{Head, PACKED};
use crate::store::zstd_frame::compress;

/// The fastest level: most of the savings are repetitions nearby, which every level finds.
const LEVEL: i32 = 1;

/// A record with a compressed message; `None` if that is not shorter.
pub(super) fn packed(head: Head, message: &[u8]) -> Option<(Head, Vec<u8>)> {
    let compressed = compress(message, LEVEL).ok()?;
    let mut bytes = Vec::with_capacity(compressed.len() + 8);
    bytes.extend(u32::try_from(message.len()).ok()?.to_le_bytes());
    bytes.extend(crc32fast::hash(message).to_le_bytes());
    bytes.extend(compressed);
    let head = Head {
        length: u32::try_from(bytes.len()).ok()?,
        kind: head.kind + PACKED,
        checksum: crc32fast::hash(&bytes),
        ..head
    };
    (bytes.len() < message.len()).then_some((head, bytes))
}

/// A record with its original message; `None`: the message is damaged.
#[must_use]
pub(in crate::store) fn unpacked(head: Head, message: Vec<u8>) -> Option<(Head, Vec<u8>)> {
    if !head.is_packed() {
        return Some((head, message));
    }
    let (length, rest) = message.split_first_chunk::<4>()?;
    let (checksum, frame) = rest.split_first_chunk::<4>()?;
    let head = Head {
        length: u32::from_le_bytes(*length),
        kind: head.kind - PACKED,
        checksum: u32::from_le_bytes(*checksum),
        ..head
    };
    let plain = decompress(frame, head.length as usize).ok()?;
    (plain.len() == head.length as usize && crc32fast::hash(&plain) == head.checksum).then_some((head, plain))
}

//! Chunks in the form that is written: compressed once, with the digest that identifies repeats.

use std::io;

use sha2::{Digest as _, Sha256};
use slatedb::bytes::Bytes;

use super::keys::Owner;
use super::records::Head;
use crate::store::chunk::{Chunk, ChunkKind};
use crate::store::zstd_frame::compress;

/// Bytes of a digest, enough to rule out collisions.
pub(super) const DIGEST: usize = 16;

/// First byte of a stored message: plain, or one zstd frame.
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// Maximum unpacked size, whatever a frame claims: a chunk is at most 4 GiB.
const MAX_UNPACKED_BYTES: usize = u32::MAX as usize;

/// A chunk that is ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) owner: Owner,
    pub(super) digest: [u8; DIGEST],
    pub(super) kind: ChunkKind,
    pub(super) head: Head,
    pub(super) packed: Bytes,
}

impl Prepared {
    pub(super) fn of(chunk: &Chunk, level: Option<i32>) -> Self {
        let message = chunk.message();
        let (kind, owner) = (chunk.kind(), Owner::of(chunk.kind(), &chunk.part().key));
        Self {
            owner,
            digest: digest(kind, &message),
            kind,
            head: Head::of(chunk),
            packed: pack(&message, level),
        }
    }
}

/// The digest of a message.
pub(super) fn digest(kind: ChunkKind, message: &[u8]) -> [u8; DIGEST] {
    let mut hash = Sha256::new();
    hash.update([kind.number()]);
    hash.update(message);
    let whole = hash.finalize();
    whole.first_chunk::<DIGEST>().copied().unwrap_or_default()
}

/// A message in its stored form, compressed only if that makes it shorter.
pub(super) fn pack(message: &[u8], level: Option<i32>) -> Bytes {
    let compressed = level.and_then(|level| compress(message, level).ok());
    let (form, bytes) = match &compressed {
        Some(compressed) if compressed.len() < message.len() => (ZSTD, &compressed[..]),
        _ => (PLAIN, message),
    };
    [&[form], bytes].concat().into()
}

/// Unpacks a stored message.
pub(super) fn unpack(packed: &[u8], length: u64) -> io::Result<Vec<u8>> {
    let broken = || io::Error::other("the message is in no known form");
    let (form, bytes) = packed.split_first().ok_or_else(broken)?;
    let length = usize::try_from(length).unwrap_or(MAX_UNPACKED_BYTES).min(MAX_UNPACKED_BYTES);
    let message = match *form {
        PLAIN => bytes.to_vec(),
        ZSTD => zstd::bulk::decompress(bytes, length)?,
        _ => return Err(broken()),
    };
    match message.len() == length {
        true => Ok(message),
        false => Err(io::Error::other("the message has another length than its head says")),
    }
}

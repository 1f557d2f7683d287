//! Records on their way to the disk: small pieces are joined in a buffer, large ones are written from where they are.

use std::io;
use std::ops::Range;

use super::packed::packed;
use super::record::{HEAD, Head, RecordKind};
use crate::hash::HashMap;
use crate::otlp::cut::Piece;
use crate::store::chunk::Chunk;
use crate::store::disk::DiskFile;
use crate::store::shared::Shared;

/// The buffer for small pieces is written once it reaches this many bytes.
const WRITE_BYTES: usize = 1 << 20;
/// Pieces of at least this size are not copied.
const MIN_UNCOPIED: usize = 4 << 10;

impl Head {
    /// The head of a chunk; `None` if the chunk is too large.
    #[must_use]
    pub fn of(chunk: &Chunk, arrival: u64) -> Option<Self> {
        Some(Self {
            length: u32::try_from(chunk.length()).ok()?,
            kind: chunk.kind().number(),
            arrival,
            trace_id: chunk.trace_id(),
            checksum: chunk.checksum(),
        })
    }
}

/// Why a chunk was not written.
pub(super) enum Refused {
    /// No record can hold it.
    TooLarge {
        /// Length of its message.
        bytes: usize,
    },
    Disk(io::Error),
}

pub(super) struct Out<'a> {
    file: &'a dyn DiskFile,
    arrival: u64,
    /// Offset of the next write.
    written: u64,
    /// Offset of the next record.
    end: u64,
    /// The buffer of small pieces.
    small: &'a mut Vec<u8>,
    waiting: Vec<PendingWrite<'a>>,
    /// Offsets of the envelopes, by request and number.
    envelopes: HashMap<(usize, u64), u64>,
}

enum PendingWrite<'a> {
    Small(Range<usize>),
    Large(&'a [u8]),
}

impl<'a> Out<'a> {
    /// `small` is used as the buffer, so that its memory is reused.
    pub(super) fn new(file: &'a dyn DiskFile, end: u64, arrival: u64, small: &'a mut Vec<u8>) -> Self {
        small.clear();
        Self {
            file,
            arrival,
            written: end,
            end,
            small,
            waiting: Vec::new(),
            envelopes: HashMap::default(),
        }
    }

    /// Adds a chunk, and returns its offset.
    pub(super) fn chunk(&mut self, chunk: &'a Chunk) -> Result<u64, Refused> {
        let too_large = || Refused::TooLarge { bytes: chunk.length() };
        let head = Head::of(chunk, self.arrival).ok_or_else(too_large)?;
        let Some(message) = chunk.shared() else {
            if chunk.is_packed()
                && let Some((head, message)) = packed(head, &chunk.message())
            {
                return self.record(head, &message);
            }
            let place = self.head(head)?;
            chunk.pieces(&mut |piece| self.piece(piece));
            return Ok(place);
        };
        let apart = Shared::read(&message).ok_or_else(too_large)?;
        for (of_resource, number) in apart.envelopes() {
            self.envelope(chunk, number, of_resource)?;
        }
        let at = |number: u64| self.envelopes.get(&(chunk.request(), number)).copied().unwrap_or_default();
        let message = apart.write(&|number| self.end - at(number));
        let head = Head {
            length: u32::try_from(message.len()).map_err(|_| too_large())?,
            kind: RecordKind::Shared(chunk.kind()).number(),
            checksum: crc32fast::hash(&message),
            ..head
        };
        match chunk.is_packed().then(|| packed(head, &message)).flatten() {
            Some((head, message)) => self.record(head, &message),
            None => self.record(head, &message),
        }
    }

    /// Adds a record, and returns its offset.
    fn record(&mut self, head: Head, message: &[u8]) -> Result<u64, Refused> {
        let place = self.head(head)?;
        self.small(message);
        Ok(place)
    }

    /// Adds an envelope, if it was not added before.
    fn envelope(&mut self, chunk: &'a Chunk, number: u64, of_resource: bool) -> Result<(), Refused> {
        let key = (chunk.request(), number);
        if self.envelopes.contains_key(&key) {
            return Ok(());
        }
        let length = chunk.envelope(number).map(<[u8]>::len).sum();
        let kind = match of_resource {
            true => RecordKind::OfResource,
            false => RecordKind::OfScope,
        };
        let place = self.head(Head {
            length: u32::try_from(length).map_err(|_| Refused::TooLarge { bytes: length })?,
            kind: kind.number(),
            arrival: self.arrival,
            trace_id: None,
            checksum: chunk.envelope_checksum(number),
        })?;
        chunk.envelope(number).for_each(|bytes| self.piece(Piece::Bytes(bytes)));
        self.envelopes.insert(key, place);
        Ok(())
    }

    /// Begins a record, and returns its offset.
    fn head(&mut self, head: Head) -> Result<u64, Refused> {
        if self.small.len() >= WRITE_BYTES {
            self.write().map_err(Refused::Disk)?;
        }
        let place = self.end;
        self.small(&head.to_bytes());
        self.end += HEAD as u64 + u64::from(head.length);
        Ok(place)
    }

    fn piece(&mut self, piece: Piece<'a>) {
        match piece {
            Piece::Bytes(bytes) if bytes.len() >= MIN_UNCOPIED => self.waiting.push(PendingWrite::Large(bytes)),
            piece => self.small(piece.bytes()),
        }
    }

    fn small(&mut self, bytes: &[u8]) {
        let from = self.small.len();
        self.small.extend_from_slice(bytes);
        let to = self.small.len();
        match self.waiting.last_mut() {
            Some(PendingWrite::Small(last)) => last.end = to,
            _ => self.waiting.push(PendingWrite::Small(from..to)),
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let slices: Vec<&[u8]> = self
            .waiting
            .iter()
            .map(|waiting| match waiting {
                PendingWrite::Small(range) => self.small.get(range.clone()).unwrap_or_default(),
                PendingWrite::Large(bytes) => bytes,
            })
            .collect();
        self.file.write_all_at(&slices, self.written)?;
        self.written = self.end;
        self.waiting.clear();
        self.small.clear();
        Ok(())
    }

    /// Writes what is waiting, and returns the end offset.
    pub(super) fn end(mut self) -> io::Result<u64> {
        if !self.waiting.is_empty() {
            self.write()?;
        }
        Ok(self.end)
    }
}

//! Whether a chunk is stored already, compared byte by byte. Envelopes shared by several chunks are compared once.

use super::chunk::Chunk;
use super::error::Error;
use super::index::IndexTransaction;
use super::log::{Position, RecordKind};
use super::segments::Segments;
use super::shared::Shared;
use crate::hash::HashMap;

/// Comparisons made during one commit.
pub(super) struct Repetition<'a> {
    segments: &'a Segments,
    /// Results for pairs of envelopes: one of a request, by request and number, and one in the log or in another request.
    envelopes: HashMap<((usize, u64), Other), bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Other {
    Stored(Position),
    OfRequest(usize, u64),
}

impl<'a> Repetition<'a> {
    pub(super) fn new(segments: &'a Segments) -> Self {
        Self {
            segments,
            envelopes: HashMap::default(),
        }
    }

    /// Whether two chunks of the same kind, trace and checksum are equal.
    pub(super) fn same(&mut self, one: &Chunk, other: &Chunk) -> bool {
        match (one.shared(), other.shared()) {
            (None, None) => one.length() == other.length() && one.is(&other.message()),
            (Some(message), Some(others)) => {
                let (Some(apart), Some(others)) = (Shared::read(&message), Shared::read(&others)) else {
                    return false;
                };
                apart.without_places() == others.without_places()
                    && apart.envelopes().zip(others.envelopes()).all(|((_, mine), (_, its))| {
                        let envelope = || Some(other.envelope(its).collect::<Vec<_>>().concat());
                        self.same_envelope((one, mine), Other::OfRequest(other.request(), its), envelope)
                    })
            }
            _ => false,
        }
    }

    /// Whether the log has a chunk with the same bytes. The index supplies the candidates.
    pub(super) fn is_stored(&mut self, transaction: &mut IndexTransaction<'_>, chunk: &Chunk) -> Result<bool, Error> {
        for at in transaction.alike(&chunk.listed())? {
            match self.is_at(chunk, at) {
                Ok(true) => return Ok(true),
                // The stored chunk is damaged or gone, so this one is stored.
                Ok(false) | Err(Error::Io { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn is_at(&mut self, chunk: &Chunk, at: Position) -> Result<bool, Error> {
        let Some(message) = chunk.shared() else {
            return Ok(self.segments.message(at)?.is_some_and(|message| chunk.is(&message)));
        };
        let Some((head, stored)) = self.segments.record(at)? else {
            return Ok(false);
        };
        let is_shared = matches!(head.kind(), Some(RecordKind::Shared(_)));
        let (Some(apart), Some(stored)) = (Shared::read(&message), Shared::read(&stored).filter(|_| is_shared)) else {
            return Ok(false);
        };
        if apart.without_places() != stored.without_places() {
            return Ok(false);
        }
        for ((_, number), (_, distance)) in apart.envelopes().zip(stored.envelopes()) {
            let at = Position {
                offset: at.offset.saturating_sub(distance),
                ..at
            };
            let mut failure = None;
            let envelope = || match self.segments.record(at) {
                Ok(record) => record.map(|(_, bytes)| bytes),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            };
            let known = &mut self.envelopes;
            if !same_envelope(known, (chunk, number), Other::Stored(at), envelope) {
                return failure.map_or(Ok(false), Err);
            }
        }
        Ok(true)
    }

    fn same_envelope(&mut self, mine: (&Chunk, u64), other: Other, its: impl FnOnce() -> Option<Vec<u8>>) -> bool {
        same_envelope(&mut self.envelopes, mine, other, its)
    }
}

fn same_envelope(
    known: &mut HashMap<((usize, u64), Other), bool>,
    (chunk, number): (&Chunk, u64),
    other: Other,
    its: impl FnOnce() -> Option<Vec<u8>>,
) -> bool {
    *known.entry(((chunk.request(), number), other)).or_insert_with(|| {
        let Some(its) = its() else { return false };
        let mut rest = Some(its.as_slice());
        chunk
            .envelope(number)
            .for_each(|bytes| rest = rest.and_then(|rest| rest.strip_prefix(bytes)));
        rest.is_some_and(<[u8]>::is_empty)
    })
}

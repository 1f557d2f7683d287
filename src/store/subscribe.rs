//! Reading chunks in order of arrival, from a position on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use tokio::sync::watch;

use super::arrivals::{Arrival, ArrivalLimits, Arrivals};
use super::chunk::kind::ChunkKind;
use super::error::{Error, of_io};
use super::local::Local;
use super::log::record::HEAD;
use super::log::{self, Head, Position, RecordKind, SEGMENT_HEAD, unpacked};
use super::segments::Segments;
use super::shared::Shared;
use super::state::State;
use super::traits::Subscribe;
use crate::span::TraceId;

/// Why a scan ended before the end of its segment.
enum Stop {
    Enough,
    Failed(Error),
}

impl Subscribe for Local {
    fn watch_end(&self) -> Option<watch::Receiver<Position>> {
        self.state().map(|state| state.end.subscribe())
    }

    fn read_arrivals(&self, from: Position, limits: ArrivalLimits) -> Result<Arrivals, Error> {
        let end = *self.state().ok_or(Error::ReadOnly)?.end.borrow();
        let mut out = Arrivals {
            next: from,
            ..Arrivals::default()
        };
        if from >= end {
            return Ok(out);
        }
        let present = log::segments(self.directory())?;
        let Some(number) = present.into_iter().find(|number| *number >= from.segment) else {
            return Ok(out);
        };
        if from.segment != 0 {
            out.removed_segments = number - from.segment;
        }
        let start = if number == from.segment { from.offset } else { 0 };
        let from = Position {
            segment: number,
            offset: start.max(SEGMENT_HEAD),
        };
        self.read_segment(from, end, limits, &mut out)?;
        Ok(out)
    }

    fn position_at(&self, time: u64) -> Result<Position, Error> {
        let end = *self.state().ok_or(Error::ReadOnly)?.end.borrow();
        let failure = |source| of_io("read a segment of", self.directory(), source);
        let present = log::segments(self.directory())?;
        // Chunks are in order of time: the position is in the last segment that begins before `time`, or at the beginning of the next one.
        let mut candidates = Vec::new();
        for number in present.into_iter().rev() {
            candidates.push(number);
            let first = self.segments().segment(number)?.first_arrival().map_err(failure)?;
            if first.is_some_and(|first| first < time) {
                break;
            }
        }
        for number in candidates.into_iter().rev() {
            let segment = self.segments().segment(number)?;
            let until = if number == end.segment { end.offset } else { u64::MAX };
            let scanned = segment.scan_until(0, until, &mut |row, head, _| match head.arrival >= time {
                true => Err(row.raw),
                false => Ok(()),
            });
            if let Err(offset) = scanned.map_err(failure)? {
                return Ok(Position { segment: number, offset });
            }
        }
        Ok(end)
    }

    fn chunk_at(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        match self.segments().message(at) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            message => message,
        }
    }

    fn chunks_of(&self, trace_id: TraceId) -> Result<Vec<(Position, ChunkKind)>, Error> {
        let location = self.reader().index(|index| index.trace(trace_id))?;
        Ok(location
            .into_iter()
            .flat_map(|location| location.chunks)
            .map(|place| (place.at, place.kind))
            .collect())
    }

    fn bytes_behind(&self, position: Position) -> u64 {
        backlog_bytes(self.directory(), position)
    }

    fn removed_behind(&self, position: Position) -> u64 {
        removed_segments(self.directory(), position)
    }
}

impl Local {
    fn read_segment(&self, from: Position, end: Position, limits: ArrivalLimits, out: &mut Arrivals) -> Result<(), Error> {
        let number = from.segment;
        let segments = self.segments();
        let segment = match segments.segment(number) {
            // Retention removed it first: the next read skips it and reports that.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            segment => segment?,
        };
        let until = if number == end.segment { end.offset } else { u64::MAX };
        out.next = from;
        let mut bytes = 0;
        let mut envelopes: HashMap<u64, Vec<u8>> = HashMap::new();
        let deleted = self.state().and_then(State::deleted_traces);
        let mut visit = |raw: u64, head: Head, message: Vec<u8>| {
            let kind = match head.kind() {
                Some(RecordKind::Chunk(kind) | RecordKind::Shared(kind)) => Some(kind),
                _ => None,
            };
            if head.arrival > limits.latest || (kind.is_some() && bytes >= limits.bytes && !out.chunks.is_empty()) {
                return Err(Stop::Enough);
            }
            out.damaged_bytes += raw.saturating_sub(out.next.offset);
            let at = Position {
                segment: number,
                offset: raw,
            };
            let length = u64::from(head.length);
            // It is about to be erased.
            let is_deleted = deleted
                .as_ref()
                .is_some_and(|deleted| head.trace_id.is_some_and(|id| deleted.has(id)));
            if is_deleted {
                out.next.offset = raw + HEAD as u64 + u64::from(head.length);
                return Ok(());
            }
            let message = match (head.kind(), unpacked(head, message)) {
                (Some(RecordKind::Shared(_)), Some((_, message))) => whole(segments, at, &message, &mut envelopes).map_err(Stop::Failed)?,
                (Some(RecordKind::OfResource | RecordKind::OfScope), Some((_, message))) => {
                    envelopes.insert(raw, message);
                    None
                }
                (Some(RecordKind::Chunk(_)), Some((_, message))) => Some(message),
                _ => None,
            };
            match (kind, message) {
                (Some(kind), Some(message)) => {
                    bytes += message.len();
                    out.chunks.push(Arrival {
                        at,
                        kind,
                        trace_id: head.trace_id,
                        time: head.arrival,
                        message,
                    });
                }
                (Some(_), None) => out.damaged_bytes += length,
                (None, _) => {}
            }
            out.next.offset = raw + HEAD as u64 + length;
            Ok(())
        };
        let failure = |source| of_io("read a segment of", self.directory(), source);
        let scanned = segment.scan_until(from.offset, until, &mut |row, head, message| visit(row.raw, head, message));
        match scanned.map_err(failure)? {
            Ok(_) if number < end.segment => {
                out.next = Position {
                    segment: number + 1,
                    offset: SEGMENT_HEAD,
                };
                Ok(())
            }
            Ok(_) => {
                // Also skip damage at the end of the durable part.
                out.damaged_bytes += until.saturating_sub(out.next.offset);
                out.next = end;
                Ok(())
            }
            Err(Stop::Enough) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

/// Approximate size of the log's files after a position. Positions are offsets in raw segments, so a compressed segment
/// counts for too little.
#[must_use]
pub(crate) fn backlog_bytes(store: &Path, position: Position) -> u64 {
    let segments = log::segments(store).unwrap_or_default();
    let behind = segments.into_iter().filter(|segment| *segment >= position.segment);
    let sizes = behind.map(|segment| {
        let size = std::fs::metadata(store.join(log::file_name(segment))).map_or(0, |data| data.len());
        match segment == position.segment {
            true => size.saturating_sub(position.offset),
            false => size,
        }
    });
    sizes.sum()
}

/// Number of segments removed by retention after a position.
#[must_use]
pub fn removed_segments(store: &Path, position: Position) -> u64 {
    let first = log::segments(store).unwrap_or_default().into_iter().next();
    match position.segment {
        0 => 0,
        segment => first.map_or(0, |first| first.saturating_sub(segment)),
    }
}

/// The OTLP message of a chunk with shared envelopes; envelopes are cached.
fn whole(segments: &Segments, at: Position, message: &[u8], envelopes: &mut HashMap<u64, Vec<u8>>) -> Result<Option<Vec<u8>>, Error> {
    let Some(apart) = Shared::read(message) else { return Ok(None) };
    let mut of_chunk = HashMap::new();
    for (_, distance) in apart.envelopes() {
        let Some(offset) = at.offset.checked_sub(distance) else {
            return Ok(None);
        };
        let envelope = match envelopes.entry(offset) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => match segments.record(Position { offset, ..at })? {
                Some((head, bytes)) if matches!(head.kind(), Some(RecordKind::OfResource | RecordKind::OfScope)) => vacant.insert(bytes),
                _ => return Ok(None),
            },
        };
        of_chunk.insert(distance, envelope.clone());
    }
    Ok(Some(apart.message(&of_chunk)))
}

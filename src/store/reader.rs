//! Reads chunks that the index lists.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::chunk::kind::ChunkKind;
use super::error::Error;
use super::index::{self, ChunkLocation};
use super::log::Position;
use super::segments::Segments;
use super::traits::{EachChunk, Stored};
use crate::otlp::decode;

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) segments: Arc<Segments>,
    directory: PathBuf,
    /// Idle connections. A reader takes one or opens another, so readers never wait for each other.
    idle: Mutex<Vec<Idle>>,
    /// Number of rebuilds of the index since the store was opened. An older connection reads a file that is gone.
    rebuilds: Arc<AtomicU64>,
    /// Opens another connection.
    open: fn(&Path) -> Result<Connection, Error>,
}

/// An idle connection.
#[derive(Debug)]
struct Idle {
    reading: index::Reading,
    /// The number of rebuilds when it was opened.
    rebuilds: u64,
}

/// Maximum number of idle connections.
const MAX_IDLE: usize = 4;

impl Reader {
    pub(super) fn new(directory: &Path, segments: Arc<Segments>, first: Connection, open: fn(&Path) -> Result<Connection, Error>) -> Self {
        Self {
            segments,
            directory: directory.to_owned(),
            idle: Mutex::new(vec![Idle {
                reading: index::Reading::new(first),
                rebuilds: 0,
            }]),
            rebuilds: Arc::default(),
            open,
        }
    }

    /// The counter of index rebuilds.
    pub(super) fn rebuilds(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.rebuilds)
    }

    pub(super) fn index<T>(&self, read: impl FnOnce(&mut index::Reading) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let rebuilds = self.rebuilds.load(Ordering::Acquire);
        let taken = {
            let mut idle = idle();
            idle.retain(|idle| idle.rebuilds == rebuilds);
            idle.pop()
        };
        let mut reading = match taken {
            Some(idle) => idle.reading,
            None => index::Reading::new((self.open)(&self.directory)?),
        };
        let found = read(&mut reading)?;
        let mut idle = idle();
        if idle.len() < MAX_IDLE {
            idle.push(Idle { reading, rebuilds });
        }
        Ok(found)
    }

    /// The message at a position; the inner error says why it is missing.
    pub(super) fn message(&self, at: Position) -> Result<Result<Vec<u8>, String>, Error> {
        let Position { segment, offset } = at;
        match self.segments.message(at) {
            // Retention removed it first.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(Err(format!("segment {segment}, byte {offset}: removed")))
            }
            message => Ok(message?.ok_or_else(|| format!("segment {segment}, byte {offset}: damaged on the disk"))),
        }
    }

    pub(super) fn add(&self, stored: &mut Stored, place: ChunkLocation, may: &mut EachChunk<'_>) -> Result<(), Error> {
        let Position { segment, offset } = place.at;
        match self.message(place.at)? {
            Ok(message) => {
                may(place.kind, &message)?;
                let decoded = match place.kind {
                    ChunkKind::Spans => decode::traces(&message).map(|decoded| stored.spans.extend(decoded.items)),
                    _ => decode::logs(&message).map(|decoded| stored.logs.extend(decoded.items)),
                };
                if let Err(error) = decoded {
                    stored.damaged.push(format!("segment {segment}, byte {offset}: {error}"));
                }
            }
            Err(damaged) => stored.damaged.push(damaged),
        }
        stored.ends.push((stored.spans.len(), stored.logs.len()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::{encode, scan};
    use crate::span::{Signal, Span, SpanId, TraceId};
    use crate::store::chunk::Chunk;
    use crate::store::disk::Directory;
    use crate::store::index::{Index, IndexTransaction};
    use crate::store::lists::Filter;

    #[test]
    fn a_rebuilt_index_is_read_and_not_the_file_that_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        drop(Index::open(path).expect("opens"));
        let segments = Arc::new(Segments::new(path, Arc::new(Directory::new(path))));
        let first = index::open_beside(path).expect("opens");
        let reader = Reader::new(path, segments, first, index::open_beside);
        let listed = || reader.index(|index| index.list(&Filter::default())).expect("reads").len();
        assert_eq!(listed(), 0);

        index::remove(path).expect("removes");
        let mut rebuilt = Index::open(path).expect("opens");
        let trace_id = TraceId::from_bytes(&[7; 16]).expect("an id");
        let mut span = Span::new(trace_id, SpanId::from_bytes(&[1; 8]).expect("an id"), "alone");
        span.start = crate::span::UnixNanos(1);
        let bytes = encode::traces(&[span]);
        let scanned = scan::scan(&bytes, Signal::Traces, &[]).expect("a request");
        let chunk = Chunk::of_request(scanned, bytes).remove(0);
        let mut transaction = IndexTransaction::begin(&mut rebuilt).expect("begins");
        transaction.add(&chunk.listed(), Position::default()).expect("adds");
        transaction.commit(Position::default()).expect("commits");

        let _ = reader.rebuilds().fetch_add(1, Ordering::Release);
        assert_eq!(listed(), 1);
    }
}

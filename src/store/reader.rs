//! Reading traces: their chunks by the index, decoded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::index::{self, Place};
use super::local::Local;
use super::log::Position;
use super::segments::Segments;
use super::{ChunkKind, Error, Filter, Read, SessionCursor, SessionRow, Stored, TraceRow};
use crate::otlp::decode;
use crate::span::{LogRecord, TraceId};

/// Asked for each chunk, with its OTLP message and before that is decoded, whether to go on.
pub type May<'a> = dyn FnMut(ChunkKind, &[u8]) -> Result<(), Error> + 'a;

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) segments: Arc<Segments>,
    directory: PathBuf,
    /// Connections that nobody reads with now: a reader takes one, or opens a further one, so that none waits for another.
    idle: Mutex<Vec<index::Reading>>,
    /// Opens a further one.
    open: fn(&Path) -> Result<Connection, Error>,
}

/// Connections to the index that are kept for the next readers.
const IDLE: usize = 4;

impl Reader {
    pub(super) fn new(directory: &Path, segments: Arc<Segments>, first: Connection, open: fn(&Path) -> Result<Connection, Error>) -> Self {
        Self {
            segments,
            directory: directory.to_owned(),
            idle: Mutex::new(vec![index::Reading::new(first)]),
            open,
        }
    }

    pub(super) fn index<T>(&self, read: impl FnOnce(&mut index::Reading) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = idle().pop();
        let mut reading = match reading {
            Some(reading) => reading,
            None => index::Reading::new((self.open)(&self.directory)?),
        };
        let found = read(&mut reading)?;
        let mut idle = idle();
        if idle.len() < IDLE {
            idle.push(reading);
        }
        Ok(found)
    }

    /// The message at a place; the inner error says why it is not there.
    fn message(&self, at: Position) -> Result<Result<Vec<u8>, String>, Error> {
        let Position { segment, offset } = at;
        match self.segments.message(at) {
            // Retention was faster.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(Err(format!("segment {segment}, byte {offset}: removed")))
            }
            message => Ok(message?.ok_or_else(|| format!("segment {segment}, byte {offset}: damaged on the disk"))),
        }
    }

    fn add(&self, stored: &mut Stored, place: Place, may: &mut May<'_>) -> Result<(), Error> {
        let Position { segment, offset } = place.at;
        let message = match self.message(place.at)? {
            Ok(message) => message,
            Err(damaged) => {
                stored.damaged.push(damaged);
                return Ok(());
            }
        };
        may(place.kind, &message)?;
        let decoded = match place.kind {
            ChunkKind::Spans => decode::traces(&message).map(|decoded| stored.spans.extend(decoded.items)),
            _ => decode::logs(&message).map(|decoded| stored.logs.extend(decoded.items)),
        };
        if let Err(error) = decoded {
            stored.damaged.push(format!("segment {segment}, byte {offset}: {error}"));
        }
        Ok(())
    }
}

impl Read for Local {
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        self.reader().index(|index| index.list(filter))
    }

    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error> {
        self.reader().index(|index| index::sessions(index.connection(), limit, after))
    }

    fn read_trace_while(&self, trace_id: TraceId, may: &mut May<'_>) -> Result<Option<Stored>, Error> {
        let Some(standing) = self.reader().index(|index| index.trace(trace_id))? else {
            return Ok(None);
        };
        let mut stored = Stored::default();
        for place in standing.chunks {
            self.reader().add(&mut stored, place, may)?;
        }
        let mut of_session = Stored::default();
        for place in standing.loose {
            self.reader().add(&mut of_session, place, may)?;
        }
        let in_time = |record: &LogRecord| standing.time.contains(&record.when().0);
        stored.logs.extend(of_session.logs.into_iter().filter(in_time));
        stored.damaged.extend(of_session.damaged);
        Ok(Some(stored))
    }

    fn revision(&self, trace_id: TraceId) -> Result<u64, Error> {
        self.reader().index(|index| index.revision(trace_id))
    }

    fn each_chunk(&self, trace_id: TraceId, each: &mut May<'_>) -> Result<Vec<String>, Error> {
        let standing = self.reader().index(|index| index.trace(trace_id))?;
        let mut damaged = Vec::new();
        for place in standing.into_iter().flat_map(|standing| standing.chunks) {
            match self.reader().message(place.at)? {
                Ok(message) => each(place.kind, &message)?,
                Err(what) => damaged.push(what),
            }
        }
        Ok(damaged)
    }

    fn read_logs(&self, trace_id: TraceId) -> Result<Vec<LogRecord>, Error> {
        let standing = self.reader().index(|index| index.trace(trace_id))?;
        let mut stored = Stored::default();
        let of_logs = standing
            .into_iter()
            .flat_map(|standing| standing.chunks)
            .filter(|place| place.kind != ChunkKind::Spans);
        for place in of_logs {
            self.reader().add(&mut stored, place, &mut |_, _| Ok(()))?;
        }
        Ok(stored.logs)
    }

    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        self.reader().index(|index| index::summary(index.connection(), trace_id, revision))
    }

    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        self.with_summaries(|index| index::put_summary(index, trace_id, revision, summary))
            .map(|_| ())
    }
}

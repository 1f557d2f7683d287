//! The local store, behind the traits of a store.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Local;
use crate::span::{LogRecord, TraceId};
use crate::store::batch::Job;
use crate::store::chunk::Chunk;
use crate::store::chunk::kind::ChunkKind;
use crate::store::deletion::{Beside, Deleted, DeletedBefore, Unwanted};
use crate::store::error::{Error, of_io};
use crate::store::index::{self, ChunkLocation};
use crate::store::lists::{Filter, SessionCursor, SessionRow, TraceRow, Wanted};
use crate::store::log::Lost;
use crate::store::losses::Losses;
use crate::store::maintain::Maintained;
use crate::store::ready::{self, Usage};
use crate::store::traits::{Administer, Append, EachChunk, OnAppended, Read, Receipt, Stored};

impl Append for Local {
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
        if chunks.is_empty() {
            return match self.writer {
                Some(_) => done(Ok(Receipt::default())),
                None => done(Err(Error::ReadOnly)),
            };
        }
        self.send(Job {
            chunks,
            revision: None,
            done,
        });
    }

    fn submit_at(&self, revision: u64, chunk: Chunk, done: OnAppended<u64>) {
        self.send(Job {
            chunks: vec![chunk],
            revision: Some(revision),
            // A new chunk raises the revision of its trace by one.
            done: Box::new(move |result| done(result.map(|receipt| if receipt.stored > 0 { revision + 1 } else { revision }))),
        });
    }
}

impl Read for Local {
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        self.reader().index(|index| index.list(filter))
    }

    fn list_wanted(&self, filter: &Filter, wanted: &mut Wanted<'_>) -> Result<Vec<TraceRow>, Error> {
        self.reader().index(|index| index.list_wanted(filter, wanted))
    }

    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error> {
        self.reader().index(|index| index::sessions(index.connection(), limit, after))
    }

    fn read_trace_while(&self, trace_id: TraceId, may: &mut EachChunk<'_>) -> Result<Option<Stored>, Error> {
        let Some(location) = self.reader().index(|index| index.trace(trace_id))? else {
            return Ok(None);
        };
        let mut stored = Stored::default();
        for place in location.chunks {
            self.reader().add(&mut stored, place, may)?;
        }
        let mut of_session = Stored::default();
        for place in location.loose {
            self.reader().add(&mut of_session, place, may)?;
        }
        let in_time = |record: &LogRecord| location.time.contains(&record.when().0);
        stored.logs.extend(of_session.logs.into_iter().filter(in_time));
        stored.damaged.extend(of_session.damaged);
        Ok(Some(stored))
    }

    fn revision(&self, trace_id: TraceId) -> Result<u64, Error> {
        self.reader().index(|index| index.revision(trace_id))
    }

    fn each_chunk(&self, trace_id: TraceId, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error> {
        let chunks = self.reader().index(|index| index.chunks(trace_id))?;
        let mut damaged = Vec::new();
        for place in chunks {
            match self.reader().message(place.at)? {
                Ok(message) => each(place.kind, &message)?,
                Err(what) => damaged.push(what),
            }
        }
        Ok(damaged)
    }

    fn read_logs(&self, trace_id: TraceId) -> Result<Vec<LogRecord>, Error> {
        let location = self.reader().index(|index| index.trace(trace_id))?;
        let mut stored = Stored::default();
        let of_logs = location
            .into_iter()
            .flat_map(|location| location.chunks)
            .filter(|place| place.kind != ChunkKind::Spans);
        for place in of_logs {
            self.reader().add(&mut stored, place, &mut |_, _| Ok(()))?;
        }
        Ok(stored.logs)
    }

    fn read_session_logs(&self, session: &str, may: &mut EachChunk<'_>) -> Result<Vec<LogRecord>, Error> {
        let mut places = self.reader().index(|index| index::loose_of(index.connection(), session))?;
        places.sort_unstable();
        let mut stored = Stored::default();
        for at in places {
            let place = ChunkLocation {
                at,
                kind: ChunkKind::LooseLogs,
            };
            self.reader().add(&mut stored, place, may)?;
        }
        Ok(stored.logs)
    }

    fn deleted(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        self.deleted_before(what)
    }

    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        self.reader().index(|index| index::summary(index.connection(), trace_id, revision))
    }

    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        self.with_summaries(|index| index::put_summary(index, trace_id, revision, summary))
            .map(|_| ())
    }
}

impl Administer for Local {
    fn ready(&self) -> Result<(), Error> {
        let writer = self.writer.as_ref().ok_or(Error::ReadOnly)?;
        let failure = writer.state.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(poisoned @ Error::Poisoned { .. }) = failure {
            return Err(poisoned);
        }
        // Clients do not send to a server that is not ready, so no commit would notice that the disk has room again.
        writer.probe.ask(&*writer.disk, &self.directory)?;
        writer.state.full.check(&self.directory)
    }

    fn usage(&self) -> Result<Usage, Error> {
        ready::usage(&self.directory).map_err(|source| of_io("read", &self.directory, source))
    }

    fn appended_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.state.bytes.load(Ordering::Relaxed))
    }

    fn maintain(&self) -> Result<Maintained, Error> {
        let writer = self.writer.as_ref().ok_or(Error::ReadOnly)?;
        writer.maintenance.now()
    }

    fn maintained(&self) -> Maintained {
        self.writer
            .as_ref()
            .map_or_else(Maintained::default, |writer| writer.maintenance.so_far())
    }

    fn lost(&self) -> Vec<Lost> {
        if self.lost.is_empty() {
            return Vec::new();
        }
        let losses = Losses::of(&self.directory).unwrap_or_default();
        let lost = self.lost.iter().filter(|lost| !losses.is_acknowledged(lost));
        lost.cloned().collect()
    }

    fn to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        self.count_to_delete(what)
    }

    fn delete(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        self.delete_at_once(what, beside)
    }

    fn finish_deletions(&self, beside: &mut Beside<'_>) -> Result<(), Error> {
        Self::finish_deletions(self, beside)
    }

    fn close(&self) {
        let Some(writer) = &self.writer else { return };
        writer.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = writer.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        writer.maintenance.stop();
    }
}

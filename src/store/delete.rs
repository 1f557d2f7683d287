//! Deletion on request from the local store.
//!
//! First the deletion is written to `deletions.json`: from then on nothing is stored for its traces. Then the maintenance
//! thread removes the traces from the index and rewrites each segment with records of them. The active segment is sealed
//! first. Finally the caller removes what is kept outside the store. Each step can be repeated, so the next start continues
//! after a crash.

use std::sync::mpsc::sync_channel;

use super::clock::now;
use super::commit::Order;
use super::deletion::{Beside, Deleted, DeletedBefore, Deletions, Unwanted, digest_of};
use super::deletion_files::{Deletion, OfTrace, Unfinished};
use super::error::Error;
use super::index;
use super::local::Local;

/// What the index has to be deleted.
struct ToErase {
    of: Vec<OfTrace>,
    deleted: Deleted,
    unfinished: Unfinished,
}

impl Local {
    /// How much would be deleted.
    pub(super) fn count_to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        self.find(what).map(|found| found.deleted)
    }

    /// An earlier deletion of this, if any.
    pub(super) fn deleted_before(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        match self.state() {
            Some(state) => Ok(state.deletions().and_then(|deletions| deletions.before(what))),
            None => Deletions::of(self.directory()).map(|deletions| deletions.before(what)),
        }
    }

    /// Deletes, and returns once the bytes are gone from the disk.
    pub(super) fn delete_at_once(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        let writer = self.writer().ok_or(Error::ReadOnly)?;
        let state = &writer.state;
        let deleted = {
            // Blocks writes: a chunk of these traces is either stored already and found, or comes later and is refused.
            let _turn = state.turns.take();
            let ToErase { of, deleted, unfinished } = self.find(what)?;
            if !unfinished.segments.is_empty() || !of.is_empty() {
                let deletion = Deletion {
                    time_unix_nano: now(),
                    spans: deleted.spans,
                    log_records: deleted.log_records,
                    bytes: deleted.bytes,
                    of,
                    unfinished: Some(unfinished),
                };
                let begin = || state.with_deletions(|deletions| deletions.begin(self.directory(), deletion.clone()));
                writer.reserve.with_room(begin)?;
            }
            deleted
        };
        self.finish_deletions(beside)?;
        Ok(deleted)
    }

    /// Completes all pending deletions, including concurrent ones: hence the segments of all are sealed first.
    pub(super) fn finish_deletions(&self, beside: &mut Beside<'_>) -> Result<(), Error> {
        let writer = self.writer().ok_or(Error::ReadOnly)?;
        let unfinished = || writer.state.deletions().and_then(|deletions| deletions.unfinished());
        let Some(work) = unfinished() else { return Ok(()) };
        if let Some(last) = work.segments.last() {
            self.seal(*last)?;
        }
        writer.maintenance.erase()?;
        let traces: Vec<_> = work.traces.into_iter().collect();
        beside(&traces)?;
        let finish = || {
            let finish = |deletions: &mut Deletions| deletions.finish(self.directory(), work.deletions);
            writer.state.with_deletions(finish)
        };
        writer.reserve.with_room(finish)
    }

    /// Seals the active segment, if it is this one or an earlier one.
    pub(super) fn seal(&self, segment: u64) -> Result<(), Error> {
        let (sealer, sealed) = sync_channel(1);
        self.order(Order::Seal(segment, sealer))?;
        sealed.recv().unwrap_or(Err(Error::Closed))
    }

    fn find(&self, what: &Unwanted) -> Result<ToErase, Error> {
        self.reader().index(|reading| {
            let connection = reading.connection();
            let traces = index::traces_to_delete(connection, what)?;
            let mut found = ToErase {
                of: Vec::with_capacity(traces.len()),
                deleted: Deleted::default(),
                unfinished: Unfinished::default(),
            };
            for trace in traces {
                let chunks = index::chunks_of(connection, trace.trace_id)?;
                found.unfinished.segments.extend(chunks.iter().map(|chunk| chunk.at.segment));
                found.deleted.traces.push(trace.trace_id);
                found.deleted.spans += trace.spans;
                found.deleted.log_records += trace.logs;
                found.deleted.bytes += trace.bytes;
                found.of.push(OfTrace {
                    trace_id: trace.trace_id.to_string(),
                    session: trace.session.as_deref().map(digest_of),
                });
            }
            if let Unwanted::Session(session) = what {
                for at in index::loose_of(connection, session)? {
                    found.deleted.log_records += 1;
                    found.deleted.bytes += self.length_at(at)?;
                    found.unfinished.segments.insert(at.segment);
                    found.unfinished.loose.insert((at.segment, at.offset));
                }
            }
            Ok(found)
        })
    }

    fn length_at(&self, at: super::log::Position) -> Result<u64, Error> {
        Ok(self.segments().message(at)?.map_or(0, |message| message.len() as u64))
    }
}

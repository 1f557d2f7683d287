//! The traits of a store. Engines implement them, and users of a store name no engine.
//!
//! They ask for little, so that a distributed engine can implement them: rows by the trace's id, lists with a cursor,
//! an append that depends on a revision, and one order of arrival with positions that last.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

use tokio::sync::watch;

use super::arrivals::{ArrivalLimits, Arrivals};
use super::chunk::Chunk;
use super::chunk::kind::ChunkKind;
use super::deletion::{Beside, Deleted, DeletedBefore, Unwanted};
use super::error::Error;
use super::lists::{Filter, Order, SessionCursor, SessionRow, TraceRow, Wanted};
use super::log::{Lost, Position};
use super::maintain::Maintained;
use super::ready::Usage;
use crate::otlp::decode;
use crate::span::{LogRecord, Span, TraceId};

/// What became of appended chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Spans and log records that are new.
    pub stored: usize,
    /// Spans and log records that were there already, in a chunk with the same bytes.
    pub duplicates: usize,
    /// Spans and log records of traces that were deleted on request: they are not stored.
    pub deleted: usize,
}

/// Spans and log records of one trace as the store has them.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Spans in order of arrival; the same span may occur twice.
    pub spans: Vec<Span>,
    /// Log records of the trace, and loose ones of its session in its time.
    pub logs: Vec<LogRecord>,
    /// Records that are damaged on the disk and were left out.
    pub damaged: Vec<String>,
    /// Where each chunk of the trace ends in `spans` and in `logs`, in the order of [`Subscribe::chunks_of`].
    pub ends: Vec<(usize, usize)>,
}

/// Called with what became of an append.
pub type OnAppended<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// Asked for each chunk, with its OTLP message and before that is decoded, whether to go on.
pub type EachChunk<'a> = dyn FnMut(ChunkKind, &[u8]) -> Result<(), Error> + 'a;

/// Takes what comes.
pub trait Append: Send + Sync + Debug {
    /// Appends chunks; `done` is called once they are on the disk and can be found, or when they are not.
    /// Never blocks for the disk.
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>);

    /// Appends a chunk of a trace if the trace is still at this [revision](TraceRow::revision); 0: it is not there yet.
    /// `done` is called with the revision that it has then, or with [`Error::Changed`]. Never blocks for the disk.
    fn submit_at(&self, revision: u64, chunk: Chunk, done: OnAppended<u64>);

    /// Appends chunks, and waits.
    ///
    /// # Errors
    ///
    /// They are not on the disk, or cannot be found there; sending them again is harmless.
    fn append(&self, chunks: Vec<Chunk>) -> Result<Receipt, Error> {
        let (sender, receiver) = sync_channel(1);
        self.submit(
            chunks,
            Box::new(move |result| {
                let _ = sender.send(result);
            }),
        );
        receiver.recv().unwrap_or(Err(Error::Closed))
    }
}

/// Rows that [`Read::list_wanted`] reads at once.
const PART: usize = 200;

/// Gives back what was stored.
pub trait Read: Send + Sync + Debug {
    /// Traces that match a filter, in its order; [`TraceRow::cursor`] of the last is where the next page begins.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error>;

    /// Traces that match a filter and that `wanted` takes, up to the filter's limit. If there are fewer, `wanted` has seen all that
    /// match, or has ended the list. [`Filter::name_bytes`] does not apply.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn list_wanted(&self, filter: &Filter, wanted: &mut Wanted<'_>) -> Result<Vec<TraceRow>, Error> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        // Lists in the order of arrival have no pages.
        let has_pages = filter.order != Order::LatestArrivalFirst;
        let mut part = Filter {
            limit: filter.limit.map(|limit| limit.max(PART)).filter(|_| has_pages),
            name_bytes: None,
            ..filter.clone()
        };
        let mut found = Vec::new();
        loop {
            let rows = self.list(&part)?;
            let is_last = part.limit.is_none_or(|limit| rows.len() < limit);
            part.after = rows.last().map(TraceRow::cursor);
            for row in rows {
                if found.len() == limit {
                    return Ok(found);
                }
                match wanted(row.cursor(), row.revision) {
                    ControlFlow::Continue(true) => found.push(row),
                    ControlFlow::Continue(false) => {}
                    ControlFlow::Break(()) => return Ok(found),
                }
            }
            if is_last || found.len() == limit {
                return Ok(found);
            }
        }
    }

    /// Sessions, newest first: at most so many, behind a place in that order.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error>;

    /// Everything of one trace; `None` if the store has none of its spans. `may` is asked for each chunk.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `may` fails.
    fn read_trace_while(&self, trace_id: TraceId, may: &mut EachChunk<'_>) -> Result<Option<Stored>, Error>;

    /// Gives the OTLP message of each chunk of a trace, also of one without spans, in order of arrival, without keeping any. Says which records are damaged
    /// on the disk and were left out.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `each` fails.
    fn each_chunk(&self, trace_id: TraceId, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error>;

    /// Everything of one trace; `None` if the store has none of its spans.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read.
    fn read_trace(&self, trace_id: TraceId) -> Result<Option<Stored>, Error> {
        self.read_trace_while(trace_id, &mut |_, _| Ok(()))
    }

    /// The row of one trace.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn row(&self, trace_id: TraceId) -> Result<Option<TraceRow>, Error> {
        let filter = Filter {
            traces: vec![trace_id],
            limit: Some(1),
            ..Filter::default()
        };
        Ok(self.list(&filter)?.pop())
    }

    /// The [revision](TraceRow::revision) of a trace, also of one that has no spans yet; 0: nothing of it is there.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn revision(&self, trace_id: TraceId) -> Result<u64, Error>;

    /// The log records that came with a trace so far, without its spans.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read.
    fn read_logs(&self, trace_id: TraceId) -> Result<Vec<LogRecord>, Error> {
        let mut logs = Vec::new();
        self.each_chunk(trace_id, &mut |kind, message| {
            if kind != ChunkKind::Spans {
                logs.extend(decode::logs(message).map(|decoded| decoded.items).unwrap_or_default());
            }
            Ok(())
        })?;
        Ok(logs)
    }

    /// The log records without a trace that name a session. `may` is asked for each chunk.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `may` fails.
    fn read_session_logs(&self, session: &str, may: &mut EachChunk<'_>) -> Result<Vec<LogRecord>, Error>;

    /// What was deleted on request of a trace or a session.
    ///
    /// # Errors
    ///
    /// That cannot be read.
    fn deleted(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        let _ = what;
        Ok(None)
    }

    /// What was computed of a trace, if it was at this revision. A store may keep nothing.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        let _ = (trace_id, revision);
        Ok(None)
    }

    /// Keeps what was computed of a trace at a revision; nothing if the store is open for reading only.
    ///
    /// # Errors
    ///
    /// The index cannot be written.
    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        let _ = (trace_id, revision, summary);
        Ok(())
    }
}

/// Gives what was stored in its order of arrival, from a position on. Positions last: whoever keeps one goes on there after
/// a restart.
pub trait Subscribe: Send + Sync + Debug {
    /// The end of what is durable; it changes whenever more is. `None`: the store is open for reading only.
    fn watch_end(&self) -> Option<watch::Receiver<Position>>;

    /// Reads the chunks from a position on, up to the end of what is durable. Without chunks in the answer and with `next`
    /// behind the position, there may be more. A position of zero is the beginning.
    ///
    /// # Errors
    ///
    /// The disk cannot be read. The store is open for reading only.
    fn read_arrivals(&self, from: Position, limits: ArrivalLimits) -> Result<Arrivals, Error>;

    /// The position of the first chunk that came at this time or later, in nanoseconds since 1970; the end of what is durable if
    /// there is none.
    ///
    /// # Errors
    ///
    /// The disk cannot be read. The store is open for reading only.
    fn position_at(&self, time: u64) -> Result<Position, Error>;

    /// The positions of a trace's chunks, in order of arrival.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn chunks_of(&self, trace_id: TraceId) -> Result<Vec<(Position, ChunkKind)>, Error>;

    /// The chunk at a place; `None`: it was removed, or is not what was written.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    fn chunk_at(&self, at: Position) -> Result<Option<Vec<u8>>, Error>;

    /// About how many bytes follow a position.
    fn bytes_behind(&self, position: Position) -> u64;

    /// Keeps how far a reader of this name is, where the chunks are, and returns once that is durable. A store in the data directory
    /// keeps nothing: whoever reads it has a file there, which is lost with the chunks and not without them.
    ///
    /// # Errors
    ///
    /// It is not durable. The store is open for reading only.
    fn keep_progress(&self, reader: &str, progress: &[u8]) -> Result<(), Error> {
        let _ = (reader, progress);
        Ok(())
    }

    /// What [`Subscribe::keep_progress`] kept of a reader.
    ///
    /// # Errors
    ///
    /// It cannot be read. The store is open for reading only.
    fn kept_progress(&self, reader: &str) -> Result<Option<Vec<u8>>, Error> {
        let _ = reader;
        Ok(None)
    }

    /// How many segments retention removed behind a position.
    fn removed_behind(&self, position: Position) -> u64 {
        let _ = position;
        0
    }
}

/// A number that an engine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Its name, as metrics are named.
    pub name: &'static str,
    /// Whether it only grows.
    pub is_total: bool,
    /// What it is.
    pub help: &'static str,
    /// The number.
    pub value: u64,
}

/// For operators.
pub trait Administer: Send + Sync + Debug {
    /// Whether it can be written to, as far as that can be known without a span.
    ///
    /// # Errors
    ///
    /// It cannot, for this reason. The store is open for reading only.
    fn ready(&self) -> Result<(), Error>;

    /// What it takes of the disk now.
    ///
    /// # Errors
    ///
    /// The disk cannot be asked.
    fn usage(&self) -> Result<Usage, Error>;

    /// Bytes of messages that were appended since the store was opened.
    fn appended_bytes(&self) -> u64;

    /// Removes what retention no longer keeps, and compresses sealed segments, now instead of in the background.
    ///
    /// # Errors
    ///
    /// The disk or the index failed; what was done until then remains. The store is open for reading only.
    fn maintain(&self) -> Result<Maintained, Error>;

    /// What maintenance did since the store was opened, and what failed last.
    fn maintained(&self) -> Maintained;

    /// What was acknowledged and is gone, as far as that was found when the store was opened or earlier, until an operator
    /// acknowledges the loss.
    fn lost(&self) -> Vec<Lost> {
        Vec::new()
    }

    /// How much would be deleted.
    ///
    /// # Errors
    ///
    /// The index cannot be read. The store cannot delete.
    fn to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        let _ = what;
        Err(Error::ReadOnly)
    }

    /// Deletes a trace or a session, and returns once its bytes are gone. What comes later for a deleted trace is not stored. `beside`
    /// removes traces from what is kept beside the store, also those of an earlier deletion that was interrupted. If this fails or the
    /// process ends, [`Administer::finish_deletions`] goes on.
    ///
    /// # Errors
    ///
    /// The disk or the index failed, or `beside` did. The store is open for reading only.
    fn delete(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        let _ = (what, beside);
        Err(Error::ReadOnly)
    }

    /// Ends the deletions that were interrupted.
    ///
    /// # Errors
    ///
    /// As of [`Administer::delete`].
    fn finish_deletions(&self, beside: &mut Beside<'_>) -> Result<(), Error> {
        let _ = beside;
        Ok(())
    }

    /// What this engine counts besides, for `/metrics`.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }

    /// Takes no more chunks, and waits until those that wait are on the disk.
    fn close(&self);
}

/// All of it.
pub trait Store: Append + Read + Subscribe + Administer {}

impl<S: Append + Read + Subscribe + Administer> Store for S {}

//! The traits of a store. Engines implement them; users of a store do not depend on an engine.
//!
//! They require little, so that a distributed engine can implement them: rows by trace id, lists with a cursor, an append
//! that depends on a revision, and one order of arrival with lasting positions.

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

/// The outcome of an append.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Number of new spans and log records.
    pub stored: usize,
    /// Number of spans and log records stored before, in a chunk with the same bytes.
    pub duplicates: usize,
    /// Number of spans and log records that were not stored because their traces were deleted on request.
    pub deleted: usize,
}

/// Spans and log records of one trace, as stored.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Spans in order of arrival; the same span may occur twice.
    pub spans: Vec<Span>,
    /// Log records of the trace, and those that name only its session and overlap its time.
    pub logs: Vec<LogRecord>,
    /// Damaged records, which were left out.
    pub damaged: Vec<String>,
    /// Where each chunk of the trace ends in `spans` and in `logs`, in the order of [`Subscribe::chunks_of`].
    pub ends: Vec<(usize, usize)>,
}

/// Called with the outcome of an append.
pub type OnAppended<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// Called with the OTLP message of each chunk before it is decoded; an error stops reading.
pub type EachChunk<'a> = dyn FnMut(ChunkKind, &[u8]) -> Result<(), Error> + 'a;

/// Stores chunks.
pub trait Append: Send + Sync + Debug {
    /// Appends chunks; `done` is called once they are on disk and can be read, or with an error. Never blocks for the disk.
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>);

    /// Appends a chunk of a trace if the trace is still at this [revision](TraceRow::revision); 0: it does not exist yet.
    /// `done` is called with the new revision, or with [`Error::Changed`]. Never blocks for the disk.
    fn submit_at(&self, revision: u64, chunk: Chunk, done: OnAppended<u64>);

    /// Appends chunks, and waits for the outcome.
    ///
    /// # Errors
    ///
    /// They are not on disk, or cannot be read; sending them again is harmless.
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

/// Rows that [`Read::list_wanted`] reads at a time.
const PART_ROWS: usize = 200;

/// Reads what is stored.
pub trait Read: Send + Sync + Debug {
    /// Traces that match a filter, in its order; the next page begins at the [`TraceRow::cursor`] of the last.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error>;

    /// Traces that match a filter and that `wanted` accepts, up to the filter's limit. If there are fewer, `wanted` has seen
    /// all matches or has ended the list. [`Filter::name_bytes`] does not apply.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn list_wanted(&self, filter: &Filter, wanted: &mut Wanted<'_>) -> Result<Vec<TraceRow>, Error> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        // Lists by arrival have no pages.
        let has_pages = filter.order != Order::LatestArrivalFirst;
        let mut part = Filter {
            limit: filter.limit.map(|limit| limit.max(PART_ROWS)).filter(|_| has_pages),
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

    /// At most `limit` sessions, newest first, after a cursor.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error>;

    /// All of one trace; `None` if the store has no spans of it. Calls `may` for each chunk.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `may` fails.
    fn read_trace_while(&self, trace_id: TraceId, may: &mut EachChunk<'_>) -> Result<Option<Stored>, Error>;

    /// Passes the OTLP message of each chunk of a trace, even without spans, to `each`, in order of arrival, keeping none in
    /// memory. Returns which records are damaged and were left out.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `each` fails.
    fn each_chunk(&self, trace_id: TraceId, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error>;

    /// All of one trace; `None` if the store has no spans of it.
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

    /// The [revision](TraceRow::revision) of a trace, even if it has no spans yet; 0: the store has nothing of it.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn revision(&self, trace_id: TraceId) -> Result<u64, Error>;

    /// The log records of a trace so far, without its spans.
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

    /// The log records without a trace that name a session. Calls `may` for each chunk.
    ///
    /// # Errors
    ///
    /// The disk or the index cannot be read, or `may` fails.
    fn read_session_logs(&self, session: &str, may: &mut EachChunk<'_>) -> Result<Vec<LogRecord>, Error>;

    /// An earlier deletion of a trace or a session on request, if any.
    ///
    /// # Errors
    ///
    /// The deletions cannot be read.
    fn deleted(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        let _ = what;
        Ok(None)
    }

    /// The cached summary of a trace, if it is of this revision. A store may cache nothing.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        let _ = (trace_id, revision);
        Ok(None)
    }

    /// Caches the summary of a trace at a revision; does nothing if the store is open for reading only.
    ///
    /// # Errors
    ///
    /// The index cannot be written.
    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        let _ = (trace_id, revision, summary);
        Ok(())
    }
}

/// Reads chunks in order of arrival, from a position on. Positions stay valid across restarts, so a reader can continue from
/// a saved one.
pub trait Subscribe: Send + Sync + Debug {
    /// The end of the durable part; updated as it grows. `None`: the store is open for reading only.
    fn watch_end(&self) -> Option<watch::Receiver<Position>>;

    /// Reads the chunks from a position on, up to the end of the durable part. If there are no chunks but `next` is after
    /// the position, there may be more. A position of zero is the beginning.
    ///
    /// # Errors
    ///
    /// The disk cannot be read. The store is open for reading only.
    fn read_arrivals(&self, from: Position, limits: ArrivalLimits) -> Result<Arrivals, Error>;

    /// The position of the first chunk that arrived at this time or later, in nanoseconds since 1970; the end of the durable
    /// part if there is none.
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

    /// The chunk at a position; `None`: it was removed, or is damaged.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    fn chunk_at(&self, at: Position) -> Result<Option<Vec<u8>>, Error>;

    /// Approximate number of bytes after a position.
    fn bytes_behind(&self, position: Position) -> u64;

    /// Stores a reader's progress together with the chunks, and returns once that is durable. A store in a data directory
    /// does nothing: readers have a file in the directory, which is lost only together with the chunks.
    ///
    /// # Errors
    ///
    /// The progress is not durable. The store is open for reading only.
    fn keep_progress(&self, reader: &str, progress: &[u8]) -> Result<(), Error> {
        let _ = (reader, progress);
        Ok(())
    }

    /// A reader's progress, as stored by [`Subscribe::keep_progress`].
    ///
    /// # Errors
    ///
    /// It cannot be read. The store is open for reading only.
    fn kept_progress(&self, reader: &str) -> Result<Option<Vec<u8>>, Error> {
        let _ = reader;
        Ok(None)
    }

    /// Number of segments removed by retention after a position.
    fn removed_behind(&self, position: Position) -> u64 {
        let _ = position;
        0
    }
}

/// A metric of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The metric's name.
    pub name: &'static str,
    /// Whether it is a counter: it only grows.
    pub is_total: bool,
    /// Its description.
    pub help: &'static str,
    /// Its value.
    pub value: u64,
}

/// Operation and maintenance of a store.
pub trait Administer: Send + Sync + Debug {
    /// Whether the store can be written to, as far as can be told without writing a span.
    ///
    /// # Errors
    ///
    /// Why it cannot be written to. The store is open for reading only.
    fn ready(&self) -> Result<(), Error>;

    /// Current disk usage.
    ///
    /// # Errors
    ///
    /// The disk usage cannot be determined.
    fn usage(&self) -> Result<Usage, Error>;

    /// Bytes of messages appended since the store was opened.
    fn appended_bytes(&self) -> u64;

    /// Applies retention and compresses sealed segments, now instead of in the background.
    ///
    /// # Errors
    ///
    /// The disk or the index failed; what was done until then stays done. The store is open for reading only.
    fn maintain(&self) -> Result<Maintained, Error>;

    /// What maintenance did since the store was opened, and its last failure.
    fn maintained(&self) -> Maintained;

    /// Acknowledged data that is gone, as found when the store was opened or earlier, until an operator acknowledges the
    /// loss.
    fn lost(&self) -> Vec<Lost> {
        Vec::new()
    }

    /// What [`Administer::delete`] would delete.
    ///
    /// # Errors
    ///
    /// The index cannot be read. The store cannot delete.
    fn to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        let _ = what;
        Err(Error::ReadOnly)
    }

    /// Deletes a trace or a session, and returns once its bytes are gone. Later data of a deleted trace is not stored.
    /// `beside` removes traces from data kept outside the store, including those of an earlier deletion that was
    /// interrupted. If this fails or the process ends, [`Administer::finish_deletions`] completes the work.
    ///
    /// # Errors
    ///
    /// The disk or the index failed, or `beside` did. The store is open for reading only.
    fn delete(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        let _ = (what, beside);
        Err(Error::ReadOnly)
    }

    /// Completes interrupted deletions.
    ///
    /// # Errors
    ///
    /// Those of [`Administer::delete`].
    fn finish_deletions(&self, beside: &mut Beside<'_>) -> Result<(), Error> {
        let _ = beside;
        Ok(())
    }

    /// Further metrics of this engine, for `/metrics`.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }

    /// Stops accepting chunks, and waits until all submitted ones are on disk.
    fn close(&self);
}

/// A complete store.
pub trait Store: Append + Read + Subscribe + Administer {}

impl<S: Append + Read + Subscribe + Administer> Store for S {}

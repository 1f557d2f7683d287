//! Where spans are kept.
//!
//! # The promise
//!
//! Whoever uses a store holds [`Append`], [`Read`], [`Subscribe`] or [`Administer`], or all of it as [`Store`]; [`open`] alone
//! names the engine, which is [`Local`].
//!
//! When [`Append::append`] has returned, what it was given is on the disk: written to the log and synced. A process that is
//! killed, a machine that loses power, keep it. What was not acknowledged may be there or not, never half.
//!
//! # How
//!
//! The log is the data; the index is a view of it that can be rebuilt at any time ([`Local::reindex`]).
//!
//! - **[`log`]**: append-only segment files. A record is one *chunk*: the spans (or log records) of one trace that came in
//!   one request, as a valid OTLP message, or the metrics of a request, framed with length, kind, trace id, arrival time and checksums. Concurrent
//!   requests share one `fdatasync`. After a failed sync the log takes no more until it is opened anew.
//! - **[`index`]**: SQLite, for people too: where each trace's chunks are, and one row a trace for lists. Committed after
//!   the log with the position it covers; on open the log is replayed from there.
//! - **[`disk`]**: the one door to the disk, so that tests can break it.
//!
//! A chunk that comes again, byte by byte, is acknowledged, stored once and counted.
//!
//! # Limits
//!
//! One writer a directory (the directory is locked, and a file in it names the process). One chunk holds at most 4 GiB. Segments are 64 MiB.

mod arrivals;
pub mod chunk;
mod commit;
pub mod disk;
mod error;
pub mod index;
mod local;
mod lock;
pub mod log;
mod lost;
mod maintain;
mod reader;
mod ready;
mod repetition;
mod replay;
mod segments;
mod shared;
mod traits;

pub use arrivals::{Arrival, ArrivalLimits, Arrivals, backlog_bytes};
pub use chunk::{Chunk, ChunkKind, Divided, Listed};
pub(crate) use commit::now;
pub use error::{Cause, Error};
pub use local::{Local, OpenOptions, Opened, open, open_up_to_date, reindex};
pub use log::{Position, Recovery};
pub use lost::{Fault, Lost, lost_in};
pub use maintain::{Maintained, Retention};
pub use reader::May;
pub use ready::Usage;
pub use traits::{Administer, Append, Done, Read, Store, Subscribe};

use crate::span::{LogRecord, Span, TraceId};

/// What became of appended chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Spans and log records that are new.
    pub stored: usize,
    /// Spans and log records that were there already, in a chunk with the same bytes.
    pub duplicates: usize,
}

/// Spans and log records of one trace as the store holds them.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Spans in order of arrival; the same span may stand twice.
    pub spans: Vec<Span>,
    /// Log records of the trace, and loose ones of its session in its time.
    pub logs: Vec<LogRecord>,
    /// Records that are damaged on the disk and were left out.
    pub damaged: Vec<String>,
}

/// Which traces a list holds.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these traces.
    pub traces: Vec<TraceId>,
    /// Only of this service.
    pub service: Option<String>,
    /// Only of this session.
    pub session: Option<String>,
    /// Only those that began at this time or later, in nanoseconds since 1970.
    pub since: Option<u64>,
    /// Only those that began before this time.
    pub until: Option<u64>,
    /// Only those behind this one, in the order of the list.
    pub after: Option<TraceCursor>,
    /// At most so many.
    pub limit: Option<usize>,
    /// No more once the names of those in the list take so many bytes; one is always there.
    pub name_bytes: Option<usize>,
    /// In which order.
    pub order: Order,
}

/// The order of a list of traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// By start, newest first.
    #[default]
    NewestFirst,
    /// By start, oldest first.
    OldestFirst,
    /// By the arrival of the first span, latest first, whenever the traces began. [`Filter::after`] has no meaning here.
    LatestArrivalFirst,
}

/// Where a list of traces goes on: behind this trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceCursor {
    /// The start of the last trace of the list so far.
    pub start: u64,
    /// Its id.
    pub trace_id: TraceId,
}

impl TraceCursor {
    /// Reads what [`TraceCursor`] is written as: the start, a dot, the trace's id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (start, trace_id) = text.split_once('.')?;
        Some(Self {
            start: start.parse().ok()?,
            trace_id: TraceId::from_hex(trace_id)?,
        })
    }
}

impl std::fmt::Display for TraceCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.start, self.trace_id)
    }
}

/// One trace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRow {
    /// The trace.
    pub trace_id: TraceId,
    /// Name of the first span without a parent.
    pub root: Option<String>,
    /// Whether such a span has ended.
    pub root_ended: bool,
    /// `service.name`.
    pub service: Option<String>,
    /// The session that its spans name.
    pub session: Option<String>,
    /// Earliest start, nanoseconds since 1970.
    pub start: u64,
    /// Latest end, nanoseconds since 1970.
    pub end: u64,
    /// How many spans came, replays with other bytes included.
    pub spans: u64,
    /// How many log records came.
    pub logs: u64,
    /// How many of the spans say that they failed.
    pub errors: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Grows with every chunk of the trace.
    pub revision: u64,
}

impl TraceRow {
    /// Where a list that ends with this trace goes on.
    #[must_use]
    pub fn cursor(&self) -> TraceCursor {
        TraceCursor {
            start: self.start,
            trace_id: self.trace_id,
        }
    }
}

/// Where a list of sessions goes on: behind this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCursor {
    /// The start of its last trace.
    pub last_start: u64,
    /// Its name.
    pub session: String,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's name.
    pub session: String,
    /// How many traces name it.
    pub traces: u64,
    /// Start of the first.
    pub start: u64,
    /// Start of the last.
    pub last_start: u64,
    /// End of the last.
    pub end: u64,
}

impl SessionRow {
    /// Where a list that ends with this session goes on.
    #[must_use]
    pub fn cursor(&self) -> SessionCursor {
        SessionCursor {
            last_start: self.last_start,
            session: self.session.clone(),
        }
    }
}

//! Storage of spans, log records and metrics.
//!
//! # The promise
//!
//! Users of a store hold [`Append`], [`Read`], [`Subscribe`] or [`Administer`], or all of them as [`Store`]; only [`open`]
//! names the engine: [`Local`], or a bucket of object storage shared by several bridges (feature `bucket`).
//!
//! When [`Append::append`] returns, the chunks are on disk: written to the log and synced. They survive a killed process and
//! a loss of power. A chunk that was not acknowledged may or may not be stored, but never in part.
//!
//! # How
//!
//! The log is the data; the index is a view of it that can be rebuilt at any time ([`Local::reindex`]).
//!
//! - **[`log`]**: append-only segment files. A record is one *chunk*: the spans (or log records) of one trace that came in
//!   one request, as a valid OTLP message, or the metrics of a request, framed with length, kind, trace id, arrival time and
//!   checksums. Concurrent requests share one `fdatasync`. After a failed sync the log accepts no more writes until it is opened again.
//! - **[`index`]**: SQLite, for people too: where each trace's chunks are, and one row a trace for lists. Committed after
//!   the log with the position it covers; on open the log is replayed from there.
//! - **[`disk`]**: all access to the files of the log, behind a trait, so that tests can make the disk fail.
//!
//! Repeated spans and log records with the same bytes are acknowledged, stored once and counted. Metrics are stored again.
//!
//! # Limits
//!
//! One writer per directory (the directory is locked, and a file in it names the process). A chunk is at most 4 GiB.
//! Segments are 64 MiB.

mod arrivals;
mod batch;
#[cfg(feature = "bucket")]
mod bucket;
pub mod chunk;
mod clock;
mod commit;
mod compare;
mod delete;
mod deletion;
mod deletion_files;
pub mod disk;
mod error;
mod examined;
mod full;
pub mod index;
mod listed_writer;
mod lists;
mod local;
mod lock;
pub mod log;
mod losses;
mod lost_records;
mod maintain;
mod merged_writer;
mod moment;
mod open;
mod options;
mod priority;
mod reader;
mod ready;
mod repetition;
mod replay;
mod reserve;
mod room;
mod segments;
mod shared;
mod span_chunks;
#[cfg(feature = "bucket")]
mod spent;
mod state;
mod subscribe;
mod traits;
mod turns;
mod zstd_frame;

pub use arrivals::{Arrival, ArrivalLimits, Arrivals};
pub use chunk::{Chunk, ChunkKind, Divided, Listed};
pub(crate) use clock::now;
pub(crate) use compare::{Compared, compare};
pub(crate) use deletion::faults_of_deletions;
pub use deletion::{Beside, Deleted, DeletedBefore, Unwanted};
pub use error::{Cause, Error};
pub(crate) use listed_writer::ListedWriter;
pub use lists::{Filter, IdPrefix, Order, SessionCursor, SessionRow, TraceCursor, TraceRow, Wanted};
pub use local::{Local, Opened};
pub(crate) use lock::Served;
pub use log::{Fault, Lost, Position, Recovery};
pub use losses::{Loss, Losses, acknowledge};
pub(crate) use lost_records::lost_in;
pub use maintain::Maintained;
pub(crate) use moment::moment;
pub(crate) use open::{adopt, begin_upload, compact, examine_bucket, upload, writers_of};
pub use open::{open, open_up_to_date, reindex};
pub use options::{Ack, BucketOptions, OpenOptions, Retention};
pub(crate) use priority::lower_priority;
pub use ready::Usage;
pub(crate) use span_chunks::{SpanChunks, digests};
pub(crate) use subscribe::backlog_bytes;
pub use subscribe::removed_segments;
pub use traits::{Administer, Append, Count, EachChunk, OnAppended, Read, Receipt, Store, Stored, Subscribe};

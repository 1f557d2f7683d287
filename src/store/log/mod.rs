//! The log: append-only segment files `<number, ten digits>.log`. A segment that is full is sealed; in time it is replaced
//! by a compressed one ([`Segment`]), in which every record keeps its place.
//!
//! ```text
//! segment   0   8  "SPBRLOG" and the version, now 1
//!           8   8  the segment's number, little-endian
//!          16      records, one after the other
//!
//! record    0   4  length of the message, little-endian
//!           4   1  kind: 1 spans, 2 log records of a trace, 3 loose log records; 4 the envelope of a resource, 5 of a
//!                  scope; 6, 7, 8 chunks like 1, 2, 3 that refer to envelopes; 9 metrics; 10 zeros replacing a deleted
//!                  record; plus 16: a chunk whose message is compressed separately (module `packed`)
//!           5   3  zero
//!           8   8  time of arrival, nanoseconds since 1970
//!          16  16  trace id, zero for loose log records, metrics and envelopes
//!          32   4  CRC-32 of the message
//!          36   4  CRC-32 of the 36 bytes before
//!          40      the message: OTLP protobuf; for kinds 6 to 8 in the form of the module `shared`
//! ```
//!
//! How a record can be broken, and what is done: the file ends inside it, at the end of the last segment (a crash before the
//! sync: cut off and reported; if the index has records there, they were acknowledged, which is reported); its message does
//! not match its checksum (skipped by its length, counted and named); its head does not match its checksum (the next head
//! that does is searched for). A segment's own head has no checksum: if it is marked as compressed and only raw records
//! follow, they are read as raw.
//!
//! The log is custom because the bytes of a request go to the disk once and unchanged, and waiting requests share one sync;
//! a database would write them to its own journal first.

mod compress;
mod files;
mod form;
mod inspect;
mod out;
mod packed;
mod read;
pub mod record;
pub mod recovery;
mod segment;
mod sync;
mod table;
mod writer;

pub(super) use compress::{Compressed, compress, erase};
pub(crate) use files::segment_of;
pub(super) use files::segments_of;
pub use files::{SEGMENT_HEAD, VERSION, file_name};
pub use form::Form;
pub(super) use form::form_of;
pub use inspect::{Inspected, inspect, segments};
pub(super) use packed::unpacked;
pub use record::{Head, Position, RecordKind};
pub use recovery::{Damage, Fault, Lost, Recovery, Torn};
pub use segment::Segment;
pub(super) use table::has_footer;
pub use writer::Log;

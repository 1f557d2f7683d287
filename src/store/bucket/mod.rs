//! A store in a bucket of object storage, for any number of bridges.
//!
//! ```text
//! PREFIX/writers/ID/                 a SlateDB database for each bridge; its keys: the module `keys`
//! PREFIX/writers/ID.merged           its chunks are in another database: the module `merged`
//! PREFIX/claims/TRACE/NUMBER         appends at a revision, in order: the module `claims`
//! PREFIX/deletions/...               what was deleted on request: the module `deletions`
//! PREFIX/projects/ORG/PROJECT/...    the same of other projects
//! ```
//!
//! A bridge that answers before the bucket has the data keeps it in a local log: the module `spool`.
//!
//! Each bridge writes its own database and reads all of them, so bridges need not know one another. Reading merges the parts
//! of a trace from several databases; a chunk in two of them counts once, by its digest. A second process that opens a
//! database for writing shuts the first one out: the engine fences it.

mod adopt;
mod batch;
mod claims;
mod collect;
mod compact;
mod counts;
mod delete;
mod deletions;
mod engine;
mod entry;
mod examine;
mod failed;
mod keys;
mod list;
mod mark;
mod merged;
mod on_cores;
mod open;
mod ownership;
mod place;
mod prepare;
mod purge;
mod recent;
mod records;
mod requests;
mod rows;
mod runtime;
mod spool;
mod spool_scan;
mod subscribe;
mod summaries;
mod trace;
mod upload;
mod uploading;
mod views;
mod writer;
mod writer_state;
mod writers;
mod writing;

pub(super) use adopt::adopt;
pub(super) use compact::compact;
pub(super) use engine::Bucket;
pub(super) use examine::examine;
pub(super) use upload::{begin_upload, upload};
pub(super) use writers::writers;

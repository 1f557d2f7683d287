//! The index: an SQLite file next to the log, which can be rebuilt from the log at any time.
//!
//! `PRAGMA synchronous = NORMAL` in WAL mode: a commit does not wait for a sync, and after a loss of power the last commits may be
//! missing, but never in part. Each commit contains the log position that it covers; later records are replayed on open.

mod check;
mod checkpoints;
mod connection;
mod delete;
mod former;
mod inspect;
mod items;
mod places;
mod query;
mod reading;
mod recent_ids;
mod remove;
mod rows;
mod schema;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Error;
pub(super) use check::{Checked, check_at_opening, check_in_use};
pub use connection::FILE;
pub(super) use connection::{check_version, covered, is_corrupt, make_durable, open, open_beside, open_to_read};
#[cfg(feature = "bucket")]
pub(super) use delete::loose;
pub(super) use delete::{delete, leave_nothing_behind, loose_of, traces_to_delete};
pub(super) use former::Former;
pub(super) use inspect::open_to_inspect;
pub use inspect::{Inspected, inspect};
pub(super) use items::{IndexItem, each_item, open_to_compare};
pub(crate) use places::last_records;
pub(super) use places::{Places, ends, places_from, places_in};
pub(super) use query::{ChunkLocation, chunks_of, sessions, summary, traces_in};
pub(super) use reading::Reading;
pub(super) use recent_ids::Index;
pub(super) use remove::Remover;
pub(super) use write::{ALIKE, IndexTransaction, put_summary};

/// Removes the index and SQLite's files for it.
pub(super) fn remove(directory: &Path) -> Result<(), Error> {
    for suffix in ["", "-wal", "-shm"] {
        let path: PathBuf = directory.join(format!("{FILE}{suffix}"));
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::Io {
                    doing: "remove",
                    path,
                    source: Arc::new(source),
                });
            }
            _ => {}
        }
    }
    check::forget(directory).map_err(|source| Error::Io {
        doing: "remove the mark of a damaged index in",
        path: directory.to_owned(),
        source: Arc::new(source),
    })
}

//! Whether a writer still owns its database.
//!
//! The engine fences a writer by an object in the place of its next one. A process that is paused for longer than such
//! objects are kept, as on a suspended machine, finds that place free again, and what it writes there is never read. So if
//! the last proof is old, the manifest is read before any request is answered.

use std::sync::Arc;
use std::time::Duration;

use slatedb::Db;
use slatedb::admin::Admin;

use super::merged::MIN_OBJECT_AGE;
use super::place::{Place, database, unread};
use crate::store::clock::now;
use crate::store::error::Error;

/// How many polls a proof is valid for.
const PROOF_POLLS: u32 = 60;

/// The last proof that a writer owns its database.
pub(super) struct Ownership {
    admin: Admin,
    place: Place,
    /// This writer's epoch; the next writer has a higher one.
    epoch: u64,
    /// How long a proof is valid; objects are kept for longer.
    holds: Duration,
    /// When ownership was last proven, nanoseconds since 1970.
    proven: u64,
}

impl Ownership {
    /// For a database that was just opened for writing.
    pub(super) fn of(place: &Place, writer: &str, db: &Db, poll: Duration) -> Self {
        Self {
            admin: Admin::builder(database(place, writer), Arc::clone(&place.objects)).build(),
            place: place.clone(),
            epoch: db.subscribe().borrow().current_manifest.writer_epoch(),
            holds: (poll * PROOF_POLLS).min(MIN_OBJECT_AGE / 3),
            proven: now(),
        }
    }

    /// Whether what is durable now is where others read it. `written`: all of it was written after this time; `None`: nothing was written.
    pub(super) async fn holds(&mut self, written: Option<u64>) -> Result<bool, Error> {
        // A clock that went backwards proves nothing.
        let since = now().checked_sub(self.proven);
        if since.is_none_or(|since| Duration::from_nanos(since) > self.holds) {
            let manifest = self.admin.read_manifest(None).await.map_err(unread(&self.place))?;
            if manifest.is_none_or(|manifest| manifest.writer_epoch() != self.epoch) {
                return Ok(false);
            }
        }
        // The object was written into a free place while the former proof was valid.
        self.proven = written.unwrap_or(self.proven);
        Ok(true)
    }
}

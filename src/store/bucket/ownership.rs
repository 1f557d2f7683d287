//! Whether a writer still is the one of its database.
//!
//! The engine shuts a writer out by an object in the place of its next one. A process that stands still for longer than such objects are
//! kept, as on a machine that was suspended, finds that place free again, and what it writes there nobody reads. So where the last proof is
//! old, the manifest is read before anything is answered.

use std::sync::Arc;
use std::time::Duration;

use slatedb::Db;
use slatedb::admin::Admin;

use super::merged::KEPT;
use super::place::{Place, database, unread};
use crate::store::clock::now;
use crate::store::error::Error;

/// A proof holds for so many polls.
const POLLS: u32 = 60;

/// What is known of it.
pub(super) struct Ownership {
    admin: Admin,
    place: Place,
    /// Of this writer. The next one has a higher one.
    epoch: u64,
    /// How long a proof holds. Objects are kept for longer.
    holds: Duration,
    /// When nobody had shut it out, nanoseconds since 1970.
    proven: u64,
}

impl Ownership {
    /// Of a database that was opened for writing just now.
    pub(super) fn of(place: &Place, writer: &str, db: &Db, poll: Duration) -> Self {
        Self {
            admin: Admin::builder(database(place, writer), Arc::clone(&place.objects)).build(),
            place: place.clone(),
            epoch: db.subscribe().borrow().current_manifest.writer_epoch(),
            holds: (poll * POLLS).min(KEPT / 3),
            proven: now(),
        }
    }

    /// Whether what is durable now is where others read it. `written`: nothing of it was written before this time; `None`: nothing was.
    pub(super) async fn holds(&mut self, written: Option<u64>) -> Result<bool, Error> {
        // A clock that went back proves nothing.
        let since = now().checked_sub(self.proven);
        if since.is_none_or(|since| Duration::from_nanos(since) > self.holds) {
            let manifest = self.admin.read_manifest(None).await.map_err(unread(&self.place))?;
            if manifest.is_none_or(|manifest| manifest.writer_epoch() != self.epoch) {
                return Ok(false);
            }
        }
        // Its object found its place free, at a time when the former proof held.
        self.proven = written.unwrap_or(self.proven);
        Ok(true)
    }
}

//! Merging all tables of a database at once, so that the bytes of what was deleted are in none of them. The engine removes the former
//! tables once they are old enough.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use slatedb::Db;
use slatedb::admin::Admin;
use slatedb::compactor::{Compaction, CompactionSpec, CompactionStatus, SourceId};
use slatedb::config::{FlushOptions, FlushType, GarbageCollectorDirectoryOptions, GarbageCollectorOptions};

use super::deletions::Deletions;
use super::keys::UNPURGED;
use super::merged::KEPT;
use super::place::{Place, database, unread};
use crate::store::error::Error;

/// How often to look whether it is done.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long it may take; the next deletion, or the next start, tries again.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// How often objects are removed.
const COLLECT: Duration = Duration::from_secs(5 * 60);

/// How objects that nobody needs any more are removed.
pub(super) fn collecting() -> GarbageCollectorOptions {
    let collect = Some(GarbageCollectorDirectoryOptions {
        interval: Some(COLLECT),
        min_age: KEPT,
        dry_run: false,
    });
    GarbageCollectorOptions {
        manifest_options: collect,
        wal_options: collect,
        compacted_options: collect,
        compactions_options: collect,
        ..GarbageCollectorOptions::default()
    }
}

/// So many polls after a deletion the tables are merged: others may follow.
const PAUSE: u32 = 60;

/// Merging takes at most this fraction of the time.
const SHARE: u32 = 20;

/// When the tables of a database are merged, because something was deleted.
#[derive(Debug, Default)]
pub(super) struct Due(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Since when something waits, nanoseconds since 1970.
    since: Option<u64>,
    /// Not before this.
    next: u64,
}

impl Due {
    fn times(&self) -> std::sync::MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something waits from this time on.
    pub(super) fn set(&self, from: u64) {
        self.times().since.get_or_insert(from);
    }

    /// Whether it is to be done now; then nothing waits any more.
    pub(super) fn take(&self, now: u64, poll: Duration) -> bool {
        let mut times = self.times();
        let pause = u64::try_from((poll * PAUSE).as_nanos()).unwrap_or(u64::MAX);
        let is_due = times.since.is_some_and(|since| now >= since.saturating_add(pause).max(times.next));
        if is_due {
            times.since = None;
        }
        is_due
    }

    /// It took so long, and ended now.
    pub(super) fn took(&self, time: Duration, now: u64) {
        let pause = u64::try_from((time * SHARE).as_nanos()).unwrap_or(u64::MAX);
        self.times().next = now.saturating_add(pause);
    }
}

/// Merges all that is in a database now, if something was deleted. `db` is open for writing, and merges.
pub(super) async fn purge(place: &Place, writer: &str, db: &Db, deletions: &Deletions) -> Result<(), Error> {
    let failure = unread(place);
    let Some(noted) = db.get(UNPURGED).await.map_err(&failure)? else {
        return Ok(());
    };
    merge(place, writer, db).await?;
    // What was deleted meanwhile is noted anew.
    let _writing = deletions.writing.lock().await;
    if db.get(UNPURGED).await.map_err(&failure)? == Some(noted) {
        db.delete(UNPURGED).await.map_err(&failure)?;
        // The engine keeps the newest table, and the last objects before it.
        flush(db).await.map_err(&failure)?;
    }
    Ok(())
}

async fn flush(db: &Db) -> Result<(), slatedb::Error> {
    let flush_type = FlushType::MemTable;
    db.flush_with_options(FlushOptions { flush_type }).await
}

async fn merge(place: &Place, writer: &str, db: &Db) -> Result<(), Error> {
    let failure = unread(place);
    flush(db).await.map_err(&failure)?;
    let admin = Admin::builder(database(place, writer), Arc::clone(&place.objects)).build();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let Some(manifest) = admin.read_manifest(None).await.map_err(&failure)? else {
            return Ok(());
        };
        let (young, runs) = (manifest.l0(), manifest.compacted());
        if young.is_empty() && runs.len() <= 1 {
            return Ok(());
        }
        let young = young.iter().map(|table| SourceId::SstView(table.id));
        let sources = young.chain(runs.iter().map(|run| SourceId::SortedRun(run.id))).collect();
        // The lowest run is the oldest one: nothing is below it that a removed key still has to hide.
        let into = runs.iter().map(|run| run.id).min().unwrap_or_default();
        let asked = admin
            .submit_compaction(CompactionSpec::new(sources, into))
            .await
            .map_err(&failure)?;
        // It fails if the engine has begun to merge some of the tables by itself.
        if ends(&admin, asked).await.map_err(&failure)? == CompactionStatus::Completed {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(Error::Slow)
}

async fn ends(admin: &Admin, asked: Compaction) -> Result<CompactionStatus, slatedb::Error> {
    let mut status = asked.status();
    while !matches!(status, CompactionStatus::Completed | CompactionStatus::Failed) {
        tokio::time::sleep(POLL_INTERVAL).await;
        match admin.read_compaction(asked.id(), None).await? {
            Some(compaction) => status = compaction.status(),
            // Only the last ones are kept.
            None => return Ok(CompactionStatus::Failed),
        }
    }
    Ok(status)
}

/// Removes the objects of a database that nobody needs any more: a process that opens it for a short time does not get to it.
pub(super) async fn collect(place: &Place, writer: &str) -> Result<(), Error> {
    let admin = Admin::builder(database(place, writer), Arc::clone(&place.objects)).build();
    admin.run_gc_once(collecting()).await.map_err(unread(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::bucket::place::WRITERS;

    /// The objects below a folder that have these bytes.
    fn with(folder: &std::path::Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).expect("lists");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let of = |path: std::path::PathBuf| match path.is_dir() {
            true => with(&path, bytes),
            false => {
                let object = std::fs::read(&path).expect("reads");
                let has = object.windows(bytes.len()).any(|window| window == bytes);
                has.then_some(path).into_iter().collect()
            }
        };
        paths.flat_map(of).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_deleted_is_in_no_object_once_the_former_tables_are_collected() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = Place::of(&format!("file://{}", directory.path().display())).expect("a place");
        let db = Db::builder(database(&place, "one"), Arc::clone(&place.objects))
            .build()
            .await
            .expect("opens");
        for key in ["secret", "kept"] {
            db.put(key.as_bytes(), format!("the {key} words").as_bytes()).await.expect("puts");
            flush(&db).await.expect("flushes");
        }
        db.delete(b"secret").await.expect("deletes");
        let deletions = Deletions::default();
        purge(&place, "one", &db, &deletions).await.expect("does nothing");
        assert!(!with(directory.path(), b"the secret words").is_empty());
        db.put(UNPURGED, b"1").await.expect("puts");
        purge(&place, "one", &db, &deletions).await.expect("merges");
        assert_eq!(db.get(UNPURGED).await.expect("reads"), None);
        let now = |mut options: GarbageCollectorOptions| {
            let of = [
                &mut options.manifest_options,
                &mut options.wal_options,
                &mut options.compacted_options,
                &mut options.compactions_options,
            ];
            of.into_iter().flatten().for_each(|options| options.min_age = Duration::ZERO);
            options
        };
        let admin = Admin::builder(database(&place, "one"), Arc::clone(&place.objects)).build();
        // The engine keeps what it merged for readers, for 15 minutes.
        for checkpoint in admin.list_checkpoints(None).await.expect("lists") {
            admin.delete_checkpoint(checkpoint.id).await.expect("removes");
        }
        admin.run_gc_once(now(collecting())).await.expect("collects");
        let objects = directory.path().join(WRITERS);
        assert_eq!(with(&objects, b"the secret words"), Vec::<std::path::PathBuf>::new());
        assert!(!with(&objects, b"the kept words").is_empty());
        assert_eq!(db.get(b"kept").await.expect("reads").as_deref(), Some(&b"the kept words"[..]));
    }

    #[test]
    fn tables_are_merged_a_while_after_a_deletion_and_not_again_and_again() {
        let (due, poll, minute) = (Due::default(), Duration::from_secs(1), 60_000_000_000);
        assert!(!due.take(u64::MAX, poll));
        due.set(1);
        due.set(2);
        assert!(!due.take(minute, poll) && due.take(minute + 1, poll) && !due.take(u64::MAX, poll));
        due.took(Duration::from_secs(60), 2 * minute);
        due.set(2 * minute);
        assert!(!due.take(21 * minute, poll) && due.take(22 * minute, poll));
    }
}

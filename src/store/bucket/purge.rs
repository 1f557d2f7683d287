//! Merging all tables of a database at once, so that no table contains deleted data. The engine removes the former tables
//! once they are old enough.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use slatedb::Db;
use slatedb::admin::Admin;
use slatedb::compactor::{Compaction, CompactionSpec, CompactionStatus, SourceId};
use slatedb::config::{FlushOptions, FlushType, GarbageCollectorDirectoryOptions, GarbageCollectorOptions};

use super::deletions::Deletions;
use super::keys::UNPURGED;
use super::merged::MIN_OBJECT_AGE;
use super::place::{Place, database, unread};
use crate::store::error::Error;

/// How often to check whether the merge is done.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long a merge may take; the next deletion or start tries again.
const PURGE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How often old objects are removed.
const COLLECT_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// How unneeded objects are removed.
pub(super) fn collecting() -> GarbageCollectorOptions {
    let collect = Some(GarbageCollectorDirectoryOptions {
        interval: Some(COLLECT_INTERVAL),
        min_age: MIN_OBJECT_AGE,
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

/// Polls to wait after a deletion before merging, since others may follow.
const DELAY_POLLS: u32 = 60;

/// The pause after a merge is this many times its duration.
const PAUSE_FACTOR: u32 = 20;

/// When to merge the tables of a database after a deletion.
#[derive(Debug, Default)]
pub(super) struct PurgeSchedule(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Since when a merge is wanted, nanoseconds since 1970.
    since: Option<u64>,
    /// No merge before this time.
    next: u64,
}

impl PurgeSchedule {
    fn times(&self) -> std::sync::MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a merge, from this time on.
    pub(super) fn set(&self, from: u64) {
        self.times().since.get_or_insert(from);
    }

    /// Whether a merge is due now; if so, the request is cleared.
    pub(super) fn take(&self, now: u64, poll: Duration) -> bool {
        let mut times = self.times();
        let pause = u64::try_from((poll * DELAY_POLLS).as_nanos()).unwrap_or(u64::MAX);
        let is_due = times.since.is_some_and(|since| now >= since.saturating_add(pause).max(times.next));
        if is_due {
            times.since = None;
        }
        is_due
    }

    /// Records that a merge took this long and ended now.
    pub(super) fn took(&self, time: Duration, now: u64) {
        let pause = u64::try_from((time * PAUSE_FACTOR).as_nanos()).unwrap_or(u64::MAX);
        self.times().next = now.saturating_add(pause);
    }
}

/// Merges all of a database's tables if something was deleted. `db` is open for writing and does the merging.
pub(super) async fn purge(place: &Place, writer: &str, db: &Db, deletions: &Deletions) -> Result<(), Error> {
    let failure = unread(place);
    let Some(noted) = db.get(UNPURGED).await.map_err(&failure)? else {
        return Ok(());
    };
    merge(place, writer, db).await?;
    // Deletions made meanwhile have updated the note.
    let _writing = deletions.writing.lock().await;
    if db.get(UNPURGED).await.map_err(&failure)? == Some(noted) {
        db.delete(UNPURGED).await.map_err(&failure)?;
        // The engine keeps the newest table and the last objects before it.
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
    let until = Instant::now() + PURGE_TIMEOUT;
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
        // The lowest run is the oldest: below it is nothing that a removed key must still hide.
        let into = runs.iter().map(|run| run.id).min().unwrap_or_default();
        let asked = admin
            .submit_compaction(CompactionSpec::new(sources, into))
            .await
            .map_err(&failure)?;
        // This fails if the engine has begun to merge some of the tables itself.
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
            // The engine keeps only the most recent compactions.
            None => return Ok(CompactionStatus::Failed),
        }
    }
    Ok(status)
}

/// Removes unneeded objects of a database; a process that opens it only briefly would not get to it.
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
        let (due, poll, minute) = (PurgeSchedule::default(), Duration::from_secs(1), 60_000_000_000);
        assert!(!due.take(u64::MAX, poll));
        due.set(1);
        due.set(2);
        assert!(!due.take(minute, poll) && due.take(minute + 1, poll) && !due.take(u64::MAX, poll));
        due.took(Duration::from_secs(60), 2 * minute);
        due.set(2 * minute);
        assert!(!due.take(21 * minute, poll) && due.take(22 * minute, poll));
    }
}

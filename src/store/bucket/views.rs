//! Views of all writers' databases: this bridge's own through its writer, the others through readers that follow the bucket.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use slatedb::bytes::Bytes;
use slatedb::config::{DbReaderOptions, ScanOptions};
use slatedb::db_cache::moka::{MokaCache, MokaCacheOptions};
use slatedb::db_cache::{DbCache, SplitCache};
use slatedb::{BloomFilterPolicy, Db, DbIterator, DbReader, DbReaderMode, FilterPolicy, IterationOrder};

use super::deletions::Deletions;
use super::entry::{Entry, Range, now_millis};
use super::keys::{self, ByOwner};
use super::merged::Databases;
use super::place::{Place, database, unread};
use super::purge::{self, PurgeSchedule};
use super::runtime;
use super::spool::Spool;
use super::spool_scan::SpoolScan;
use crate::store::clock::now;
use crate::store::error::Error;

/// Bytes of blocks cached in memory for all databases of the process.
const CACHED_BLOCKS: u64 = 32 << 20;

/// Bytes of cached filters and indexes. Every write checks them for repeats, so blocks of data being read must not evict them.
const CACHED_FILTERS: u64 = 64 << 20;

/// Filter bits for each key, for one false positive in a thousand. Each write asks all tables for keys that none has, and
/// every block read in vain is a request.
const FILTER_BITS: u32 = 14;

/// Bytes of another writer's unflushed data that a reader keeps in memory.
const REPLAYED_BYTES: u64 = 32 << 20;

/// Polls between two looks for new servers. They are rare, and listing costs ten times as much as other requests.
const LOOK_POLLS: u32 = 10;

/// A database to read, or the spool, which is read like one.
#[derive(Clone)]
pub(super) enum Source {
    Own(Db),
    /// Chunks waiting for this bridge's own database.
    Spool(Arc<Spool>, Arc<Deletions>),
    /// Another writer's database; hides deleted data that is still in it.
    Other(Arc<DbReader>, Arc<Deletions>),
}

impl Source {
    pub(super) async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, slatedb::Error> {
        let found = match self {
            Self::Own(db) => db.get_key_value(key).await?,
            Self::Other(reader, _) => reader.get_key_value(key).await?,
            // Unused: the spool is only scanned.
            Self::Spool(..) => None,
        };
        let (found, millis) = (found.map(Entry::from), now_millis());
        Ok(found.filter(|entry| !entry.is_over(millis)).map(|entry| entry.value))
    }

    /// Scans the keys with a prefix, within a range behind it.
    pub(super) async fn scan(&self, prefix: &[u8], range: Range, order: IterationOrder) -> Result<Scan, slatedb::Error> {
        let options = ScanOptions::default()
            .with_order(order)
            .with_read_ahead_bytes(256 << 10)
            .with_cache_blocks(true);
        let entries = match self {
            Self::Own(db) => Entries::Database(db.scan_prefix_with_options(prefix, range, &options).await?),
            Self::Other(reader, _) => Entries::Database(reader.scan_prefix_with_options(prefix, range, &options).await?),
            Self::Spool(spool, _) => {
                let (spool, prefix) = (Arc::clone(spool), prefix.to_vec());
                let scan = blocking(move || SpoolScan::begin(&spool, &prefix, range, order)).await?;
                Entries::Spool(VecDeque::new(), Some(scan))
            }
        };
        let deletions = match self {
            Self::Own(_) => None,
            Self::Other(_, deletions) | Self::Spool(_, deletions) => Some(Arc::clone(deletions)),
        };
        Ok(Scan {
            entries,
            millis: now_millis(),
            deletions,
        })
    }
}

/// Where a scan gets its entries.
enum Entries {
    Database(DbIterator),
    /// The entries read ahead, and the scan that reads more; `None`: it is at its end.
    Spool(VecDeque<Entry>, Option<SpoolScan>),
}

impl Entries {
    async fn next(&mut self) -> Result<Option<Entry>, slatedb::Error> {
        match self {
            Self::Database(entries) => Ok(entries.next().await?.map(Entry::from)),
            Self::Spool(read, more) => {
                if read.is_empty()
                    && let Some(mut scan) = more.take()
                {
                    let (scan, some) = blocking(move || scan.some().map(|some| (scan, some))).await?;
                    *more = (!some.is_empty()).then_some(scan);
                    *read = some;
                }
                Ok(read.pop_front())
            }
        }
    }
}

/// Runs work that waits for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, slatedb::Error> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Closed));
    done.map_err(|error| slatedb::Error::unavailable(error.to_string()))
}

/// The entries of a database, without expired ones: the engine returns those until it merges their table.
pub(super) struct Scan {
    entries: Entries,
    /// When the scan began, in milliseconds since 1970.
    millis: i64,
    deletions: Option<Arc<Deletions>>,
}

impl Scan {
    pub(super) async fn next(&mut self) -> Result<Option<Entry>, slatedb::Error> {
        while let Some(entry) = self.entries.next().await? {
            let is_deleted = self.deletions.as_ref().is_some_and(|deletions| deletions.hides(&entry));
            if !is_deleted && !entry.is_over(self.millis) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

/// The filters of all databases; readers must use those of the writer.
pub(super) fn filters() -> Vec<Arc<dyn FilterPolicy>> {
    vec![Arc::new(
        BloomFilterPolicy::new(FILTER_BITS).with_prefix_extractor(Arc::new(ByOwner)),
    )]
}

/// A cache shared by the databases below a prefix, each with its own number.
#[derive(Clone)]
pub(super) struct Cache(Arc<dyn DbCache>);

impl Cache {
    pub(super) fn new() -> Self {
        let of = |max_capacity| {
            let options = MokaCacheOptions {
                max_capacity,
                time_to_live: None,
                time_to_idle: None,
            };
            Some(Arc::new(MokaCache::new_with_opts(options)) as Arc<dyn DbCache>)
        };
        let cache = SplitCache::new();
        Self(Arc::new(
            cache
                .with_block_cache(of(CACHED_BLOCKS))
                .with_meta_cache(of(CACHED_FILTERS))
                .build(),
        ))
    }

    /// The cache, and the number of a writer's database.
    pub(super) fn of(&self, writer: &str) -> (Arc<dyn DbCache>, u64) {
        let number = writer.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        (Arc::clone(&self.0), number)
    }
}

/// The name of this bridge's database, the database, and its spool.
pub(super) type OwnDatabase = Option<(String, Db, Option<Arc<Spool>>)>;

/// The databases of all writers.
pub(super) struct Views {
    place: Place,
    cache: Cache,
    own: Option<(String, Db)>,
    spool: Option<Arc<Spool>>,
    others: RwLock<BTreeMap<String, Other>>,
    poll: Duration,
    deletions: Arc<Deletions>,
    /// When to purge deleted data from the tables of this bridge's database.
    due: PurgeSchedule,
}

/// Another writer's database.
enum Other {
    Open(Arc<DbReader>),
    /// Its chunks are in another database. It is read until the next look, when the current state of that one is visible.
    Merged(Arc<DbReader>),
    /// Why it cannot be read.
    Unreadable(String),
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Views").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Views {
    /// Opens the existing databases, and keeps looking for new ones.
    pub(super) async fn open(place: Place, cache: Cache, own: OwnDatabase, poll: Duration) -> Result<Arc<Self>, Error> {
        let (own, spool) = own.map(|(writer, db, spool)| ((writer, db), spool)).unzip();
        let views = Arc::new(Self {
            place,
            cache,
            own,
            spool: spool.flatten(),
            others: RwLock::default(),
            poll,
            deletions: Arc::default(),
            due: PurgeSchedule::default(),
        });
        views.look().await?;
        if let Some((_, db)) = &views.own
            && db.get(keys::UNPURGED).await.map_err(unread(&views.place))?.is_some()
        {
            views.purge_later(now());
        }
        runtime::handle()?.spawn(follow(Arc::downgrade(&views), poll));
        Ok(views)
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn deletions(&self) -> &Arc<Deletions> {
        &self.deletions
    }

    pub(super) fn spool(&self) -> Option<Arc<Spool>> {
        self.spool.clone()
    }

    pub(super) fn own_db(&self) -> Option<Db> {
        self.own.as_ref().map(|(_, db)| db.clone())
    }

    /// How many writers have databases.
    pub(super) fn writers(&self) -> usize {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner).len();
        others + usize::from(self.own.is_some())
    }

    /// How many of them can be read.
    pub(super) fn readable(&self) -> usize {
        self.writers() - self.unreadable().len()
    }

    /// Everything that can be read, this bridge's own database first.
    pub(super) fn sources(&self) -> Vec<Source> {
        let own = self.own.iter().map(|(_, db)| Source::Own(db.clone()));
        let spool = self.spool.iter();
        let own = own.chain(spool.map(|spool| Source::Spool(Arc::clone(spool), Arc::clone(&self.deletions))));
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let others = others.values().filter_map(|other| match other {
            Other::Open(reader) | Other::Merged(reader) => Some(Source::Other(Arc::clone(reader), Arc::clone(&self.deletions))),
            Other::Unreadable(_) => None,
        });
        own.chain(others).collect()
    }

    /// The other writers' databases by name, or why one cannot be read.
    pub(super) fn by_name(&self) -> Vec<(String, Result<Source, String>)> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let others = others.iter().map(|(writer, other)| match other {
            Other::Open(reader) | Other::Merged(reader) => {
                (writer.clone(), Ok(Source::Other(Arc::clone(reader), Arc::clone(&self.deletions))))
            }
            Other::Unreadable(why) => (writer.clone(), Err(why.clone())),
        });
        others.collect()
    }

    /// Which databases cannot be read, and why.
    pub(super) fn unreadable(&self) -> Vec<String> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let unreadable = others.iter().filter_map(|(writer, other)| match other {
            Other::Open(_) | Other::Merged(_) => None,
            Other::Unreadable(why) => Some(format!("the database of writer {writer} cannot be read: {why}")),
        });
        unreadable.collect()
    }

    /// Schedules a purge of deleted data from the tables of this bridge's database.
    pub(super) fn purge_later(&self, from: u64) {
        self.due.set(from);
    }

    /// Starts the purge if it is due.
    fn purge_if_due(self: &Arc<Self>) {
        let Some((id, db)) = self.own.clone().filter(|_| self.due.take(now(), self.poll)) else {
            return;
        };
        let views = Arc::clone(self);
        tokio::spawn(async move {
            let begin = std::time::Instant::now();
            if let Err(error) = purge::purge(&views.place, &id, &db, &views.deletions).await {
                tracing::warn!(%error, "what was deleted cannot be removed from the tables of the database yet");
                views.purge_later(now());
            }
            views.due.took(begin.elapsed(), now());
        });
    }

    /// Opens the current state of another writer's database.
    pub(super) async fn open_now(&self, writer: &str) -> Result<Source, slatedb::Error> {
        let reader = self.open_other(writer).await?;
        Ok(Source::Other(Arc::new(reader), Arc::clone(&self.deletions)))
    }

    /// Stops reading databases that were merged into another one.
    fn leave(&self, databases: &Databases) {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others.retain(|writer, other| match other {
            _ if !databases.merged.contains(writer) => true,
            Other::Open(reader) => {
                *other = Other::Merged(Arc::clone(reader));
                true
            }
            Other::Merged(_) | Other::Unreadable(_) => false,
        });
    }

    /// Opens databases created since the last look, and reopens those whose reader failed.
    async fn look(&self) -> Result<(), Error> {
        self.look_for_deletions().await?;
        let own = self.own.as_ref().map(|(id, _)| id.as_str());
        let databases = Databases::list(&self.place).await?;
        self.leave(&databases);
        for writer in databases.names {
            let is_open = match self.others.read().unwrap_or_else(PoisonError::into_inner).get(&writer) {
                Some(Other::Open(reader) | Other::Merged(reader)) => reader.status().close_reason.is_none(),
                Some(Other::Unreadable(_)) | None => false,
            };
            if is_open || own == Some(writer.as_str()) {
                continue;
            }
            let path = database(&self.place, &writer);
            let other = match self.open_other(&writer).await {
                Ok(reader) => Other::Open(Arc::new(reader)),
                // Its writer has only begun to create it.
                Err(_) if !self.place.has(&path.join("manifest")).await? => continue,
                Err(error) => {
                    tracing::warn!(writer, %error, "the database of a writer cannot be read");
                    Other::Unreadable(error.to_string())
                }
            };
            self.others.write().unwrap_or_else(PoisonError::into_inner).insert(writer, other);
        }
        Ok(())
    }

    async fn open_other(&self, writer: &str) -> Result<DbReader, slatedb::Error> {
        let (cache, number) = self.cache.of(writer);
        DbReader::builder(database(&self.place, writer), Arc::clone(&self.place.objects))
            // No checkpoints: with many bridges, each would write to the database of each.
            .with_reader_mode(DbReaderMode::FollowLatest)
            .with_options(DbReaderOptions {
                manifest_poll_interval: self.poll,
                max_memtable_bytes: REPLAYED_BYTES,
                ..DbReaderOptions::default()
            })
            .with_db_cache(cache, number)
            .with_filter_policies(filters())
            .build()
            .await
    }
}

/// Looks for new writers until the store is dropped.
async fn follow(views: Weak<Views>, poll: Duration) {
    loop {
        tokio::time::sleep(poll * LOOK_POLLS).await;
        let Some(views) = views.upgrade() else { return };
        if let Err(error) = views.look().await {
            tracing::warn!(%error, "cannot look for other writers");
        }
        views.purge_if_due();
    }
}

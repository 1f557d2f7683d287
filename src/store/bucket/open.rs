//! Opening the database of a writer.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use slatedb::Db;
use slatedb::config::{CompactionWorkerOptions, CompactorOptions, Settings};

use super::failed::failed;
use super::keys::COUNTER;
use super::mark::mark;
use super::merged::Databases;
use super::place::{Place, database, unread};
use super::purge::collecting;
use super::records::{Counter, VERSION};
use super::views::{Cache, filters};
use crate::store::error::Error;
use crate::store::options::BucketOptions;

/// The file in the data directory that stores the writer's name.
const NAME: &str = "writer";

/// How long a bucket may take to answer before opening it fails.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Size of the in-memory table of unflushed writes, held here and in every bridge that reads.
const MEMTABLE_BYTES: usize = 16 << 20;

/// The writer's name: from the options, else from the data directory; generated at the first start.
pub(super) fn writer_of(options: &BucketOptions, directory: &Path) -> Result<String, Error> {
    if let Some(writer) = &options.writer {
        let is_usable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        return match !writer.starts_with('.') && !writer.is_empty() && writer.len() <= 64 && writer.bytes().all(is_usable) {
            true => Ok(writer.clone()),
            false => Err(Error::Url {
                url: format!("writer {writer}"),
                fault: "the name of a writer has 1 to 64 letters, digits, -, _ and .".to_owned(),
            }),
        };
    }
    let path = directory.join(NAME);
    let file = |doing: &'static str, source: io::Error| Error::Io {
        doing,
        path: path.clone(),
        source: Arc::new(source),
    };
    match std::fs::read_to_string(&path) {
        Ok(name) => return Ok(name.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(file("read", error)),
    }
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(failed("draw a random name for", "the writer"))?;
    let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // Write and rename: an interrupted start must not leave half a name.
    let half = directory.join("writer.new");
    std::fs::write(&half, &name)
        .and_then(|()| std::fs::rename(&half, &path))
        .map_err(|error| file("write", error))?;
    Ok(name)
}

/// Sends one request, so that a wrong name or wrong credentials are reported at start and not when spans arrive.
pub(super) async fn ask(place: &Place) -> Result<(), Error> {
    in_time(place, async { Databases::list(place).await.map(|_| ()) }).await
}

/// Fails if the bucket does not answer in time.
async fn in_time<T>(place: &Place, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || {
        let error = io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} seconds", OPEN_TIMEOUT.as_secs()),
        );
        failed("open", place.url())(error)
    };
    tokio::time::timeout(OPEN_TIMEOUT, future).await.unwrap_or_else(|_| Err(late()))
}

/// Opens the database of a bridge with this name. If that one was merged into another, it is not reused: the next free name
/// is taken.
pub(super) async fn open_own(place: &Place, name: &str, cache: &Cache, options: &BucketOptions) -> Result<(String, Db, Counter), Error> {
    let mut writer = Databases::list(place).await?.free(name);
    loop {
        let (db, counter) = open_database(place, &writer, cache, options).await?;
        mark(&db, None).await.map_err(unread(place))?;
        // A merge first notes that it merges, then checks the mark; this checks in the opposite order, so one of them sees the other.
        let free = Databases::list(place).await?.free(name);
        if free == writer {
            return Ok((writer, db, counter));
        }
        writer = free;
        db.close().await.map_err(unread(place))?;
    }
}

/// Opens a writer's database, fencing any process that has it open for writing.
pub(super) async fn open_database(place: &Place, writer: &str, cache: &Cache, options: &BucketOptions) -> Result<(Db, Counter), Error> {
    let settings = Settings {
        flush_interval: Some(options.flush_interval),
        manifest_poll_interval: options.poll_interval,
        max_unflushed_bytes: options.in_flight_bytes.max(4 * MEMTABLE_BYTES),
        l0_sst_size_bytes: MEMTABLE_BYTES,
        l0_max_ssts: MAX_UNMERGED_TABLES,
        l0_max_ssts_per_key: MAX_UNMERGED_TABLES,
        l0_flush_parallelism: 2,
        garbage_collector_options: Some(collecting()),
        compactor_options: Some(compacting()),
        ..Settings::default()
    };
    let (blocks, number) = cache.of(writer);
    let open = async {
        let db = Db::builder(database(place, writer), Arc::clone(&place.objects))
            .with_settings(settings)
            .with_db_cache(blocks, number)
            .with_filter_policies(filters())
            .build()
            .await
            .map_err(failed("open", place.url()))?;
        let counter = db.get(COUNTER).await.map_err(failed("read", place.url()))?;
        Ok((db, counter))
    };
    let (db, counter) = in_time(place, open).await?;
    let counter = match counter {
        Some(bytes) => Counter::decode(bytes).map_err(failed("read", place.url()))?,
        None => Counter {
            version: VERSION,
            ..Counter::default()
        },
    };
    if counter.version > VERSION {
        let _ = db.close().await;
        return Err(Error::Url {
            url: place.url().to_owned(),
            fault: format!("the database of writer {writer} was written by a later version of spanbridge"),
        });
    }
    Ok((db, counter))
}

/// Maximum number of new tables before writes wait for a merge. The engine looks for work every five seconds, and its
/// default of eight holds back a bridge that writes more than 25 MB a second.
const MAX_UNMERGED_TABLES: usize = 32;

/// Bytes read ahead, twice, from each table being merged; eight tables are merged at a time.
const READ_AHEAD_BYTES: usize = 512 << 10;

/// The engine's defaults take 8 MiB for each table, four times that for a large database, and merge several at a time.
fn compacting() -> CompactorOptions {
    const AT_ONCE: usize = 2;
    CompactorOptions {
        max_concurrent_compactions: AT_ONCE,
        worker: Some(CompactionWorkerOptions {
            max_concurrent_compactions: AT_ONCE,
            max_fetch_tasks: 2,
            bytes_to_fetch: READ_AHEAD_BYTES,
            max_subcompactions: 1,
            ..CompactionWorkerOptions::default()
        }),
        ..CompactorOptions::default()
    }
}

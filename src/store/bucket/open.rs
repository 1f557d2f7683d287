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

/// The file in the data directory with the name of the writer.
const NAME: &str = "writer";

/// A bucket that does not answer for so long is not there.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is written but in no table yet: it is in memory, here and in every bridge that reads.
const TABLE: usize = 16 << 20;

/// The name of the writer: the one in the options, else the one that the data directory has; made at the first start.
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
    // Whole or not at all: a start that was interrupted must not leave half a name.
    let half = directory.join("writer.new");
    std::fs::write(&half, &name)
        .and_then(|()| std::fs::rename(&half, &path))
        .map_err(|error| file("write", error))?;
    Ok(name)
}

/// Asks the bucket for something: a wrong name or wrong credentials are reported now, and not when spans come.
pub(super) async fn ask(place: &Place) -> Result<(), Error> {
    in_time(place, async { Databases::list(place).await.map(|_| ()) }).await
}

/// An error if the bucket does not answer.
async fn in_time<T>(place: &Place, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || {
        let error = io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} seconds", PATIENCE.as_secs()));
        failed("open", place.url())(error)
    };
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| Err(late()))
}

/// Opens the database of a bridge with this name: the one of the name, or of the next one behind those that were merged into another
/// database, which are not written to again.
pub(super) async fn open_own(place: &Place, name: &str, cache: &Cache, options: &BucketOptions) -> Result<(String, Db, Counter), Error> {
    let mut writer = Databases::list(place).await?.free(name);
    loop {
        let (db, counter) = open_database(place, &writer, cache, options).await?;
        mark(&db, None).await.map_err(unread(place))?;
        // Whoever merges it notes that first, and then looks whether it is still marked: one of both sees the other.
        let free = Databases::list(place).await?.free(name);
        if free == writer {
            return Ok((writer, db, counter));
        }
        writer = free;
        db.close().await.map_err(unread(place))?;
    }
}

/// Opens a writer's database; a process that has it open for writing is fenced.
pub(super) async fn open_database(place: &Place, writer: &str, cache: &Cache, options: &BucketOptions) -> Result<(Db, Counter), Error> {
    let settings = Settings {
        flush_interval: Some(options.flush_interval),
        manifest_poll_interval: options.poll_interval,
        max_unflushed_bytes: options.in_flight_bytes.max(4 * TABLE),
        l0_sst_size_bytes: TABLE,
        l0_max_ssts: UNMERGED,
        l0_max_ssts_per_key: UNMERGED,
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

/// So many new tables are there before writing waits until some are merged. The engine looks for what to merge every five seconds, and
/// its default of eight tables holds back a bridge that writes more than 25 MB a second.
const UNMERGED: usize = 32;

/// Of each table that is merged so many bytes are read ahead, twice; eight tables are merged at a time.
const READ_AHEAD: usize = 512 << 10;

/// The engine's defaults take 8 MiB of each table, and four times that of a large database, where several are merged at a time.
fn compacting() -> CompactorOptions {
    const AT_ONCE: usize = 2;
    CompactorOptions {
        max_concurrent_compactions: AT_ONCE,
        worker: Some(CompactionWorkerOptions {
            max_concurrent_compactions: AT_ONCE,
            max_fetch_tasks: 2,
            bytes_to_fetch: READ_AHEAD,
            max_subcompactions: 1,
            ..CompactionWorkerOptions::default()
        }),
        ..CompactorOptions::default()
    }
}

//! Taking over the database of a bridge that is gone.
//!
//! Whoever adopts opens the database for writing, so the bridge is shut out if it runs after all, and does what it left: sends on what it
//! did not, and carries out deletions. Then the database is marked: nobody writes to it any more, and it can be merged. A bridge that
//! opens it again removes the mark.

use std::sync::Arc;

use slatedb::bytes::Bytes;
use slatedb::config::{PutOptions, Ttl};
use slatedb::{Db, WriteBatch};

use super::engine::Bucket;
use super::keys::{ADOPTED, READERS};
use super::runtime;
use super::views::{ALL, Source, unread};
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::options::{BucketOptions, OpenOptions};
use crate::store::traits::{Administer as _, Store};

/// Opens the database of a writer, lets `finish` do what is left, with the names of those who read its arrivals, and marks it.
pub(in crate::store) fn adopt<E: From<Error>>(
    options: &OpenOptions,
    bucket: &BucketOptions,
    finish: impl FnOnce(Arc<dyn Store>, Vec<String>) -> Result<(), E>,
) -> Result<(), E> {
    let adopted = Arc::new(Bucket::open(options, bucket)?);
    let writer = adopted.writer.clone().ok_or(Error::ReadOnly)?;
    let (views, db) = (Arc::clone(&adopted.views), writer.db.clone());
    let readers = runtime::wait(async move { readers(db).await.map_err(unread(views.place())) })?;
    let store: Arc<dyn Store> = Arc::clone(&adopted) as Arc<dyn Store>;
    finish(store, readers)?;
    adopted.close();
    runtime::wait(async move {
        let marked = mark(&writer.db, Some(now())).await;
        marked.map_err(|error| writer.state().failed("write", error))
    })?;
    Ok(())
}

async fn readers(db: Db) -> Result<Vec<String>, slatedb::Error> {
    let mut names = Vec::new();
    let mut scan = Source::Own(db).scan(&[READERS], ALL, slatedb::IterationOrder::Ascending).await?;
    while let Some(entry) = scan.next().await? {
        let name = entry.key.get(1..).unwrap_or_default();
        names.extend(std::str::from_utf8(name).ok().map(str::to_owned));
    }
    Ok(names)
}

/// Marks a database as adopted at a time, or as one of a bridge; returns once that is durable.
pub(super) async fn mark(db: &Db, adopted: Option<u64>) -> Result<(), slatedb::Error> {
    let mut batch = WriteBatch::new();
    match adopted {
        Some(time) => {
            let value = Bytes::copy_from_slice(&time.to_be_bytes());
            batch.put_bytes_with_options(Bytes::from_static(ADOPTED), value, &PutOptions { ttl: Ttl::NoExpiry });
        }
        None if db.get(ADOPTED).await?.is_none() => return Ok(()),
        None => batch.delete(ADOPTED),
    }
    db.write(batch).await?.await_durable().await
}

/// When a database was adopted.
pub(super) async fn adopted_at(source: &Source) -> Result<Option<u64>, slatedb::Error> {
    let value = source.get(ADOPTED).await?;
    Ok(value.and_then(|value| value.first_chunk::<8>().map(|time| u64::from_be_bytes(*time))))
}

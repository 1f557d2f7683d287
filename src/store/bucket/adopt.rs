//! Taking over the database of a bridge that is gone.
//!
//! Whoever adopts opens the database for writing, so the bridge is shut out if it runs after all, and does what it left: sends on what it
//! did not, and carries out deletions. Then the database is marked: nobody writes to it any more, and it can be merged. A bridge that
//! opens it again removes the mark.

use std::sync::Arc;

use slatedb::Db;

use super::engine::Bucket;
use super::entry::ALL;
use super::keys::READERS;
use super::mark::mark;
use super::place::unread;
use super::runtime;
use super::views::Source;
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
    let adopted = Arc::new(Bucket::open(options, bucket)?.store);
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

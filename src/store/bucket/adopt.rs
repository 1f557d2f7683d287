//! Taking over the database of a bridge that is gone.
//!
//! Adopting opens the database for writing. That fences the bridge, should it still run, and finishes its work: forwarding
//! and deletions. The database is then marked: no bridge writes to it any more, so it can be merged. A bridge that opens it
//! again removes the mark.

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

/// Opens a writer's database, lets `finish` complete its work given the names of its subscribers, and marks it as adopted.
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

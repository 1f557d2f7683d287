//! Which servers write to a bucket, and how much.

use std::sync::Arc;

use prost::Message as _;

use super::keys::COUNTER;
use super::mark::adopted_at;
use super::open;
use super::place::{Place, unread};
use super::records::Counter;
use super::runtime;
use super::subscribe::first_from;
use super::views::{Cache, Source, Views};
use crate::store::error::Error;
use crate::store::listed_writer::ListedWriter;
use crate::store::options::BucketOptions;

/// All writers below a prefix, by name. Only reads.
pub(in crate::store) fn writers(bucket: &BucketOptions) -> Result<Vec<ListedWriter>, Error> {
    let place = Place::of(&bucket.url)?.below(&bucket.folder);
    let poll = bucket.poll_interval;
    runtime::wait(async move {
        open::ask(&place).await?;
        let views = Views::open(place, Cache::new(), None, poll).await?;
        let mut writers = Vec::new();
        for (name, source) in views.by_name() {
            writers.push(match source {
                Ok(source) => of_source(&views, name, &source).await?,
                Err(why) => ListedWriter {
                    unreadable: Some(why),
                    ..listed(name)
                },
            });
        }
        Ok(writers)
    })
}

fn listed(name: String) -> ListedWriter {
    ListedWriter {
        name,
        first: None,
        last: None,
        chunks: 0,
        bytes: 0,
        adopted: None,
        unreadable: None,
    }
}

async fn of_source(views: &Arc<Views>, name: String, source: &Source) -> Result<ListedWriter, Error> {
    let failure = unread(views.place());
    let counter = source.get(COUNTER).await.map_err(&failure)?;
    let counter = counter.and_then(|bytes| Counter::decode(bytes).ok()).unwrap_or_default();
    let first = first_from(source, 0, counter.next).await.map_err(&failure)?;
    let adopted = adopted_at(source).await.map_err(&failure)?;
    Ok(ListedWriter {
        adopted,
        first: first.map(|(_, came)| came.time),
        last: Some(counter.last).filter(|last| *last > 0),
        chunks: counter.chunks.unwrap_or(counter.next),
        bytes: counter.bytes,
        ..listed(name)
    })
}

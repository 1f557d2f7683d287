//! Merging the databases of bridges that are gone into one, so that reads open fewer databases.
//!
//! An adopted database is fenced, copied chunk by chunk into the target, and compared with the copy. Only then is it noted
//! as merged. If this is interrupted, both databases stay: a chunk in two databases counts as one, and the next run skips
//! what has been copied.

use std::sync::Arc;

use prost::Message as _;
use sha2::{Digest as _, Sha256};
use slatedb::bytes::Bytes;
use slatedb::{Db, IterationOrder};

use super::batch::Batch;
use super::entry::{ALL, Entry, now_millis};
use super::failed::failed;
use super::keys::{self, HEADS, Owner};
use super::mark::adopted_at;
use super::merged::{self, Databases};
use super::place::{Place, unread};
use super::prepare::{DIGEST, digest, unpack};
use super::records::{Counter, Head};
use super::runtime;
use super::views::{Cache, Source, Views};
use super::{open, purge};
use crate::store::chunk::ChunkKind;
use crate::store::error::Error;
use crate::store::merged_writer::{Merged, MergedWriter};
use crate::store::options::BucketOptions;

/// Bytes of messages written in one batch.
const BATCH_BYTES: usize = 4 << 20;

/// Range, in nanoseconds, over which the numbers of chunks with the same arrival time are spread.
const NUMBER_SPREAD: u32 = (1 << 20) - 1;

/// Merges all adopted databases into the one of the options' writer; reports each when it is done.
pub(in crate::store) fn compact(bucket: &BucketOptions, told: &mut dyn FnMut(MergedWriter)) -> Result<(), Error> {
    let place = Place::of(&bucket.url)?.below(&bucket.folder);
    let into = bucket.writer.clone().unwrap_or_default();
    let options = bucket.clone();
    let mut merging = runtime::wait(async move { Merging::open(place, &into, options).await })?;
    let names = merging.views.by_name();
    for (name, source) in names {
        let (rest, became) = runtime::wait(async move {
            let became = match source {
                Ok(source) => merging.merge(&name, &source).await?,
                Err(why) => Some(Err(why)),
            };
            Ok((merging, became.map(|became| MergedWriter { name, became })))
        })?;
        merging = rest;
        if let Some(merged) = became {
            told(merged);
        }
    }
    runtime::wait(async move { merging.close().await })
}

struct Merging {
    views: Arc<Views>,
    cache: Cache,
    options: BucketOptions,
    into: String,
    db: Db,
    counter: Counter,
}

/// Totals of the comparison.
#[derive(Default)]
struct Compared {
    chunks: u64,
    bytes: u64,
    digest: Sha256,
}

impl Merging {
    async fn open(place: Place, into: &str, options: BucketOptions) -> Result<Self, Error> {
        open::ask(&place).await?;
        let into = Databases::list(&place).await?.free(into);
        let cache = Cache::new();
        let (db, mut counter) = open::open_database(&place, &into, &cache, &options).await?;
        // Numbers are times from now on, so chunks are counted separately.
        counter.chunks = counter.chunks.or(Some(counter.next));
        let views = Views::open(place, cache.clone(), Some((into.clone(), db.clone(), None)), options.poll_interval).await?;
        Ok(Self {
            views,
            cache,
            options,
            into,
            db,
            counter,
        })
    }

    /// `None`: a bridge uses it again.
    async fn merge(&mut self, name: &str, source: &Source) -> Result<Option<Result<Merged, String>>, Error> {
        let views = Arc::clone(&self.views);
        let failure = unread(views.place());
        if adopted_at(source).await.map_err(&failure)?.is_none() {
            return Ok(None);
        }
        // Fences any process that has it open for writing. A bridge that came back meanwhile has removed the mark.
        let (shut, _) = open::open_database(views.place(), name, &self.cache, &self.options).await?;
        let is_adopted = adopted_at(&Source::Own(shut.clone())).await.map_err(&failure)?.is_some();
        shut.close().await.map_err(&failure)?;
        if !is_adopted {
            return Ok(None);
        }
        // The current state, not that of the last poll.
        let source = views.open_now(name).await.map_err(&failure)?;
        self.copy(&source).await.map_err(&failure)?;
        let compared = match self.compare(&source).await? {
            Ok(compared) => compared,
            Err(why) => return Ok(Some(Err(why))),
        };
        merged::note(views.place(), name, &self.into).await?;
        // A bridge that comes back first removes the mark, then looks for the note.
        let source = views.open_now(name).await.map_err(&failure)?;
        if adopted_at(&source).await.map_err(&failure)?.is_none() {
            merged::take_back(views.place(), name).await?;
            return Ok(None);
        }
        Ok(Some(Ok(Merged {
            chunks: compared.chunks,
            bytes: compared.bytes,
            digest: compared.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        })))
    }

    async fn copy(&mut self, source: &Source) -> Result<(), slatedb::Error> {
        let mut scan = source.scan(&[HEADS], ALL, IterationOrder::Ascending).await?;
        let (mut batch, mut bytes) = (Batch::new(None), 0);
        let mut numbers = std::collections::HashSet::new();
        while let Some(entry) = scan.next().await? {
            let Some((owner, head)) = head_of(&entry) else { continue };
            batch.keep_until(entry.expires);
            if let Some(there) = self.get(&entry.key).await? {
                let mut there = Head::decode(there).unwrap_or_default();
                batch.claim(&entry.key, &mut there, &head.claims);
                continue;
            }
            let Some(packed) = source.get(&owner.chunk(head.number)).await? else {
                continue;
            };
            let digest = entry.key.last_chunk::<DIGEST>().copied().unwrap_or_default();
            let number = self.number(&head, &digest, &numbers).await?;
            numbers.insert(number);
            bytes += packed.len();
            let head = Head { number, ..head };
            batch.put_chunk(&owner, Some(&digest), &head, packed, &mut self.counter);
            if bytes >= BATCH_BYTES {
                let full = std::mem::replace(&mut batch, Batch::new(None));
                self.db.write(full.with(&self.counter)).await?.await_durable().await?;
                (bytes, numbers) = (0, std::collections::HashSet::new());
            }
        }
        self.db.write(batch.with(&self.counter)).await?.await_durable().await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, slatedb::Error> {
        Source::Own(self.db.clone()).get(key).await
    }

    /// A free number in order of arrival, to the millisecond: databases are merged one after the other and read in order of number.
    async fn number(&self, head: &Head, digest: &[u8; DIGEST], taken: &std::collections::HashSet<u64>) -> Result<u64, slatedb::Error> {
        let [a, b, c, d, ..] = *digest;
        let spread = u32::from_be_bytes([a, b, c, d]) & NUMBER_SPREAD;
        let mut number = (head.arrival & !u64::from(NUMBER_SPREAD)).saturating_add(u64::from(spread));
        while taken.contains(&number) || self.get(&keys::arrival(number)).await?.is_some() {
            number += 1;
        }
        Ok(number)
    }

    /// Reads back the copies of all of a database's chunks; or returns what is missing.
    async fn compare(&self, source: &Source) -> Result<Result<Compared, String>, Error> {
        let failure = unread(self.views.place());
        let mut compared = Compared::default();
        let mut scan = source.scan(&[HEADS], ALL, IterationOrder::Ascending).await.map_err(&failure)?;
        while let Some(entry) = scan.next().await.map_err(&failure)? {
            if entry.is_over(now_millis()) {
                continue;
            }
            let Some((owner, head)) = head_of(&entry) else {
                return Ok(Err("a head cannot be read".to_owned()));
            };
            let there = self.get(&entry.key).await.map_err(&failure)?;
            let there = there.and_then(|there| Head::decode(there).ok());
            let packed = match &there {
                Some(there) => self.get(&owner.chunk(there.number)).await.map_err(&failure)?,
                None => None,
            };
            let message = packed.and_then(|packed| unpack(&packed, head.bytes).ok());
            let kind = head.kind().unwrap_or(ChunkKind::Spans);
            match message {
                Some(message) if entry.key.ends_with(&digest(kind, &message)) => {}
                // Retention may have removed it meanwhile.
                _ if entry.is_over(now_millis()) => continue,
                _ => return Ok(Err(format!("chunk {} is damaged, or is not what was copied", head.number))),
            }
            compared.chunks += 1;
            compared.bytes += head.bytes;
            compared.digest.update(&entry.key);
        }
        Ok(Ok(compared))
    }

    /// Removes what was deleted on request, and the objects of databases merged some time ago.
    async fn close(self) -> Result<(), Error> {
        let place = self.views.place();
        for name in Databases::list(place).await?.removable {
            merged::remove(place, &name).await?;
        }
        purge::purge(place, &self.into, &self.db, self.views.deletions()).await?;
        purge::collect(place, &self.into).await?;
        self.db.close().await.map_err(failed("close", place.url()))
    }
}

/// The owner and head of a chunk's entry.
fn head_of(entry: &Entry) -> Option<(Owner, Head)> {
    let owner = entry.key.get(1..entry.key.len().checked_sub(DIGEST)?)?;
    Some((Owner::from_bytes(owner), Head::decode(entry.value.clone()).ok()?))
}

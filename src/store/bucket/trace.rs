//! Reading the chunks of a trace or session from all databases.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use prost::Message as _;
use slatedb::IterationOrder;
use slatedb::bytes::Bytes;

use super::entry::ALL;
use super::keys::{self, Owner};
use super::place::unread;
use super::prepare::{DIGEST, unpack};
use super::records::Head;
use super::runtime;
use super::views::{Scan, Source, Views};
use crate::store::chunk::ChunkKind;
use crate::store::error::Error;

/// The head of a chunk, and the database that has it.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) digest: [u8; DIGEST],
    pub(super) head: Head,
    pub(super) source: usize,
}

/// Bytes of compressed messages to read ahead.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// The heads of an owner's chunks, in order of arrival. A chunk that two writers have occurs once.
pub(super) async fn heads(sources: &[Source], owner: &Owner) -> Result<Vec<Placed>, slatedb::Error> {
    let prefix = owner.prefix(keys::HEADS);
    let mut found: HashMap<[u8; DIGEST], Placed> = HashMap::new();
    for (source, of_source) in of_each(sources, &prefix).await?.into_iter().enumerate() {
        for (digest, head) in of_source {
            match found.entry(digest) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Placed { digest, head, source });
                }
                Entry::Occupied(mut known) => {
                    let known = &mut known.get_mut().head;
                    known.claims.extend(head.claims);
                    known.claims.sort_unstable();
                    known.claims.dedup();
                }
            }
        }
    }
    let mut heads: Vec<Placed> = found.into_values().collect();
    heads.sort_unstable_by_key(|placed| (placed.head.arrival, placed.source, placed.head.number));
    Ok(heads)
}

type FoundHeads = Vec<([u8; DIGEST], Head)>;

/// Scans all databases concurrently.
async fn of_each(sources: &[Source], prefix: &[u8]) -> Result<Vec<FoundHeads>, slatedb::Error> {
    if let [only] = sources {
        return Ok(vec![of_one(only.clone(), prefix.to_vec()).await?]);
    }
    let tasks: Vec<_> = sources
        .iter()
        .map(|source| tokio::spawn(of_one(source.clone(), prefix.to_vec())))
        .collect();
    let mut all = Vec::with_capacity(tasks.len());
    for task in tasks {
        // A panic in a task is the engine's fault; its result is lost.
        all.push(task.await.map_err(|error| slatedb::Error::unavailable(error.to_string()))??);
    }
    Ok(all)
}

async fn of_one(source: Source, prefix: Vec<u8>) -> Result<FoundHeads, slatedb::Error> {
    let mut found = Vec::new();
    let mut heads = source.scan(&prefix, ALL, IterationOrder::Ascending).await?;
    while let Some(entry) = heads.next().await? {
        if let (Some(digest), Ok(head)) = (entry.key.last_chunk::<DIGEST>(), Head::decode(entry.value)) {
            found.push((*digest, head));
        }
    }
    Ok(found)
}

/// The messages of an owner's chunks, in the order of its heads.
struct Messages {
    sources: Vec<Source>,
    owner: Owner,
    /// Scans, by database; opened at the first use.
    scans: HashMap<usize, Scan>,
    heads: std::vec::IntoIter<Placed>,
}

/// A message in its stored form; `None`: it is gone.
type Packed = (Head, Option<Bytes>);

impl Messages {
    /// Some of the next messages; empty at the end.
    async fn some(&mut self) -> Result<Vec<Packed>, slatedb::Error> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        while bytes < READ_AHEAD_BYTES
            && let Some(Placed { head, source, .. }) = self.heads.next()
        {
            let message = self.message(source, head.number).await?;
            bytes += message.as_ref().map_or(0, Bytes::len);
            some.push((head, message));
        }
        Ok(some)
    }

    /// Reads on to the message; a database returns its messages in order, so each is read once.
    async fn message(&mut self, source: usize, number: u64) -> Result<Option<Bytes>, slatedb::Error> {
        let scan = match self.scans.entry(source) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(vacant) => {
                let Some(of) = self.sources.get(source) else { return Ok(None) };
                let prefix = self.owner.prefix(keys::CHUNKS);
                vacant.insert(of.scan(&prefix, ALL, IterationOrder::Ascending).await?)
            }
        };
        while let Some(entry) = scan.next().await? {
            match keys::number_of(&entry.key) {
                Some(found) if found == number => return Ok(Some(entry.value)),
                Some(found) if found > number => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Passes the messages of chunks to `each`, in the order of the heads. Returns which are gone or damaged.
pub(super) fn each_message(
    views: &Arc<Views>,
    sources: Vec<Source>,
    owner: Owner,
    heads: Vec<Placed>,
    each: &mut dyn FnMut(ChunkKind, Vec<u8>) -> Result<(), Error>,
) -> Result<Vec<String>, Error> {
    let mut damaged = Vec::new();
    let mut messages = Messages {
        sources,
        owner,
        scans: HashMap::new(),
        heads: heads.into_iter(),
    };
    loop {
        let views = Arc::clone(views);
        let (rest, some) = runtime::wait(async move {
            let some = messages.some().await.map_err(unread(views.place()))?;
            Ok((messages, some))
        })?;
        messages = rest;
        if some.is_empty() {
            return Ok(damaged);
        }
        for (head, packed) in some {
            let (Some(kind), Some(packed)) = (head.kind(), packed) else {
                damaged.push(format!("chunk {}: removed", head.number));
                continue;
            };
            match unpack(&packed, head.bytes) {
                Ok(message) => each(kind, message)?,
                Err(error) => damaged.push(format!("chunk {}: {error}", head.number)),
            }
        }
    }
}

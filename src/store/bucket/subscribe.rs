//! The chunks this bridge received, in order of arrival. Other bridges forward what they received.

use std::ops::Bound;
use std::sync::Arc;

use prost::Message as _;
use slatedb::bytes::Bytes;
use slatedb::config::{PutOptions, Ttl};
use slatedb::{IterationOrder, WriteBatch};
use tokio::sync::watch;
use tokio::time::timeout;

use super::engine::Bucket;
use super::failed::failed;
use super::keys::{self, ARRIVALS, Owner};
use super::place::unread;
use super::prepare::unpack;
use super::records::{ArrivalRecord, kind_of};
use super::runtime;
use super::trace::heads;
use super::views::Source;
use super::writer::{ANSWER_TIMEOUT, Writer};
use super::writer_state::position;
use crate::span::TraceId;
use crate::store::arrivals::{Arrival, ArrivalLimits, Arrivals};
use crate::store::chunk::ChunkKind;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::Subscribe;

/// Maximum chunks read at once.
const MAX_CHUNKS: usize = 1024;

impl Bucket {
    fn own(&self) -> Result<Arc<Writer>, Error> {
        self.writer.clone().ok_or(Error::ReadOnly)
    }
}

impl Subscribe for Bucket {
    fn watch_end(&self) -> Option<watch::Receiver<Position>> {
        self.writer.as_ref().map(|writer| writer.end())
    }

    fn read_arrivals(&self, from: Position, limits: ArrivalLimits) -> Result<Arrivals, Error> {
        let (views, writer) = (Arc::clone(&self.views), self.own()?);
        // If another process has taken over this database, that one forwards its chunks.
        if let Some(failure) = writer.state().failure() {
            return Err(failure);
        }
        runtime::wait(async move {
            let end = *writer.end().borrow();
            let source = Source::Own(writer.db.clone());
            let found = arrivals(&source, from, end, limits).await.map_err(unread(views.place()))?;
            let mut out = Arrivals {
                next: found.next,
                ..Arrivals::default()
            };
            for (number, came, packed) in found.chunks {
                let message = packed.map(|packed| unpack(&packed, came.bytes)).transpose();
                match (kind_of(came.kind), message.unwrap_or_default()) {
                    (Some(kind), Some(message)) => out.chunks.push(Arrival {
                        at: position(number),
                        kind,
                        trace_id: Owner::from_bytes(&came.owner).trace_id(),
                        time: came.time,
                        message,
                    }),
                    _ => out.damaged_bytes += came.bytes,
                }
            }
            Ok(out)
        })
    }

    fn position_at(&self, time: u64) -> Result<Position, Error> {
        let (views, writer) = (Arc::clone(&self.views), self.own()?);
        runtime::wait(async move {
            let end = *writer.end().borrow();
            let source = Source::Own(writer.db.clone());
            let (mut low, mut high) = (0, end.offset);
            // Chunks are in order of time; numbers may be missing.
            while low < high {
                let middle = low + (high - low) / 2;
                match first_from(&source, middle, high).await.map_err(unread(views.place()))? {
                    Some((number, came)) if came.time < time => low = number + 1,
                    _ => high = middle,
                }
            }
            Ok(position(low))
        })
    }

    fn chunks_of(&self, trace_id: TraceId) -> Result<Vec<(Position, ChunkKind)>, Error> {
        let (views, writer) = (Arc::clone(&self.views), self.own()?);
        runtime::wait(async move {
            let own = [Source::Own(writer.db.clone())];
            let heads = heads(&own, &Owner::trace(trace_id)).await.map_err(unread(views.place()))?;
            let placed = heads.iter().map(|placed| &placed.head);
            Ok(placed.filter_map(|head| Some((position(head.number), head.kind()?))).collect())
        })
    }

    fn chunk_at(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        let (views, writer) = (Arc::clone(&self.views), self.own()?);
        runtime::wait(async move {
            let source = Source::Own(writer.db.clone());
            let found = chunk_of(&source, at.offset).await.map_err(unread(views.place()))?;
            let Some((came, Some(packed))) = found else { return Ok(None) };
            unpack(&packed, came.bytes).map(Some).map_err(failed("read", views.place().url()))
        })
    }

    fn keep_progress(&self, reader: &str, progress: &[u8]) -> Result<(), Error> {
        let (writer, key, value) = (self.own()?, keys::reader(reader), Bytes::copy_from_slice(progress));
        runtime::wait(async move {
            let mut batch = WriteBatch::new();
            batch.put_bytes_with_options(key, value, &PutOptions { ttl: Ttl::NoExpiry });
            let written = async { writer.db.write(batch).await?.await_durable().await };
            match timeout(ANSWER_TIMEOUT, written).await {
                Ok(written) => written.map_err(|error| writer.state().failed("write", error)),
                Err(_) => Err(Error::Slow),
            }
        })
    }

    fn kept_progress(&self, reader: &str) -> Result<Option<Vec<u8>>, Error> {
        let (views, writer, key) = (Arc::clone(&self.views), self.own()?, keys::reader(reader));
        runtime::wait(async move {
            let source = Source::Own(writer.db.clone());
            let kept = source.get(&key).await.map_err(unread(views.place()))?;
            Ok(kept.map(|kept| kept.to_vec()))
        })
    }

    fn bytes_behind(&self, position: Position) -> u64 {
        let Ok(writer) = self.own() else { return 0 };
        let behind = runtime::wait(async move {
            let source = Source::Own(writer.db.clone());
            let end = writer.end().borrow().offset;
            let first = first_from(&source, position.offset, end).await;
            let before = first.ok().flatten().map(|(_, came)| came.before);
            Ok(before.map_or(0, |before| writer.stored().saturating_sub(before)))
        });
        behind.unwrap_or_default()
    }
}

/// Chunks in their stored form.
struct FoundChunks {
    chunks: Vec<(u64, ArrivalRecord, Option<Bytes>)>,
    next: Position,
}

async fn arrivals(source: &Source, from: Position, end: Position, limits: ArrivalLimits) -> Result<FoundChunks, slatedb::Error> {
    let mut found = FoundChunks {
        chunks: Vec::new(),
        next: from,
    };
    if from.offset >= end.offset {
        // An empty database begins before the place of its first chunk.
        found.next = from.max(end);
        return Ok(found);
    }
    let range = (
        Bound::Included(from.offset.to_be_bytes().to_vec()),
        Bound::Excluded(end.offset.to_be_bytes().to_vec()),
    );
    let mut scan = source.scan(&[ARRIVALS], range, IterationOrder::Ascending).await?;
    let mut bytes = 0;
    while let Some(entry) = scan.next().await? {
        let (Some(number), Ok(came)) = (keys::number_of(&entry.key), ArrivalRecord::decode(entry.value)) else {
            continue;
        };
        if came.time > limits.latest || bytes >= limits.bytes || found.chunks.len() >= MAX_CHUNKS {
            return Ok(found);
        }
        let message = source.get(&Owner::from_bytes(&came.owner).chunk(number)).await?;
        bytes += usize::try_from(came.bytes).unwrap_or(usize::MAX);
        found.chunks.push((number, came, message));
        found.next = position(number + 1);
    }
    // Skip what retention removed at the end, too.
    found.next = end;
    Ok(found)
}

/// The first chunk with this number or a later one.
pub(super) async fn first_from(source: &Source, number: u64, end: u64) -> Result<Option<(u64, ArrivalRecord)>, slatedb::Error> {
    if number >= end {
        return Ok(None);
    }
    let range = (
        Bound::Included(number.to_be_bytes().to_vec()),
        Bound::Excluded(end.to_be_bytes().to_vec()),
    );
    let mut scan = source.scan(&[ARRIVALS], range, IterationOrder::Ascending).await?;
    let Some(entry) = scan.next().await? else { return Ok(None) };
    let number = keys::number_of(&entry.key);
    Ok(number.zip(ArrivalRecord::decode(entry.value).ok()))
}

async fn chunk_of(source: &Source, number: u64) -> Result<Option<(ArrivalRecord, Option<Bytes>)>, slatedb::Error> {
    let Some(came) = source.get(&keys::arrival(number)).await? else {
        return Ok(None);
    };
    let Ok(came) = ArrivalRecord::decode(came) else { return Ok(None) };
    let message = source.get(&Owner::from_bytes(&came.owner).chunk(number)).await?;
    Ok(Some((came, message)))
}

//! Removes segments by retention.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Work;
use crate::span::TraceId;
use crate::store::chunk::Listed;
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::index;
use crate::store::log::{Position, RecordKind, file_name};
use crate::store::options::Retention;
use crate::store::segments::Listing;
use crate::store::{ChunkKind, log::Segment};

/// Maximum traces prepared before the index is locked to remove them.
const TRACES_PER_TURN: usize = 500;
/// Maximum time the index is locked at once, since requests wait meanwhile.
const MAX_TURN: Duration = Duration::from_millis(20);

impl Work {
    /// Removes segments beyond the size limit or the retention age.
    pub(super) fn retain(&mut self) -> Result<(), Error> {
        let active = self.state.segment.load(Ordering::Acquire);
        let outcome = match self.retention == Retention::default() && self.spent() == 0 {
            true => Ok(()),
            false => self.remove_oldest(active),
        };
        self.looked = active;
        self.state.room.looked(active);
        outcome
    }

    /// Whether a segment was sealed since retention last ran.
    pub(super) fn is_retention_due(&self) -> bool {
        self.state.segment.load(Ordering::Acquire) != self.looked
    }

    fn remove_oldest(&mut self, active: u64) -> Result<(), Error> {
        let sealed = self.sealed()?;
        let mut sizes = Vec::with_capacity(sealed.len());
        for segment in sealed.iter().copied().chain([active]) {
            let size = self.disk.open(&file_name(segment)).and_then(|file| file.size());
            sizes.push(size.map_err(self.failure("ask for the size of", segment))?);
        }
        let mut total: u64 = sizes.iter().sum();
        let followers = sealed.iter().copied().skip(1).chain([active]);
        for ((segment, size), follower) in sealed.iter().copied().zip(sizes).zip(followers) {
            let too_much = self.retention.bytes.is_some_and(|most| total > most);
            let is_unneeded = segment < self.spent() || too_much || self.is_too_old(segment, follower)?;
            if !is_unneeded || !self.remove(segment)? {
                return Ok(());
            }
            total -= size;
            self.done.removed_segments += 1;
            self.done.removed_bytes += size;
            self.notify();
            self.state.room.removed(size);
        }
        Ok(())
    }

    fn spent(&self) -> u64 {
        self.state.spent.load(Ordering::Acquire)
    }

    /// Whether all of a segment is too old.
    fn is_too_old(&mut self, number: u64, follower: u64) -> Result<bool, Error> {
        let Some(age) = self.retention.age else { return Ok(false) };
        let segment = self.segments.segment(follower)?;
        let next = segment.first_arrival().map_err(self.failure("read", follower))?;
        // Without a later chunk, the segment's own last one decides.
        let arrival = match next {
            Some(arrival) => Some(arrival),
            None => self.last_arrival(number)?,
        };
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        Ok(arrival.is_some_and(|arrival| now().saturating_sub(arrival) > age))
    }

    /// Arrival of the last chunk of a sealed segment, as far as its heads can be read.
    fn last_arrival(&mut self, number: u64) -> Result<Option<u64>, Error> {
        if let Some((of, arrival)) = self.last_arrival
            && of == number
        {
            return Ok(arrival);
        }
        let (heads, _) = self.segments.segment(number)?.heads().map_err(self.failure("read", number))?;
        let arrival = heads.into_iter().map(|head| head.arrival).max();
        self.last_arrival = Some((number, arrival));
        Ok(arrival)
    }

    /// Removes a segment, from the index first: whatever the index names must exist. `false`: the store is being closed;
    /// removal continues when it is next opened.
    fn remove(&mut self, number: u64) -> Result<bool, Error> {
        let mut index = index::open(&self.directory)?;
        let segment = self.segments.segment(number)?;
        let Held { traces, has_loose } = self.held(&index, &segment)?;
        for traces in traces.chunks(TRACES_PER_TURN) {
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(false);
            }
            self.forget(&mut index, traces, number)?;
        }
        let turn = self.state.turns.take();
        // This commit makes all earlier ones durable.
        index::make_durable(&index)?;
        let remover = index::Remover::begin(&mut index)?;
        remover.forget_segment(number, has_loose)?;
        remover.commit()?;
        drop(turn);
        self.disk.remove(&file_name(number)).map_err(self.failure("remove", number))?;
        self.disk.sync_names().map_err(self.failure("remove", number))?;
        self.segments.forget(number);
        self.settled.remove(&number);
        self.gone = number;
        Ok(true)
    }

    /// Removes the chunks of these traces in a segment from the index.
    fn forget(&self, index: &mut Connection, traces: &[TraceId], number: u64) -> Result<(), Error> {
        let mut listing = Listing::new(&self.segments, &self.session_keys);
        // Reads the chunks that stay before the index is locked; few more arrive meanwhile.
        let mut listed: HashMap<Position, Option<Listed<'static>>> = HashMap::new();
        for trace_id in traces {
            for place in index::chunks_of(index, *trace_id)? {
                if place.at.segment != number {
                    listed.insert(place.at, listing.of(place.at)?);
                }
            }
        }
        let mut traces = traces.iter();
        while traces.len() > 0 {
            let _turn = self.state.turns.take();
            let begin = Instant::now();
            let remover = index::Remover::begin(index)?;
            for trace_id in traces.by_ref() {
                let mut left = Vec::new();
                for place in remover.forget(*trace_id, number)? {
                    let known = listed.remove(&place.at);
                    left.extend(known.map_or_else(|| listing.of(place.at), Ok)?);
                }
                remover.remake_row(*trace_id, &left)?;
                if begin.elapsed() >= MAX_TURN {
                    break;
                }
            }
            remover.commit()?;
        }
        Ok(())
    }

    /// What a segment contains.
    fn held(&self, index: &Connection, segment: &Segment) -> Result<Held, Error> {
        let number = segment.number();
        let (heads, whole) = segment.heads().map_err(self.failure("read", number))?;
        if !whole {
            // A damaged record does not tell its trace.
            return Ok(Held {
                traces: index::traces_in(index, number)?,
                has_loose: true,
            });
        }
        let is_loose = |kind| {
            matches!(
                kind,
                RecordKind::Chunk(ChunkKind::LooseLogs) | RecordKind::Shared(ChunkKind::LooseLogs)
            )
        };
        let has_loose = heads.iter().filter_map(|head| head.kind()).any(is_loose);
        let traces: BTreeSet<TraceId> = heads.into_iter().filter_map(|head| head.trace_id).collect();
        Ok(Held {
            traces: traces.into_iter().collect(),
            has_loose,
        })
    }
}

/// What a segment contains.
struct Held {
    traces: Vec<TraceId>,
    /// Log records without a trace.
    has_loose: bool,
}

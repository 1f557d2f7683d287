//! Scans the spool as if it were a database, building the same keys and values from the log and its index.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds as _};
use std::sync::Arc;

use prost::Message as _;
use slatedb::IterationOrder;

use super::entry::{Entry, Range};
use super::keys::{self, ARRIVALS, BY_SESSION, BY_START, CHUNKS, HEADS, Owner};
use super::prepare::pack;
use super::records::ArrivalRecord;
use super::spool::{Spool, prepared};
use crate::span::TraceId;
use crate::store::chunk::ChunkKind;
use crate::store::error::Error;
use crate::store::index::{self, ChunkLocation};
use crate::store::lists::{Filter, Order, TraceCursor};
use crate::store::log::Position;

/// Traces listed at once.
const PAGE_TRACES: usize = 256;

/// Bytes of messages to read ahead.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// Bits of a chunk number that hold the offset in its segment.
const OFFSET_BITS: u32 = 36;

/// A scan of the spool.
#[derive(Debug)]
pub(super) struct SpoolScan {
    spool: Arc<Spool>,
    prefix: Vec<u8>,
    what: What,
}

/// What remains to be returned.
#[derive(Debug)]
enum What {
    Nothing,
    /// Traces whose keys are in a range.
    Owners(Range),
    Heads(Owner),
    Messages(Owner, VecDeque<ChunkLocation>),
    Session(String),
    ByStart {
        range: Range,
        filter: Box<Filter>,
    },
    /// Number of traces returned so far.
    Arrivals(usize),
}

/// A chunk's number, in the form a database uses.
fn number_of(at: Position) -> u64 {
    at.segment << OFFSET_BITS | at.offset
}

impl SpoolScan {
    /// Entries whose keys begin with `prefix` and continue within `range`.
    pub(super) fn begin(spool: &Arc<Spool>, prefix: &[u8], range: Range, order: IterationOrder) -> Result<Self, Error> {
        let owner = || Owner::from_bytes(prefix.get(1..).unwrap_or_default());
        let what = match prefix.first() {
            Some(&HEADS) if prefix.len() == 1 => What::Owners(range),
            Some(&HEADS) => What::Heads(owner()),
            Some(&CHUNKS) => What::Messages(owner(), spool.chunks_of(&owner())?.into()),
            Some(&BY_SESSION) => owner().session_name().map_or(What::Nothing, |name| What::Session(name.to_owned())),
            Some(&BY_START) => What::ByStart {
                filter: filter_of(&range, order).into(),
                range,
            },
            Some(&ARRIVALS) => What::Arrivals(0),
            _ => What::Nothing,
        };
        Ok(Self {
            spool: Arc::clone(spool),
            prefix: prefix.to_vec(),
            what,
        })
    }

    /// Some of the next entries; empty at the end.
    pub(super) fn some(&mut self) -> Result<VecDeque<Entry>, Error> {
        match std::mem::replace(&mut self.what, What::Nothing) {
            What::Nothing => Ok(VecDeque::new()),
            What::Owners(range) => {
                let rows = self.spool.list(&Filter::default())?;
                let keys = rows.into_iter().map(|row| Owner::trace(row.trace_id).prefix(HEADS));
                let is_in = |key: &Vec<u8>| key.get(1..).is_some_and(|owner| range.contains(&owner.to_vec()));
                Ok(keys.filter(is_in).map(|key| Entry::new(key, Vec::new())).collect())
            }
            What::Heads(owner) => self.heads(&owner),
            What::Messages(owner, places) => self.messages(owner, places),
            What::Session(session) => {
                let filter = Filter {
                    session: Some(session),
                    ..Filter::default()
                };
                let rows = self.spool.list(&filter)?;
                Ok(rows.into_iter().map(|row| self.placed(row)).collect())
            }
            What::ByStart { range, filter } => self.by_start(range, filter),
            What::Arrivals(given) => self.arrivals(given),
        }
    }

    fn placed(&self, row: TraceCursor) -> Entry {
        Entry::new([&self.prefix[..], &keys::place(row.start, row.trace_id)].concat(), Vec::new())
    }

    fn heads(&self, owner: &Owner) -> Result<VecDeque<Entry>, Error> {
        let mut heads = VecDeque::new();
        for place in self.spool.chunks_of(owner)? {
            let Some((message, came)) = self.spool.message(place)? else {
                continue;
            };
            let of = prepared(place.kind, message, came, (None, &self.spool.session_keys)).unwrap_or_default();
            for mut chunk in of.into_iter().filter(|chunk| chunk.owner == *owner) {
                chunk.head.number = number_of(place.at);
                heads.push_back(Entry::new(owner.head(&chunk.digest), chunk.head.encode_to_vec()));
            }
        }
        Ok(heads)
    }

    fn messages(&mut self, owner: Owner, mut places: VecDeque<ChunkLocation>) -> Result<VecDeque<Entry>, Error> {
        let (mut messages, mut bytes) = (VecDeque::new(), 0);
        while bytes < READ_AHEAD_BYTES
            && let Some(place) = places.pop_front()
        {
            if let Some((message, _)) = self.spool.message(place)? {
                bytes += message.len();
                messages.push_back(Entry::new(owner.chunk(number_of(place.at)), pack(&message, None)));
            }
        }
        if !places.is_empty() {
            self.what = What::Messages(owner, places);
        }
        Ok(messages)
    }

    fn by_start(&mut self, range: Range, mut filter: Box<Filter>) -> Result<VecDeque<Entry>, Error> {
        let mut entries = VecDeque::new();
        // All of a page may lie outside the range, near its ends.
        while entries.is_empty() {
            let rows = self.spool.list(&filter)?;
            let Some(last) = rows.last().copied() else { return Ok(entries) };
            let is_in = |row: &TraceCursor| range.contains(&keys::place(row.start, row.trace_id));
            entries = rows.into_iter().filter(is_in).map(|row| self.placed(row)).collect();
            filter.after = Some(last);
        }
        self.what = What::ByStart { range, filter };
        Ok(entries)
    }

    /// Traces at their first chunks, latest first.
    fn arrivals(&mut self, given: usize) -> Result<VecDeque<Entry>, Error> {
        let filter = Filter {
            order: Order::LatestArrivalFirst,
            limit: Some(given + PAGE_TRACES),
            ..Filter::default()
        };
        let rows = self.spool.list(&filter)?;
        let mut entries = VecDeque::new();
        for row in rows.into_iter().skip(given) {
            let owner = Owner::trace(row.trace_id);
            // If it was removed meanwhile, it is in the database.
            if let Some(first) = self.spool.chunks_of(&owner)?.first()
                && let Some((_, time)) = self.spool.message(*first)?
            {
                let came = ArrivalRecord {
                    owner: owner.bytes().to_vec(),
                    time,
                    ..ArrivalRecord::default()
                };
                entries.push_back(Entry::new(keys::arrival(number_of(first.at)), came.encode_to_vec()));
            }
        }
        if !entries.is_empty() {
            self.what = What::Arrivals(given + PAGE_TRACES);
        }
        Ok(entries)
    }
}

/// A filter that covers all traces placed in a range, and few others.
fn filter_of(range: &Range, order: IterationOrder) -> Filter {
    let start_of = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.first_chunk::<8>().map(|start| !u64::from_be_bytes(*start)),
        Bound::Unbounded => None,
    };
    Filter {
        since: start_of(&range.1),
        until: start_of(&range.0).and_then(|start| start.checked_add(1)),
        limit: Some(PAGE_TRACES),
        order: match order {
            IterationOrder::Ascending => Order::NewestFirst,
            IterationOrder::Descending => Order::OldestFirst,
        },
        ..Filter::default()
    }
}

impl Spool {
    fn list(&self, filter: &Filter) -> Result<Vec<TraceCursor>, Error> {
        let rows = self.local.reader().index(|index| index.list(filter))?;
        Ok(rows.iter().map(crate::store::lists::TraceRow::cursor).collect())
    }

    /// Locations of an owner's chunks, in order of arrival.
    fn chunks_of(&self, owner: &Owner) -> Result<Vec<ChunkLocation>, Error> {
        let of_trace = |trace_id: TraceId| self.local.reader().index(|index| index.chunks(trace_id));
        let of_session = |session: &str| {
            let mut places = self.local.reader().index(|index| index::loose_of(index.connection(), session))?;
            places.sort_unstable();
            let kind = ChunkKind::LooseLogs;
            Ok(places.into_iter().map(|at| ChunkLocation { kind, at }).collect())
        };
        match (owner.trace_id(), owner.session_name()) {
            (Some(trace_id), _) => of_trace(trace_id),
            (None, Some(session)) => of_session(session),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// A message and its arrival time; `None`: it was removed or is damaged.
    fn message(&self, place: ChunkLocation) -> Result<Option<(Vec<u8>, u64)>, Error> {
        let Ok(message) = self.local.reader().message(place.at)? else {
            return Ok(None);
        };
        match self.local.segments().record(place.at) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            record => Ok(record?.map(|(head, _)| (message, head.arrival))),
        }
    }
}

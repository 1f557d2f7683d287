//! Reading what waits for the bucket as if it were in a database: the same keys, made of what the log and its index have.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds as _};
use std::sync::Arc;

use prost::Message as _;
use slatedb::IterationOrder;

use super::entry::{Entry, Range};
use super::keys::{self, ARRIVALS, BY_SESSION, BY_START, CHUNKS, HEADS, Owner};
use super::prepare::pack;
use super::records::Came;
use super::spool::{Spool, prepared};
use crate::span::TraceId;
use crate::store::chunk::ChunkKind;
use crate::store::error::Error;
use crate::store::index::{self, ChunkLocation};
use crate::store::lists::{Filter, Order, TraceCursor};
use crate::store::log::Position;

/// So many traces are listed at once.
const PAGE: usize = 256;

/// Messages are read ahead up to so many bytes.
const AHEAD: usize = 1 << 20;

/// Bits of a number that are the place in a segment.
const PLACE: u32 = 36;

/// A scan of the own log.
#[derive(Debug)]
pub(super) struct SpoolScan {
    spool: Arc<Spool>,
    prefix: Vec<u8>,
    what: What,
}

/// What is left to give.
#[derive(Debug)]
enum What {
    Nothing,
    /// The traces with keys in a range.
    Owners(Range),
    Heads(Owner),
    Messages(Owner, VecDeque<ChunkLocation>),
    Session(String),
    ByStart {
        range: Range,
        filter: Box<Filter>,
    },
    /// So many traces were given.
    Arrivals(usize),
}

/// The number of a chunk, as a database has one.
fn number_of(at: Position) -> u64 {
    at.segment << PLACE | at.offset
}

impl SpoolScan {
    /// The entries whose keys begin so, in a range behind that.
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

    /// Some of those that follow; none once all were given.
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
        while bytes < AHEAD
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
        // A page may be all outside the range, at its ends.
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

    /// The latest first, each trace at its first chunk.
    fn arrivals(&mut self, given: usize) -> Result<VecDeque<Entry>, Error> {
        let filter = Filter {
            order: Order::LatestArrivalFirst,
            limit: Some(given + PAGE),
            ..Filter::default()
        };
        let rows = self.spool.list(&filter)?;
        let mut entries = VecDeque::new();
        for row in rows.into_iter().skip(given) {
            let owner = Owner::trace(row.trace_id);
            // What was removed meanwhile is in the database.
            if let Some(first) = self.spool.chunks_of(&owner)?.first()
                && let Some((_, time)) = self.spool.message(*first)?
            {
                let came = Came {
                    owner: owner.bytes().to_vec(),
                    time,
                    ..Came::default()
                };
                entries.push_back(Entry::new(keys::arrival(number_of(first.at)), came.encode_to_vec()));
            }
        }
        if !entries.is_empty() {
            self.what = What::Arrivals(given + PAGE);
        }
        Ok(entries)
    }
}

/// A filter that holds all traces whose place is in a range, and few others.
fn filter_of(range: &Range, order: IterationOrder) -> Filter {
    let start_of = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.first_chunk::<8>().map(|start| !u64::from_be_bytes(*start)),
        Bound::Unbounded => None,
    };
    Filter {
        since: start_of(&range.1),
        until: start_of(&range.0).and_then(|start| start.checked_add(1)),
        limit: Some(PAGE),
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

    /// Where the chunks of an owner are, in order of arrival.
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

    /// A message, and when it came; `None`: it was removed, or is damaged.
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

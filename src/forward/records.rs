//! Finds the log records of spans by the span they name: each chunk of records is scanned once, and read again only for the
//! spans it names.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cost;
use crate::hash::{HashMap, HashSet};
use crate::otlp::decode;
use crate::otlp::items::{self, Item};
use crate::span::{LogRecord, Signal, SpanId, TraceId};
use crate::store::{ArrivalLimits, ChunkKind, Error, Position, Store};

/// Log records by the span they name, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct SpanRecords(HashMap<SpanId, Vec<Arc<Item>>>);

impl SpanRecords {
    /// The records in a request.
    pub(super) fn of_message(message: &[u8]) -> Self {
        let mut out = Self::default();
        for item in items::items(message).unwrap_or_default() {
            if let Some(span) = item.record_span() {
                out.0.entry(span).or_default().push(Arc::new(item));
            }
        }
        out
    }

    /// The records that name one of these spans.
    pub(super) fn of_items(&self, spans: &[Item]) -> Self {
        let ids = spans.iter().filter_map(|item| item.span_head().span_id);
        Self(ids.filter_map(|id| Some((id, self.0.get(&id)?.clone()))).collect())
    }

    /// The records, decoded.
    pub(super) fn decoded(&self) -> HashMap<SpanId, Vec<LogRecord>> {
        let of_span = |(span, items): (&SpanId, &Vec<Arc<Item>>)| {
            let message = items::join(items.iter().map(|item| &**item));
            let records = decode::logs(&message).map(|decoded| decoded.items).unwrap_or_default();
            (*span, records)
        };
        self.0.iter().map(of_span).collect()
    }

    /// Estimated memory needed to decode them.
    pub(super) fn cost(&self) -> usize {
        let records = self.0.values().flatten();
        records.map(|record| cost::of_translating_item(record.bytes(), Signal::Logs)).sum()
    }

    /// Number of records.
    pub(super) fn count(&self) -> u64 {
        self.0.values().map(|records| records.len() as u64).sum()
    }

    /// Total size of the records.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().flatten().map(|item| item.length()).sum()
    }
}

/// Maximum number of remembered places: a few MB for each destination. A trace with more is scanned again for each batch.
const MAX_PLACES: usize = 1 << 18;
/// If more than this was appended to the log, the index is asked for a trace's chunks instead.
const MAX_SCAN_AHEAD: u64 = 16 << 20;
/// Bytes of chunks cached for the next spans.
const MAX_CACHED_BYTES: usize = 8 << 20;
/// Maximum bytes of records in memory for one batch of spans.
const MAX_BATCH_BYTES: usize = 32 << 20;

/// Finds the log records of spans.
#[derive(Debug, Default)]
pub(super) struct Finder {
    traces: HashMap<TraceId, RecordPlaces>,
    order: VecDeque<TraceId>,
    places: usize,
    /// Up to this position the log was scanned for the traces of this generation; `None`: not at all.
    ahead: Option<Position>,
    generation: u64,
    kept: ChunkCache,
}

/// A cache of the last chunks read.
#[derive(Debug, Default)]
struct ChunkCache {
    chunks: HashMap<Position, (usize, Arc<SpanRecords>)>,
    order: VecDeque<Position>,
    bytes: usize,
}

impl ChunkCache {
    fn add(&mut self, at: Position, chunk: &Arc<SpanRecords>) {
        let bytes = chunk.bytes();
        self.chunks.insert(at, (bytes, Arc::clone(chunk)));
        self.order.push_back(at);
        self.bytes += bytes;
        while self.bytes > MAX_CACHED_BYTES && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|oldest| self.chunks.remove(&oldest));
            self.bytes -= oldest.map_or(0, |(bytes, _)| bytes);
        }
    }
}

/// Places of a trace's log records.
#[derive(Debug, Default)]
struct RecordPlaces {
    /// The generation in which all of it was last scanned; `None`: never, or a chunk of it could not be read.
    generation: Option<u64>,
    /// The last chunk scanned.
    last: Option<Position>,
    /// `None`: there are too many.
    by_span: Option<HashMap<SpanId, Vec<Position>>>,
    places: usize,
}

/// The result of looking for the records of spans.
pub(super) enum SpanLookup {
    Records(SpanRecords),
    /// This many records, too many to be in memory at once.
    TooMany(u64),
}

impl Finder {
    /// The records of these spans, and up to which position the log was searched for them.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub(super) fn find(&mut self, trace_id: TraceId, spans: &HashSet<SpanId>, store: &dyn Store) -> Result<(SpanLookup, Position), Error> {
        let until = self.look_ahead(store)?;
        self.know(trace_id, store)?;
        let by_span = self.traces.get(&trace_id).and_then(|known| known.by_span.as_ref());
        let places = match by_span {
            Some(by_span) => {
                let mut places: Vec<Position> = spans.iter().filter_map(|span| by_span.get(span)).flatten().copied().collect();
                places.sort_unstable();
                places.dedup();
                places
            }
            None => log_chunks(trace_id, store)?.collect(),
        };
        let mut out = SpanRecords::default();
        let (mut bytes, mut count) = (0, 0);
        for at in places {
            let Some(chunk) = self.chunk(at, store)? else { continue };
            let mut take = |span: &SpanId, records: &[Arc<Item>]| {
                bytes += records.iter().map(|item| item.length()).sum::<usize>();
                count += records.len() as u64;
                if bytes <= MAX_BATCH_BYTES {
                    out.0.entry(*span).or_default().extend(records.iter().cloned());
                }
            };
            // Iterate over the smaller set.
            if spans.len() < chunk.0.len() {
                spans
                    .iter()
                    .filter_map(|span| Some((span, chunk.0.get(span)?)))
                    .for_each(|(span, records)| take(span, records));
            } else {
                chunk
                    .0
                    .iter()
                    .filter(|(span, _)| spans.contains(span))
                    .for_each(|(span, records)| take(span, records));
            }
            if bytes > MAX_BATCH_BYTES {
                out.0.clear();
            }
        }
        let found = if bytes <= MAX_BATCH_BYTES {
            SpanLookup::Records(out)
        } else {
            SpanLookup::TooMany(count)
        };
        Ok((found, until))
    }

    /// Scans what was appended to the log.
    fn look_ahead(&mut self, store: &dyn Store) -> Result<Position, Error> {
        let end = store.watch_end().map(|end| *end.borrow()).unwrap_or_default();
        let Some(mut ahead) = self.ahead else {
            self.ahead = Some(end);
            return Ok(end);
        };
        if ahead < end && store.bytes_behind(ahead) > MAX_SCAN_AHEAD {
            self.generation += 1;
            ahead = end;
        }
        while ahead < end {
            let limits = ArrivalLimits {
                bytes: 1 << 20,
                latest: u64::MAX,
            };
            let read = store.read_arrivals(ahead, limits)?;
            for chunk in read.chunks.iter().filter(|chunk| chunk.kind == ChunkKind::Logs) {
                let known = chunk.trace_id.filter(|trace_id| self.traces.contains_key(trace_id));
                if let Some(trace_id) = known {
                    self.note(trace_id, chunk.at, &SpanRecords::of_message(&chunk.message));
                }
            }
            if read.next <= ahead {
                break;
            }
            ahead = read.next;
        }
        self.ahead = Some(ahead);
        Ok(ahead)
    }

    /// Scans the chunks of a trace that were not scanned yet.
    fn know(&mut self, trace_id: TraceId, store: &dyn Store) -> Result<(), Error> {
        let generation = self.generation;
        let last = match self.traces.get(&trace_id) {
            Some(known) if known.generation == Some(generation) => return Ok(()),
            Some(known) => known.last,
            None => {
                let known = RecordPlaces {
                    by_span: Some(HashMap::default()),
                    ..RecordPlaces::default()
                };
                self.traces.insert(trace_id, known);
                self.order.push_back(trace_id);
                None
            }
        };
        for at in log_chunks(trace_id, store)?.filter(|at| last.is_none_or(|last| *at > last)) {
            if let Some(chunk) = self.chunk(at, store)? {
                self.note(trace_id, at, &chunk);
            }
        }
        if let Some(known) = self.traces.get_mut(&trace_id) {
            known.generation = Some(generation);
        }
        Ok(())
    }

    fn note(&mut self, trace_id: TraceId, at: Position, chunk: &SpanRecords) {
        let Some(known) = self.traces.get_mut(&trace_id) else { return };
        if known.last.is_some_and(|last| at <= last) {
            return;
        }
        known.last = Some(at);
        let Some(by_span) = &mut known.by_span else { return };
        for span in chunk.0.keys() {
            by_span.entry(*span).or_default().push(at);
        }
        known.places += chunk.0.len();
        self.places += chunk.0.len();
        if known.places > MAX_PLACES {
            self.places -= known.places;
            (known.by_span, known.places) = (None, 0);
        }
        while self.places > MAX_PLACES || self.order.len() > MAX_PLACES {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest == trace_id {
                self.order.push_back(oldest);
                continue;
            }
            self.places -= self.traces.remove(&oldest).map_or(0, |known| known.places);
        }
    }

    /// The records in a chunk; `None`: it was removed, or is damaged.
    fn chunk(&mut self, at: Position, store: &dyn Store) -> Result<Option<Arc<SpanRecords>>, Error> {
        if let Some((_, chunk)) = self.kept.chunks.get(&at) {
            return Ok(Some(Arc::clone(chunk)));
        }
        let Some(message) = store.chunk_at(at)? else { return Ok(None) };
        let chunk = Arc::new(SpanRecords::of_message(&message));
        self.kept.add(at, &chunk);
        Ok(Some(chunk))
    }
}

fn log_chunks(trace_id: TraceId, store: &dyn Store) -> Result<impl Iterator<Item = Position>, Error> {
    let chunks = store.chunks_of(trace_id)?.into_iter();
    Ok(chunks.filter(|(_, kind)| *kind != ChunkKind::Spans).map(|(at, _)| at))
}

//! The log records of spans, found by the spans that they name: each chunk of records is scanned once, and read again only for
//! the spans that it names.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cost;
use crate::hash::{HashMap, HashSet};
use crate::otlp::decode;
use crate::otlp::items::{self, Item};
use crate::span::{LogRecord, Signal, SpanId, TraceId};
use crate::store::{ArrivalLimits, ChunkKind, Error, Position, Store};

/// Log records by the span that they name, in their order of arrival.
#[derive(Debug, Default)]
pub(super) struct SpanRecords(HashMap<SpanId, Vec<Arc<Item>>>);

impl SpanRecords {
    /// The records of a request.
    pub(super) fn of_message(message: &[u8]) -> Self {
        let mut out = Self::default();
        for item in items::items(message).unwrap_or_default() {
            if let Some(span) = item.record_span() {
                out.0.entry(span).or_default().push(Arc::new(item));
            }
        }
        out
    }

    /// Those that name one of these spans.
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

    /// About how much memory it takes to read them.
    pub(super) fn cost(&self) -> usize {
        let records = self.0.values().flatten();
        records.map(|record| cost::of_translating_item(record.bytes(), Signal::Logs)).sum()
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.values().map(|records| records.len() as u64).sum()
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().flatten().map(|item| item.length()).sum()
    }
}

/// How many places are remembered: a few MB for each destination. A trace with more is looked through again for each batch.
const REMEMBERED: usize = 1 << 18;
/// Where so much was added to the log, the index is asked for the chunks of a trace instead.
const AHEAD: u64 = 16 << 20;
/// Bytes of chunks that are kept for the next spans.
const KEPT: usize = 8 << 20;
/// Records of one batch of spans that are in memory at once.
const TOGETHER: usize = 32 << 20;

/// Finds the log records of spans.
#[derive(Debug, Default)]
pub(super) struct Finder {
    traces: HashMap<TraceId, RecordPlaces>,
    order: VecDeque<TraceId>,
    places: usize,
    /// Up to here the log was looked through for the traces of this generation; `None`: not at all.
    ahead: Option<Position>,
    generation: u64,
    kept: Kept,
}

/// The chunks that were read last.
#[derive(Debug, Default)]
struct Kept {
    chunks: HashMap<Position, (usize, Arc<SpanRecords>)>,
    order: VecDeque<Position>,
    bytes: usize,
}

impl Kept {
    fn add(&mut self, at: Position, chunk: &Arc<SpanRecords>) {
        let bytes = chunk.bytes();
        self.chunks.insert(at, (bytes, Arc::clone(chunk)));
        self.order.push_back(at);
        self.bytes += bytes;
        while self.bytes > KEPT && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|oldest| self.chunks.remove(&oldest));
            self.bytes -= oldest.map_or(0, |(bytes, _)| bytes);
        }
    }
}

/// Where the log records of a trace are.
#[derive(Debug, Default)]
struct RecordPlaces {
    /// When all of it was looked through last; `None`: not yet, or a chunk of it could not be read.
    generation: Option<u64>,
    /// The last chunk that was looked through.
    last: Option<Position>,
    /// `None`: they are too many.
    by_span: Option<HashMap<SpanId, Vec<Position>>>,
    places: usize,
}

/// The records of some spans.
pub(super) enum Found {
    Records(SpanRecords),
    /// They are too many to be in memory at once: so many.
    TooMany(u64),
}

impl Finder {
    /// The records of these spans, and up to where the log was looked through for them.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub(super) fn find(&mut self, trace_id: TraceId, spans: &HashSet<SpanId>, store: &dyn Store) -> Result<(Found, Position), Error> {
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
                if bytes <= TOGETHER {
                    out.0.entry(*span).or_default().extend(records.iter().cloned());
                }
            };
            // Whichever are fewer.
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
            if bytes > TOGETHER {
                out.0.clear();
            }
        }
        let found = if bytes <= TOGETHER {
            Found::Records(out)
        } else {
            Found::TooMany(count)
        };
        Ok((found, until))
    }

    /// Looks through what was added to the log.
    fn look_ahead(&mut self, store: &dyn Store) -> Result<Position, Error> {
        let end = store.watch_end().map(|end| *end.borrow()).unwrap_or_default();
        let Some(mut ahead) = self.ahead else {
            self.ahead = Some(end);
            return Ok(end);
        };
        if ahead < end && store.bytes_behind(ahead) > AHEAD {
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

    /// Looks through the chunks of a trace that were not looked through yet.
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
        if known.places > REMEMBERED {
            self.places -= known.places;
            (known.by_span, known.places) = (None, 0);
        }
        while self.places > REMEMBERED || self.order.len() > REMEMBERED {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest == trace_id {
                self.order.push_back(oldest);
                continue;
            }
            self.places -= self.traces.remove(&oldest).map_or(0, |known| known.places);
        }
    }

    /// The records of a chunk; `None`: it was removed, or is damaged.
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

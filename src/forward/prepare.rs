//! Prepares chunks of the log for a destination.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::batch::{Batch, Content, LARGE_BYTES, Piece};
use super::choice::{Chooser, TraceChoice};
use super::counts::Counts;
use super::dead_letters::DeadLetter;
use super::destination::Destination;
use super::in_full::request_in_full;
use super::payload::{Part, Payload, count};
use super::records::{Finder, SpanLookup, SpanRecords};
use super::settings::{Logs, Unfinished};
use super::translate::{Translated, Translator};
use crate::dialect::Registry;
use crate::hash::{HashMap, HashSet};
use crate::otlp::items;
use crate::redact::Rules;
use crate::span::{Signal, SpanId, TraceId, UnixNanos};
use crate::store::{Arrival, ChunkKind, Error, Position, Store, now};

/// Prepares the requests of one destination.
#[derive(Debug)]
pub(super) struct Prepare {
    traces: bool,
    logs: Logs,
    metrics: bool,
    chooser: Option<Chooser>,
    redaction: Option<Arc<Rules>>,
    translator: Option<Translator>,
    registry: Arc<Registry>,
    unfinished: Unfinished,
    most: usize,
    written: Mutex<SentSpans>,
    finder: Mutex<Finder>,
}

/// PrepareMode the next requests are prepared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PrepareMode {
    /// The next piece may be a large one.
    pub(super) large: bool,
    /// Take only one piece: several together ended the process before.
    pub(super) alone: bool,
    /// Send spans as received: translating them ended the process before.
    pub(super) as_received: bool,
    /// Turn spans into dead letters if their log records still cannot be read.
    pub(super) gives_up: bool,
}

/// Prepared requests, and what none of them contains.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) payloads: Vec<Payload>,
    pub(super) dead: Vec<DeadLetter>,
    pub(super) unsent: Counts,
    /// Whether they come from one large piece.
    pub(super) is_large: bool,
}

/// The last spans sent together with their log records. Later records of these spans are left out, and counted.
#[derive(Debug, Default)]
struct SentSpans {
    /// For each span, up to which position the log was searched for its records.
    until: HashMap<SpanId, Position>,
    order: VecDeque<SpanId>,
}

/// Maximum number of remembered spans: a few MB for each destination.
const MAX_REMEMBERED: usize = 1 << 16;

impl SentSpans {
    fn add(&mut self, span: SpanId, until: Position) {
        if self.until.insert(span, until).is_none() {
            self.order.push_back(span);
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            let _ = self.until.remove(&oldest);
        }
    }

    /// Whether a record came too late for its span.
    fn lacks(&self, span: SpanId, at: Position) -> bool {
        self.until.get(&span).is_some_and(|until| *until <= at)
    }
}

impl Prepare {
    pub(super) fn new(destination: &Destination, registry: &Arc<Registry>) -> Self {
        Self {
            traces: destination.traces,
            logs: destination.logs,
            metrics: destination.metrics,
            chooser: Chooser::new(&destination.choice, registry),
            redaction: destination.redaction.clone(),
            translator: Translator::new(destination.dialect, registry),
            registry: Arc::clone(registry),
            unfinished: destination.unfinished,
            most: destination.max_message_bytes,
            written: Mutex::default(),
            finder: Mutex::default(),
        }
    }

    /// Begins a batch of these chunks.
    pub(super) fn begin(&self, chunks: Vec<Arrival>) -> Batch {
        if let Some(chooser) = &self.chooser {
            chooser.begin();
        }
        Batch::new(chunks)
    }

    /// The next requests of a batch: about as much as one request may contain. A large piece becomes a request by itself,
    /// and stays first in the batch until it is delivered.
    ///
    /// # Errors
    ///
    /// The store cannot be read; the batch is then incomplete.
    pub(super) fn next(&self, batch: &mut Batch, how: PrepareMode, store: &dyn Store) -> Result<Prepared, Error> {
        let mut made = Prepared::default();
        let mut parts: Vec<(Signal, Vec<Part>)> = Vec::new();
        let mut bytes = 0;
        while let Some(piece) = batch.pieces.pop_front() {
            if piece.bytes() > LARGE_BYTES && !(how.large && bytes == 0) {
                batch.pieces.push_front(piece);
                break;
            }
            let content = piece.content.clone();
            let sent = |message| Piece {
                content: Content::Whole(message),
                ..piece.clone()
            };
            match content {
                Content::Undecided(message) => {
                    let (choice, earlier) = self.choice(&piece, store)?;
                    match choice {
                        TraceChoice::Left => made
                            .unsent
                            .not_chosen
                            .add(piece.kind.signal(), count(&message, piece.kind.signal())),
                        TraceChoice::Sent | TraceChoice::SentWithEarlier => batch.pieces.push_front(sent(message)),
                    }
                    earlier.into_iter().rev().for_each(|piece| batch.pieces.push_front(piece));
                }
                Content::InLog => {
                    let message = store.chunk_at(piece.at)?;
                    if let Some(message) = message {
                        batch.pieces.push_front(sent(message.into()));
                    }
                }
                Content::Whole(message) => {
                    let divided = piece.divide(message, self.most);
                    let was_large = divided.len() > 1 && how.large;
                    divided.into_iter().rev().for_each(|piece| batch.pieces.push_front(piece));
                    // Its parts need not be sent alone.
                    if was_large {
                        break;
                    }
                }
                Content::Part(message) => {
                    bytes += message.len();
                    made.is_large = message.len() > LARGE_BYTES;
                    let signal = piece.kind.signal();
                    let part = self.part(&piece, message, how, store, &mut made)?;
                    match (part, parts.last_mut()) {
                        (None, _) => {}
                        (Some(part), Some((last, parts))) if *last == signal => parts.push(part),
                        (Some(part), _) => parts.push((signal, vec![part])),
                    }
                    if made.is_large {
                        batch.pieces.push_front(piece);
                    }
                    if made.is_large || how.alone || bytes >= self.most {
                        break;
                    }
                }
            }
        }
        made.payloads = parts
            .into_iter()
            .flat_map(|(signal, parts)| Payload::pack(signal, parts, self.most))
            .collect();
        Ok(made)
    }

    /// Whether a chunk is sent, and which pieces of its trace are sent before it.
    fn choice(&self, piece: &Piece, store: &dyn Store) -> Result<(TraceChoice, Vec<Piece>), Error> {
        if !self.takes(piece.kind.signal()) {
            return Ok((TraceChoice::Left, Vec::new()));
        }
        let choice = match &self.chooser {
            None => TraceChoice::Sent,
            Some(chooser) => chooser.of_trace(piece.trace_id, store)?,
        };
        let chunks = match (choice, piece.trace_id) {
            (TraceChoice::SentWithEarlier, Some(trace_id)) => store.chunks_of(trace_id)?,
            _ => Vec::new(),
        };
        let earlier = chunks.into_iter().filter(|(at, _)| *at < piece.at).map(|(at, kind)| Piece {
            at,
            kind,
            trace_id: piece.trace_id,
            content: Content::InLog,
        });
        Ok((choice, earlier.collect()))
    }

    /// Records that the requests of the last chunks were delivered.
    pub(super) fn sent(&self) {
        if let Some(chooser) = &self.chooser {
            chooser.sent();
        }
    }

    fn part(&self, piece: &Piece, message: Bytes, how: PrepareMode, store: &dyn Store, made: &mut Prepared) -> Result<Option<Part>, Error> {
        let signal = piece.kind.signal();
        let counts = &made.unsent;
        let message = self.chosen(message, signal, counts);
        let message = match piece.kind {
            ChunkKind::Spans if how.as_received => self.finished(message, counts),
            ChunkKind::Spans => request_in_full(self.finished(message, counts), store, &self.registry),
            ChunkKind::Logs | ChunkKind::LooseLogs if self.logs != Logs::Send => {
                counts.left_out.fetch_add(self.left_out(piece.at, &message), Ordering::Relaxed);
                return Ok(None);
            }
            ChunkKind::Logs | ChunkKind::LooseLogs | ChunkKind::Metrics => message,
        };
        let refused = |message: &Bytes, reason: &str| letters(piece.at, message, signal, reason);
        let message = match self.redacted(message.clone(), signal) {
            Ok(message) => message,
            Err(reason) => {
                made.dead.extend(refused(&message, &reason));
                return Ok(None);
            }
        };
        let message = match &self.translator {
            Some(translator) if piece.kind == ChunkKind::Spans => {
                let translated = match self.translated(translator, piece.trace_id, message.clone(), how, store) {
                    Ok(translated) => translated,
                    Err(error) if how.gives_up => {
                        let reason = format!("its log records cannot be read: {error}");
                        made.dead.extend(refused(&message, &reason));
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                };
                counts.as_received.fetch_add(translated.as_received, Ordering::Relaxed);
                counts.left_out.fetch_add(translated.left_out, Ordering::Relaxed);
                // Again, because content of log records was written onto spans.
                match translated.changed {
                    true => match self.redacted(translated.message, signal) {
                        Ok(message) => message,
                        Err(reason) => {
                            made.dead.extend(refused(&message, &reason));
                            return Ok(None);
                        }
                    },
                    false => translated.message,
                }
            }
            _ => message,
        };
        Ok(Some(Part::new(Some(piece.at), message, signal)))
    }

    /// Translates spans into the destination's vocabulary, with the content of their log records.
    fn translated(
        &self,
        translator: &Translator,
        trace_id: Option<TraceId>,
        message: Bytes,
        how: PrepareMode,
        store: &dyn Store,
    ) -> Result<Translated, Error> {
        let heads = items::span_heads(&message).unwrap_or_default();
        if how.as_received {
            return Ok(Translated::as_received(message, heads.len() as u64, 0));
        }
        let trace_id = trace_id.or_else(|| heads.first().and_then(|head| head.trace_id));
        let Some(trace_id) = trace_id.filter(|_| self.logs == Logs::IntoSpans) else {
            return Ok(translator.translate(message, &SpanRecords::default()));
        };
        let spans: HashSet<SpanId> = heads.iter().filter_map(|head| head.span_id).collect();
        let (found, until) = self
            .finder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .find(trace_id, &spans, store)?;
        let translated = match found {
            SpanLookup::Records(records) => translator.translate(message, &records),
            SpanLookup::TooMany(records) => match items::items(&message) {
                Ok(items) if items.len() > 1 => {
                    let (first, second) = items.split_at(items.len() / 2);
                    let half = |half| self.translated(translator, Some(trace_id), items::join(half).into(), how, store);
                    return Ok(half(first)?.and(half(second)?));
                }
                _ => Translated::as_received(message, heads.len() as u64, records),
            },
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        spans.iter().for_each(|span| written.add(*span, until));
        Ok(translated)
    }

    /// Whether items of this signal are processed. Log records always are, to count those left out.
    fn takes(&self, signal: Signal) -> bool {
        match signal {
            Signal::Traces => self.traces,
            Signal::Logs => true,
            Signal::Metrics => self.metrics,
        }
    }

    /// Removes the items that are not selected.
    fn chosen(&self, message: Bytes, signal: Signal, counts: &Counts) -> Bytes {
        let Some(chooser) = &self.chooser else { return message };
        let before = count(&message, signal);
        let message = chooser.of_items(message, signal);
        counts.not_chosen.add(signal, before.saturating_sub(count(&message, signal)));
        message
    }

    /// Applies the redaction rules. A message that cannot be decoded is not sent, because it may contain what they remove.
    fn redacted(&self, message: Bytes, signal: Signal) -> Result<Bytes, String> {
        let Some(rules) = &self.redaction else { return Ok(message) };
        match rules.apply(&message, signal) {
            Ok(changed) => Ok(changed.map_or(message, Bytes::from)),
            Err(error) => Err(format!("it cannot be redacted: {error}")),
        }
    }

    /// Number of log records that the destination never gets: all if it takes none; else those that name no span, and those
    /// that arrived after their span was sent.
    fn left_out(&self, at: Position, message: &[u8]) -> u64 {
        let Ok(records) = items::items(message) else {
            return items::count(message);
        };
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left_out = |record: &&items::Item| match (self.logs, record.record_span()) {
            (Logs::IntoSpans, Some(span)) => written.lacks(span, at),
            _ => true,
        };
        records.iter().filter(is_left_out).count() as u64
    }

    /// Removes spans that have not ended, if those are held back.
    fn finished(&self, message: Bytes, counts: &Counts) -> Bytes {
        if self.unfinished == Unfinished::Send {
            return message;
        }
        let Ok(heads) = items::span_heads(&message) else { return message };
        let held = heads.iter().filter(|head| head.end == UnixNanos(0)).count();
        if held == 0 {
            return message;
        }
        counts.held.fetch_add(held as u64, Ordering::Relaxed);
        let all = items::items(&message).unwrap_or_default();
        items::join(all.iter().filter(|item| item.span_head().end != UnixNanos(0))).into()
    }

    /// The requests with the content of a dead letter; none if the log no longer has it.
    pub(super) fn of_letter(&self, letter: &DeadLetter, store: &dyn Store) -> Result<Prepared, Error> {
        let mut made = Prepared::default();
        let Some(at) = letter.at() else { return Ok(made) };
        let Some(message) = store.chunk_at(at)? else {
            return Ok(made);
        };
        let kinds = [ChunkKind::Spans, ChunkKind::Logs, ChunkKind::Metrics];
        let Some(kind) = kinds.into_iter().find(|kind| kind.signal().name() == letter.signal) else {
            return Ok(made);
        };
        let message = match (&letter.span_id, items::items(&message)) {
            (Some(span_id), Ok(all)) => {
                let is_it = |item: &&items::Item| item.span_head().span_id.is_some_and(|id| id.to_string() == *span_id);
                items::join(all.iter().filter(is_it))
            }
            _ => message,
        };
        let message = Bytes::from(message);
        let piece = Piece {
            at,
            kind,
            trace_id: None,
            content: Content::Part(message.clone()),
        };
        let part = self.part(&piece, message, PrepareMode::default(), store, &mut made)?;
        made.payloads = Payload::pack(kind.signal(), part.into_iter().collect(), self.most);
        Ok(made)
    }
}

/// A dead letter for each item of an unsendable message.
fn letters(at: Position, message: &Bytes, signal: Signal, reason: &str) -> Vec<DeadLetter> {
    let payload = Payload {
        signal,
        parts: vec![Part::new(Some(at), message.clone(), signal)],
    };
    let mut waiting = vec![payload];
    let mut out = Vec::new();
    while let Some(payload) = waiting.pop() {
        match payload.halves() {
            Some([first, second]) => waiting.extend([second, first]),
            None => out.push(payload.dead_letter(payload.items(), reason, now())),
        }
    }
    out
}

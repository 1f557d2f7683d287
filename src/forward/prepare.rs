//! From chunks of the log to what a destination is sent.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::choice::{Chooser, TraceChoice};
use super::counts::Counts;
use super::dead_letters::DeadLetter;
use super::destination::Destination;
use super::in_full::request_in_full;
use super::payload::{Part, Payload, count};
use super::settings::{Logs, Unfinished};
use super::translate::Translator;
use crate::dialect::Registry;
use crate::otlp::{decode, items};
use crate::redact::Rules;
use crate::span::{LogRecord, Signal, SpanId, UnixNanos};
use crate::store::{Arrival, ChunkKind, Error, Position, Store};

/// Makes what one destination is sent.
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
    written: Mutex<Written>,
}

/// The last spans that were sent together with their log records. Records that come later are left out, and are counted.
#[derive(Debug, Default)]
struct Written {
    /// Up to where the log was read for a span's records.
    until: HashMap<SpanId, Position>,
    order: VecDeque<SpanId>,
}

/// How many spans are remembered: a few MB for each destination.
const REMEMBERED: usize = 1 << 16;

impl Written {
    fn add(&mut self, span: SpanId, until: Position) {
        if self.until.insert(span, until).is_none() {
            self.order.push_back(span);
        }
        if self.order.len() > REMEMBERED
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
        }
    }

    /// The requests that carry these chunks, in their order.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub(super) fn payloads(&self, chunks: Vec<Arrival>, store: &dyn Store, counts: &Counts) -> Result<Vec<Payload>, Error> {
        if let Some(chooser) = &self.chooser {
            chooser.begin();
        }
        let mut out: Vec<(Signal, Vec<Part>)> = Vec::new();
        let mut add = |signal: Signal, part: Option<Part>| match (part, out.last_mut()) {
            (None, _) => {}
            (Some(part), Some((last, parts))) if *last == signal => parts.push(part),
            (Some(part), _) => out.push((signal, vec![part])),
        };
        for chunk in chunks {
            let signal = chunk.kind.signal();
            if !self.takes(signal) {
                counts.not_chosen.add(signal, count(&chunk.message, signal));
                continue;
            }
            let choice = match &self.chooser {
                None => TraceChoice::Sent,
                Some(chooser) => chooser.of_trace(chunk.trace_id, store)?,
            };
            match (choice, chunk.trace_id) {
                (TraceChoice::Left, _) => {
                    counts.not_chosen.add(signal, count(&chunk.message, signal));
                    continue;
                }
                (TraceChoice::SentWithEarlier, Some(trace_id)) => {
                    for (at, kind) in store.chunks_of(trace_id)?.into_iter().filter(|(at, _)| *at < chunk.at) {
                        if let Some(message) = store.chunk_at(at)? {
                            add(kind.signal(), self.part(at, kind, message, store, counts));
                        }
                    }
                }
                (TraceChoice::Sent | TraceChoice::SentWithEarlier, _) => {}
            }
            add(signal, self.part(chunk.at, chunk.kind, chunk.message, store, counts));
        }
        Ok(out
            .into_iter()
            .flat_map(|(signal, parts)| Payload::pack(signal, parts, self.most))
            .collect())
    }

    /// The requests of the last chunks were delivered.
    pub(super) fn sent(&self) {
        if let Some(chooser) = &self.chooser {
            chooser.sent();
        }
    }

    fn part(&self, at: Position, kind: ChunkKind, message: Vec<u8>, store: &dyn Store, counts: &Counts) -> Option<Part> {
        let message = self.chosen(message, kind.signal(), counts);
        match kind {
            ChunkKind::Spans => {
                let message = request_in_full(self.finished(message, counts), store, &self.registry);
                let message = self.redacted(message, Signal::Traces, counts)?;
                let message = match &self.translator {
                    None => message,
                    // Once more: what records say is written onto spans.
                    Some(translator) => match translator.translate(&message, &self.records(&message, store)) {
                        Some(translated) => self.redacted(translated, Signal::Traces, counts)?,
                        None => message,
                    },
                };
                Some(Part::new(Some(at), message, Signal::Traces))
            }
            ChunkKind::Logs | ChunkKind::LooseLogs if self.logs == Logs::Send => {
                Some(Part::new(Some(at), self.redacted(message, Signal::Logs, counts)?, Signal::Logs))
            }
            ChunkKind::Logs | ChunkKind::LooseLogs => {
                counts.left_out.fetch_add(self.left_out(at, &message), Ordering::Relaxed);
                None
            }
            ChunkKind::Metrics => Some(Part::new(
                Some(at),
                self.redacted(message, Signal::Metrics, counts)?,
                Signal::Metrics,
            )),
        }
    }

    /// Whether anything of this signal is sent. Log records may be left, and are counted then.
    fn takes(&self, signal: Signal) -> bool {
        match signal {
            Signal::Traces => self.traces,
            Signal::Logs => true,
            Signal::Metrics => self.metrics,
        }
    }

    /// Without the items that are not chosen.
    fn chosen(&self, message: Vec<u8>, signal: Signal, counts: &Counts) -> Vec<u8> {
        let Some(chooser) = &self.chooser else { return message };
        let before = count(&message, signal);
        let message = chooser.of_items(message, signal);
        counts.not_chosen.add(signal, before.saturating_sub(count(&message, signal)));
        message
    }

    /// Applies the redaction rules. `None` if the message cannot be decoded: it is not sent, because it may hold what the rules remove.
    fn redacted(&self, message: Vec<u8>, signal: Signal, counts: &Counts) -> Option<Vec<u8>> {
        let Some(rules) = &self.redaction else { return Some(message) };
        match rules.apply(&message, signal) {
            Ok(changed) => Some(changed.unwrap_or(message)),
            Err(error) => {
                counts.failed.add(signal, count(&message, signal));
                tracing::error!(%error, "a part of the log cannot be redacted and is not sent");
                None
            }
        }
    }

    /// The log records that came so far with the trace of these spans, where they go into spans.
    fn records(&self, message: &[u8], store: &dyn Store) -> Vec<LogRecord> {
        if self.logs != Logs::IntoSpans {
            return Vec::new();
        }
        let all = items::items(message).unwrap_or_default();
        let heads: Vec<_> = all.iter().map(items::Item::span_head).collect();
        let until = store.watch_end().map(|end| *end.borrow()).unwrap_or_default();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        heads
            .iter()
            .filter_map(|head| head.span_id)
            .for_each(|span| written.add(span, until));
        drop(written);
        // What cannot be read is translated without: the span itself must not wait for it.
        let trace_id = heads.first().and_then(|head| head.trace_id);
        trace_id.and_then(|trace_id| store.read_logs(trace_id).ok()).unwrap_or_default()
    }

    /// How many of these log records the destination never gets: all if it takes none; else those that name no span, and those
    /// that came after their span was sent.
    fn left_out(&self, at: Position, message: &[u8]) -> u64 {
        let Ok(records) = decode::logs(message) else {
            return items::count(message);
        };
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left_out = |record: &&LogRecord| match (self.logs, record.span_id) {
            (Logs::IntoSpans, Some(span)) => written.lacks(span, at),
            _ => true,
        };
        records.items.iter().filter(is_left_out).count() as u64
    }

    /// Without the spans that have not ended, where those are held back.
    fn finished(&self, message: Vec<u8>, counts: &Counts) -> Vec<u8> {
        if self.unfinished == Unfinished::Send {
            return message;
        }
        let Ok(all) = items::items(&message) else { return message };
        let is_finished = |item: &&items::Item| item.span_head().end != UnixNanos(0);
        let held = all.iter().filter(|item| !is_finished(item)).count();
        if held == 0 {
            return message;
        }
        counts.held.fetch_add(held as u64, Ordering::Relaxed);
        items::join(all.iter().filter(is_finished))
    }

    /// The requests that carry what a dead letter is about; none if the log no longer has it.
    pub(super) fn of_letter(&self, letter: &DeadLetter, store: &dyn Store, counts: &Counts) -> Result<Vec<Payload>, Error> {
        let Some(at) = letter.at() else { return Ok(Vec::new()) };
        let Some(message) = store.chunk_at(at)? else {
            return Ok(Vec::new());
        };
        let kinds = [ChunkKind::Spans, ChunkKind::Logs, ChunkKind::Metrics];
        let Some(kind) = kinds.into_iter().find(|kind| kind.signal().name() == letter.signal) else {
            return Ok(Vec::new());
        };
        let signal = kind.signal();
        let message = match (&letter.span_id, items::items(&message)) {
            (Some(span_id), Ok(all)) => {
                let is_it = |item: &&items::Item| item.span_head().span_id.is_some_and(|id| id.to_string() == *span_id);
                items::join(all.iter().filter(is_it))
            }
            _ => message,
        };
        let part = self.part(at, kind, message, store, counts);
        Ok(Payload::pack(signal, part.into_iter().collect(), self.most))
    }
}

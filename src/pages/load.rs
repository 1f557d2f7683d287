//! Loads what the pages show: a run, cached by trace and revision, one span of a trace, one page of spans.

use std::sync::Arc;

use super::head::Around;
use super::span::{LINKS, OfSpan};
use crate::dialect;
use crate::dialect::explain::explain;
use crate::otlp::decode;
use crate::run::{Run, Step};
use crate::span::{Link, LogRecord, Span, SpanId, UnixNanos};
use crate::store::{self, ChunkKind, TraceRow};
use crate::web::answer::Answer;
use crate::web::reply::Problem;
use crate::web::runs::Built;
use crate::web::service::Web;
use crate::web::single;

/// Memory for decoding a chunk, as a multiple of its size.
const DECODED: usize = 12;

/// Nanoseconds after its end within which more of a run may arrive.
const SETTLED: u64 = 600 * 1_000_000_000;

fn is_recent(end: UnixNanos) -> bool {
    end.0.saturating_add(SETTLED) > store::now()
}

/// A run with its row in the index.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The row.
    pub(crate) row: TraceRow,
    built: Arc<Built>,
}

impl Loaded {
    /// Loads the run of a trace.
    pub(crate) fn of(web: &Web, id: &str, answer: &mut Answer) -> Result<Self, Problem> {
        let id = single::trace_id(id)?;
        let row = single::row(web, id)?;
        let built = single::built(web, &row, answer)?;
        if built.run.is_none() {
            return Err(Problem::not_found(format!("trace {id} has no spans")));
        }
        // Outlines and pages of a run take about as much memory as its steps' own fields.
        let steps = built.run.as_ref().map_or(0, |run| run.steps.len());
        answer.reserve(steps.saturating_mul(200))?;
        Ok(Self { row, built })
    }

    /// The run.
    pub(crate) fn run(&self) -> Result<&Run, Problem> {
        self.built.run.as_ref().ok_or_else(|| Problem::not_found("the trace has no spans"))
    }

    /// Reserves this many times the size of the trace.
    pub(crate) fn reserve(&self, times: usize, answer: &mut Answer) -> Result<(), Problem> {
        let bytes = usize::try_from(self.row.bytes).unwrap_or(usize::MAX);
        Ok(answer.reserve(bytes.saturating_mul(times))?)
    }

    /// What is known about the run besides its content.
    pub(crate) fn around(&self) -> Around {
        Around {
            spans: self.row.spans,
            damaged: self.built.damaged.clone(),
            revision: self.row.revision,
            live: self.built.run.as_ref().is_some_and(|run| run.ended_at.is_none_or(is_recent)),
            served: true,
        }
    }
}

/// A span as received, with its log records. Only the chunks that have it are read.
#[derive(Debug)]
pub(crate) struct OneSpan {
    id: SpanId,
    span: Option<Span>,
    logs: Vec<LogRecord>,
}

impl OneSpan {
    /// Reads a span of a run's trace.
    pub(crate) fn read(web: &Web, loaded: &Loaded, id: SpanId, answer: &mut Answer) -> Result<Self, Problem> {
        let mut found = Self {
            id,
            span: None,
            logs: Vec::new(),
        };
        let finder = memchr::memmem::Finder::new(id.bytes());
        let mut places = 0;
        for (at, kind) in loaded.built.places.of_span(id) {
            let message = web.store.chunk_at(at)?.filter(|message| finder.find(message).is_some());
            // It has moved since.
            let Some(message) = message else {
                places = 0;
                break;
            };
            answer.reserve(message.len().saturating_mul(DECODED))?;
            found.add(kind, &message);
            places += 1;
        }
        if places > 0 {
            return Ok(found);
        }
        (found.span, found.logs) = (None, Vec::new());
        single::within(answer, |reserve| {
            web.store.each_chunk(loaded.row.trace_id, &mut |kind, message| {
                if finder.find(message).is_some() {
                    reserve(message.len().saturating_mul(DECODED))?;
                    found.add(kind, message);
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// Adds the span and its log records in a chunk.
    fn add(&mut self, kind: ChunkKind, message: &[u8]) {
        match kind {
            ChunkKind::Spans => {
                let spans = decode::traces(message).map(|decoded| decoded.items).unwrap_or_default();
                for span in spans.into_iter().filter(|span| span.span_id == self.id) {
                    // Of several versions, the one that ended latest is used.
                    if self.span.as_ref().is_none_or(|known| known.end <= span.end) {
                        self.span = Some(span);
                    }
                }
            }
            ChunkKind::Logs | ChunkKind::LooseLogs => {
                let logs = decode::logs(message).map(|decoded| decoded.items).unwrap_or_default();
                self.logs.extend(logs.into_iter().filter(|log| log.span_id == Some(self.id)));
            }
            ChunkKind::Metrics => {}
        }
    }

    /// The span of a step, if it has one.
    pub(crate) fn of_step(web: &Web, loaded: &Loaded, step: &Step, answer: &mut Answer) -> Result<Option<Self>, Problem> {
        step.span_id.map(|span| Self::read(web, loaded, span, answer)).transpose()
    }

    /// The span with an explanation of its attributes.
    pub(crate) fn explained(&self, web: &Web) -> Option<OfSpan<'_>> {
        let span = self.span.as_ref()?;
        let registry = web.vocabulary.registry();
        let logs: Vec<&LogRecord> = self.logs.iter().collect();
        let read = dialect::read(registry, span, &logs);
        let is_stored = |link: &Link| web.store.row(link.trace_id).is_ok_and(|row| row.is_some());
        Some(OfSpan {
            stored: span.links.iter().take(LINKS).map(is_stored).collect(),
            explained: explain(registry, span, &read.operation),
            span,
            logs,
        })
    }
}

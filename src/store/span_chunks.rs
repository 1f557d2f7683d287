//! Spans that the program makes itself, as chunks.

use std::hash::{DefaultHasher, Hasher as _};

use super::chunk::Chunk;
use super::error::Error;
use crate::hash::{HashMap, HashSet};
use crate::otlp::{encode, scan};
use crate::span::{Signal, Span, SpanId, TraceId};

/// So many spans are remembered; then they are looked for in the store again.
const REMEMBERED: usize = 200_000;

/// A chunk has spans of so many bytes, and at least one.
const CHUNK_BYTES: usize = 256 << 10;

/// The spans of a trace that are stored.
pub(crate) type StoredSpans<'s> = dyn FnMut(TraceId) -> Result<Vec<Span>, Error> + 's;

/// Makes chunks of the spans that the store does not have yet: a session that has grown adds only what is new.
#[derive(Debug)]
pub(crate) struct SpanChunks {
    session_keys: Vec<String>,
    /// What each span was the last time.
    seen: HashMap<(TraceId, SpanId), u64>,
}

impl SpanChunks {
    pub(crate) fn new(session_keys: Vec<String>) -> Self {
        Self {
            session_keys,
            seen: HashMap::default(),
        }
    }

    /// The chunks, and how many spans have none because the store has them. `stored` gives what the store has of a trace.
    ///
    /// # Errors
    ///
    /// `stored` fails.
    pub(crate) fn of(&mut self, spans: Vec<Span>, stored: &mut StoredSpans<'_>) -> Result<(Vec<Chunk>, usize), Error> {
        let count = spans.len();
        let mut traces: Vec<(TraceId, Vec<Digested>)> = Vec::new();
        let mut places: HashMap<TraceId, usize> = HashMap::default();
        for span in spans {
            let span = Digested::of(span);
            if !self.is_new(&span) {
                continue;
            }
            let trace = span.span.trace_id;
            let place = *places.entry(trace).or_insert_with(|| {
                traces.push((trace, Vec::new()));
                traces.len() - 1
            });
            if let Some((_, of_trace)) = traces.get_mut(place) {
                of_trace.push(span);
            }
        }
        let (mut chunks, mut new) = (Vec::new(), 0);
        for (trace, mut spans) in traces {
            let stored: HashSet<u64> = stored(trace)?.into_iter().map(|span| Digested::of(span).hash).collect();
            spans.retain(|span| !stored.contains(&span.hash));
            new += spans.len();
            self.cut(spans, &mut chunks)?;
        }
        Ok((chunks, count - new))
    }

    /// Forgets all: they may not be in the store.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    /// Chunks of the spans of one trace.
    fn cut(&self, spans: Vec<Digested>, chunks: &mut Vec<Chunk>) -> Result<(), Error> {
        let keys: Vec<&str> = self.session_keys.iter().map(String::as_str).collect();
        let mut spans = spans.into_iter().peekable();
        let (mut group, mut bytes) = (Vec::new(), 0);
        while let Some(span) = spans.next() {
            group.push(span.span);
            bytes += span.size;
            if spans.peek().is_some_and(|next| bytes + next.size <= CHUNK_BYTES) {
                continue;
            }
            let request = encode::traces(&std::mem::take(&mut group));
            bytes = 0;
            // Of what was encoded here, a scan refuses only the length.
            let found = scan::scan(&request, Signal::Traces, &keys).map_err(|_| Error::TooLarge { bytes: request.len() })?;
            chunks.extend(Chunk::of_request(found, request).into_iter().map(Chunk::packed));
        }
        Ok(())
    }

    fn is_new(&mut self, span: &Digested) -> bool {
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        self.seen.insert((span.span.trace_id, span.span.span_id), span.hash) != Some(span.hash)
    }
}

/// A span, with what tells whether it is the same as another, and the bytes that it takes.
struct Digested {
    span: Span,
    hash: u64,
    size: usize,
}

impl Digested {
    fn of(span: Span) -> Self {
        let bytes = encode::traces(std::slice::from_ref(&span));
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        Self {
            span,
            hash: hasher.finish(),
            size: bytes.len(),
        }
    }
}

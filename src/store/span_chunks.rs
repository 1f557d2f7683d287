//! Spans that the program makes itself, as chunks.

use std::hash::{DefaultHasher, Hasher as _};

use super::chunk::Chunk;
use crate::hash::HashMap;
use crate::otlp::{Fault, encode, scan};
use crate::span::{Signal, Span, SpanId, TraceId};

/// So many spans are remembered; then they are asked of the store again.
const REMEMBERED: usize = 200_000;

/// Makes a chunk of each span, but for those that are as they were: the same span gives the same bytes, whatever else its trace has by
/// then.
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

    /// The chunks, and how many spans have none because they are as they were.
    ///
    /// # Errors
    ///
    /// A span is none.
    pub(crate) fn of(&mut self, spans: &[Span]) -> Result<(Vec<Chunk>, usize), Fault> {
        let mut chunks = Vec::with_capacity(spans.len());
        let mut known = 0;
        for span in spans {
            let bytes = encode::traces(std::slice::from_ref(span));
            if !self.is_new(span, &bytes) {
                known += 1;
                continue;
            }
            let keys: Vec<&str> = self.session_keys.iter().map(String::as_str).collect();
            let found = scan::scan(&bytes, Signal::Traces, &keys)?;
            chunks.extend(Chunk::of_request(found, bytes).into_iter().map(Chunk::packed));
        }
        Ok((chunks, known))
    }

    /// Forgets all: they may not be in the store.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    fn is_new(&mut self, span: &Span, bytes: &[u8]) -> bool {
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        let hash = hasher.finish();
        self.seen.insert((span.trace_id, span.span_id), hash) != Some(hash)
    }
}

//! Chunks of spans that the program creates itself.

use std::hash::{DefaultHasher, Hasher as _};

use super::chunk::Chunk;
use super::error::Error;
use crate::hash::{HashMap, HashSet};
use crate::otlp::encode::{self, EncodedSpan};
use crate::otlp::scan;
use crate::span::{Signal, Span, SpanId, TraceId};

/// Maximum number of remembered spans; beyond that, they are looked up in the store again.
const MAX_REMEMBERED: usize = 200_000;

/// Maximum bytes of spans in a chunk, which has at least one span.
const MAX_CHUNK_BYTES: usize = 256 << 10;

/// Returns the digests of a trace's stored spans.
pub(crate) type StoredSpans<'s> = dyn FnMut(TraceId) -> Result<HashSet<u64>, Error> + 's;

/// Builds chunks of the spans that the store lacks: a session that has grown adds only its new spans.
#[derive(Debug)]
pub(crate) struct SpanChunks {
    session_keys: Vec<String>,
    /// The last digest of each span, if the same spans are passed repeatedly.
    seen: Option<HashMap<(TraceId, SpanId), u64>>,
}

impl SpanChunks {
    pub(crate) fn new(session_keys: &[String]) -> Self {
        Self {
            session_keys: session_keys.to_vec(),
            seen: None,
        }
    }

    /// Remembers the spans passed before instead of looking them up in the store.
    pub(crate) fn that_remembers(session_keys: &[String]) -> Self {
        Self {
            seen: Some(HashMap::default()),
            ..Self::new(session_keys)
        }
    }

    /// Returns the chunks, and the number of spans left out because the store has them. `stored` returns the digests of a
    /// trace's stored spans.
    ///
    /// # Errors
    ///
    /// `stored` fails.
    pub(crate) fn of(&mut self, spans: Vec<Span>, stored: &mut StoredSpans<'_>) -> Result<(Vec<Chunk>, usize), Error> {
        let count = spans.len();
        let mut traces: Vec<(TraceId, Vec<EncodedSpan>)> = Vec::new();
        let mut places: HashMap<TraceId, usize> = HashMap::default();
        for span in spans {
            let encoded = EncodedSpan::of(&span);
            if !self.is_new(&span, &encoded) {
                continue;
            }
            let place = *places.entry(span.trace_id).or_insert_with(|| {
                traces.push((span.trace_id, Vec::new()));
                traces.len() - 1
            });
            if let Some((_, of_trace)) = traces.get_mut(place) {
                of_trace.push(encoded);
            }
        }
        let (mut chunks, mut new) = (Vec::new(), 0);
        for (trace, mut spans) in traces {
            let stored = stored(trace)?;
            spans.retain(|span| stored.is_empty() || !stored.contains(&digest(span)));
            new += spans.len();
            self.cut(spans, &mut chunks)?;
        }
        Ok((chunks, count - new))
    }

    /// Forgets all spans: they may not have been stored.
    pub(crate) fn forget(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.clear();
        }
    }

    /// Divides the spans of one trace into chunks.
    fn cut(&self, spans: Vec<EncodedSpan>, chunks: &mut Vec<Chunk>) -> Result<(), Error> {
        let keys: Vec<&str> = self.session_keys.iter().map(String::as_str).collect();
        let mut spans = spans.into_iter().peekable();
        let (mut group, mut bytes) = (Vec::new(), 0);
        while let Some(span) = spans.next() {
            bytes += span.size();
            group.push(span);
            if spans.peek().is_some_and(|next| bytes + next.size() <= MAX_CHUNK_BYTES) {
                continue;
            }
            let request = encode::traces_of_encoded(&std::mem::take(&mut group));
            bytes = 0;
            // For a message encoded here, a scan can only fail because of its length.
            let found = scan::scan(&request, Signal::Traces, &keys).map_err(|_| Error::TooLarge { bytes: request.len() })?;
            chunks.extend(Chunk::of_request(found, request).into_iter().map(Chunk::packed));
        }
        Ok(())
    }

    fn is_new(&mut self, span: &Span, encoded: &EncodedSpan) -> bool {
        let Some(seen) = &mut self.seen else { return true };
        if seen.len() >= MAX_REMEMBERED {
            seen.clear();
        }
        let digest = digest(encoded);
        seen.insert((span.trace_id, span.span_id), digest) != Some(digest)
    }
}

/// The digests by which [`SpanChunks`] recognises spans.
pub(crate) fn digests(spans: &[Span]) -> HashSet<u64> {
    spans.iter().map(|span| digest(&EncodedSpan::of(span))).collect()
}

/// A digest of a span with its resource and scope.
fn digest(span: &EncodedSpan) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&encode::traces_of_encoded(std::slice::from_ref(span)));
    hasher.finish()
}

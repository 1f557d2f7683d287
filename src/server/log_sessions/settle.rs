//! Decides what to store for a session with log records: spans built from them, or marks that other spans are the run.

use std::collections::{HashMap, HashSet};

use crate::documents::Vocabulary;
use crate::otlp::decode;
use crate::sessions::{is_mark, is_of_session, join, logs, replaced};
use crate::span::{LOGS_SCOPE, LogRecord, Span, TraceId, UnixNanos};
use crate::store::{self, ChunkKind, EachChunk, Filter, Read};
use crate::web::cost::{self, Purpose};

/// Where the spans of a trace come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Built from log records.
    Logs,
    /// Exported in pieces.
    Pieces,
    /// Exported, or read from a file.
    Other,
}

/// Maximum number of remembered traces.
const MAX_REMEMBERED: usize = 10_000;

/// Maximum memory for a session's log records and exported pieces together; larger sessions are not read.
pub(super) const MAX_SESSION_BYTES: usize = 512 << 20;

/// Settles the sessions of one store.
#[derive(Debug)]
pub(crate) struct Settling {
    vocabulary: Vocabulary,
    /// The origin of a trace at a revision.
    origins: HashMap<TraceId, (u64, Origin)>,
}

/// A trace of a session.
struct SessionTrace {
    trace: TraceId,
    origin: Origin,
    start: u64,
}

impl Settling {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        Self {
            vocabulary: vocabulary.clone(),
            origins: HashMap::new(),
        }
    }

    /// The attribute keys that name a session.
    pub(super) fn session_keys(&self) -> &[String] {
        self.vocabulary.session_keys()
    }

    /// The spans to store for a session's log records. `has_traces`: some of them name a trace. `may` is called for each
    /// message before it is read.
    pub(crate) fn spans(
        &mut self,
        store: &dyn Read,
        session: &str,
        has_traces: bool,
        may: &mut EachChunk<'_>,
    ) -> Result<Vec<Span>, store::Error> {
        let found = self.found(store, session)?;
        let mut records: Vec<LogRecord> = store.read_session_logs(session, may)?;
        let mut alone = logs::of_records(&records, &HashSet::new()).alone;
        alone.extend(logs::of_call_events(&mut records, &[]));
        let own: HashSet<TraceId> = alone.iter().map(|span| span.trace_id).collect();
        let others = || found.iter().filter(|found| !own.contains(&found.trace));
        let has = |origin: Origin| others().any(|found| found.origin == origin);
        if has(Origin::Other) || has_traces && !has(Origin::Pieces) {
            // Spans built from records before others arrived are marked as evidence, and so are pieces if there is a file.
            return Ok(marks(found.iter().filter(|found| found.origin != Origin::Other), session));
        }
        if has(Origin::Pieces) {
            let (mut exported, mut of_pieces) = (Vec::new(), Vec::new());
            for piece in others().filter(|found| found.origin == Origin::Pieces) {
                let stored = store.read_trace_while(piece.trace, may)?.unwrap_or_default();
                exported.extend(stored.spans.into_iter().filter(|span| !is_mark(span)));
                of_pieces.extend(stored.logs);
            }
            records.extend(of_pieces.iter().cloned());
            let mut whole = logs::of_records(&records, &HashSet::from([session.to_owned()])).whole;
            let Some(whole) = whole.remove(session) else {
                return Ok(Vec::new());
            };
            let runs = self.vocabulary.runs(exported, of_pieces);
            let mut joined = join(whole, &runs, self.vocabulary.registry());
            let replaced = others().filter(|found| joined.traces.contains(&found.trace));
            joined.spans.extend(marks(replaced, session));
            return Ok(joined.spans);
        }
        // A sub-agent or call whose turn was not known earlier has moved into it.
        let moved = marks(others(), session);
        Ok(alone.into_iter().chain(moved).collect())
    }

    /// Marks for spans built from log records or sent in pieces, if the session has other spans.
    pub(crate) fn marks(&mut self, store: &dyn Read, session: &str) -> Result<Vec<Span>, store::Error> {
        let found = self.found(store, session)?;
        if !found.iter().any(|found| found.origin == Origin::Other) {
            return Ok(Vec::new());
        }
        Ok(marks(found.iter().filter(|found| found.origin != Origin::Other), session))
    }

    /// Whether a session has spans that are neither built from log records nor pieces.
    pub(crate) fn has_others(&mut self, store: &dyn Read, session: &str) -> Result<bool, store::Error> {
        let found = self.found(store, session)?;
        Ok(found.iter().any(|found| found.origin == Origin::Other))
    }

    fn found(&mut self, store: &dyn Read, session: &str) -> Result<Vec<SessionTrace>, store::Error> {
        let filter = Filter {
            session: Some(session.to_owned()),
            ..Filter::default()
        };
        let mut list = Vec::new();
        for row in store.list(&filter)? {
            let known = self.origins.get(&row.trace_id).filter(|(revision, _)| *revision == row.revision);
            let origin = match known {
                Some((_, origin)) => *origin,
                None => {
                    let origin = origin_of(store, row.trace_id)?;
                    if self.origins.len() >= MAX_REMEMBERED {
                        self.origins.clear();
                    }
                    self.origins.insert(row.trace_id, (row.revision, origin));
                    origin
                }
            };
            list.push(SessionTrace {
                trace: row.trace_id,
                origin,
                start: row.start,
            });
        }
        Ok(list)
    }
}

/// The spans of calls recorded only in a trace's log records; none if the trace has spans.
pub(super) fn calls_of_trace(store: &dyn Read, trace: TraceId, may: &mut EachChunk<'_>) -> Result<Vec<Span>, store::Error> {
    let (mut records, mut has_spans) = (Vec::new(), false);
    let mut each = |kind: ChunkKind, message: &[u8]| {
        has_spans |= kind == ChunkKind::Spans;
        if !has_spans {
            may(kind, message)?;
            records.extend(decode::logs(message).map(|decoded| decoded.items).unwrap_or_default());
        }
        Ok(())
    };
    let _ = store.each_chunk(trace, &mut each)?;
    Ok(if has_spans {
        Vec::new()
    } else {
        logs::of_call_events(&mut records, &[])
    })
}

fn origin_of(store: &dyn Read, trace: TraceId) -> Result<Origin, store::Error> {
    let (mut is_other, mut has_pieces, mut is_of_logs) = (false, false, false);
    let mut each = |kind: ChunkKind, message: &[u8]| {
        if kind != ChunkKind::Spans {
            return Ok(());
        }
        is_other |= cost::of_chunk(kind, message, Purpose::Spans) > MAX_SESSION_BYTES;
        if !is_other {
            for span in decode::traces(message).map(|decoded| decoded.items).unwrap_or_default() {
                is_other |= is_of_session(&span) && !is_mark(&span);
                has_pieces |= logs::is_piece(&span);
                is_of_logs |= span.scope.name == LOGS_SCOPE;
            }
        }
        // The rest does not matter.
        if is_other { Err(store::Error::Cancelled) } else { Ok(()) }
    };
    match store.each_chunk(trace, &mut each) {
        Ok(_) | Err(store::Error::Cancelled) => {}
        Err(error) => return Err(error),
    }
    Ok(match (is_other, has_pieces, is_of_logs) {
        (true, ..) | (_, false, false) => Origin::Other,
        (_, true, _) => Origin::Pieces,
        (_, _, true) => Origin::Logs,
    })
}

/// Marks depend only on what does not change, so that they are stored once.
fn marks<'f>(found: impl Iterator<Item = &'f SessionTrace>, session: &str) -> Vec<Span> {
    found.map(|found| replaced(found.trace, session, UnixNanos(found.start))).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::otlp::{encode, scan};
    use crate::span::{Signal, json};
    use crate::store::{Append as _, Chunk, Local, OpenOptions};

    #[test]
    fn a_session_that_takes_more_than_it_may_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let store = Local::open(&OpenOptions::new(directory.path())).unwrap().store;
        let request = br#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{
            "timeUnixNano": "1795615875000000000", "eventName": "claude_code.user_prompt",
            "attributes": [
                {"key": "session.id", "value": {"stringValue": "s1"}},
                {"key": "prompt", "value": {"stringValue": "What is the weather?"}}
            ]}]}]}]}"#;
        let bytes = encode::logs(&json::logs(request).unwrap().items);
        let vocabulary = Vocabulary::built_in();
        let scanned = scan::scan(&bytes, Signal::Logs, &["session.id"]).unwrap();
        store.append(Chunk::of_request(scanned, bytes)).unwrap();
        let mut settling = Settling::new(&vocabulary);
        let refused = settling.spans(&store, "s1", false, &mut |_, _| Err(store::Error::Cancelled));
        assert!(matches!(refused, Err(store::Error::Cancelled)));
        assert!(!settling.spans(&store, "s1", false, &mut |_, _| Ok(())).unwrap().is_empty());
    }
}

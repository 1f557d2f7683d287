//! Stores sessions: the spans of their files, joined with what an exporter sent of the same sessions.

use std::cell::RefCell;
use std::sync::Arc;

use super::failure::Failure;
use crate::documents::Vocabulary;
use crate::hash::{HashMap, HashSet};
use crate::otlp::decode;
use crate::redact::Rules;
use crate::run::Run;
use crate::server::Settling;
use crate::sessions::{Found, is_of_session, join, logs, replaced};
use crate::span::{ANNOTATION_SCOPE, LOGS_SCOPE, Span, TraceId};
use crate::store::{self, ChunkKind, Filter, Order, Position, Receipt, SpanChunks, Store, digests};
use crate::web::cost::{self, Purpose};

/// The digests of the stored spans of sessions, by trace.
type SpansOfTraces = HashMap<TraceId, HashSet<u64>>;

/// A store for sessions.
pub(super) struct SessionStore {
    store: Arc<dyn Store>,
    vocabulary: Vocabulary,
    /// The redaction rules in force.
    rules: Box<dyn Fn() -> Option<Arc<Rules>> + Send>,
    chunks: RefCell<SpanChunks>,
    /// Sessions of which the store also has other traces.
    shared: RefCell<HashSet<String>>,
    /// The end of the store when this was created: earlier changes of files may be missing from it.
    resumes_at: Option<Position>,
}

/// Maximum memory for what exporters sent of a session.
const EXPORTED: usize = 1 << 30;

/// Changes this long before the end of a store may have been read but not stored.
const LAG: u64 = 600_000_000_000;

impl SessionStore {
    pub(super) fn new(store: Arc<dyn Store>, vocabulary: Vocabulary, rules: impl Fn() -> Option<Arc<Rules>> + Send + 'static) -> Self {
        Self {
            store,
            chunks: RefCell::new(SpanChunks::new(vocabulary.session_keys())),
            shared: RefCell::default(),
            vocabulary,
            rules: Box::new(rules),
            resumes_at: None,
        }
    }

    /// Continues where an earlier process ended.
    pub(super) fn resuming(mut self) -> Self {
        self.resumes_at = Some(self.store.watch_end().map(|end| *end.borrow()).unwrap_or_default());
        self
    }

    /// Whether the store may lack part of a session that changed at this time, before this was created.
    pub(super) fn is_behind(&self, found: &Found, changed: u64) -> Result<bool, Failure> {
        let Some(resumes_at) = self.resumes_at else { return Ok(false) };
        let filter = match found.session() {
            Some(session) => Filter {
                session: Some(session.to_owned()),
                ..Filter::default()
            },
            None => Filter {
                service: Some(found.client().name().to_owned()),
                order: Order::LatestArrivalFirst,
                limit: Some(1),
                ..Filter::default()
            },
        };
        let mut last = None;
        for row in self.store.list(&filter)? {
            last = last.max(self.store.chunks_of(row.trace_id)?.into_iter().map(|(at, _)| at).max());
        }
        let Some(last) = last else { return Ok(false) };
        Ok(last < self.store.position_at(changed)? || self.store.position_at(changed.saturating_add(LAG))? >= resumes_at)
    }

    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Stores the spans of a session, or only the new ones if it has grown. What an exporter sent of it stays in the store,
    /// but is replaced by the session's spans from then on.
    pub(super) fn take(&self, mut spans: Vec<Span>, total: &mut Receipt) -> Result<(), Failure> {
        let keys = self.vocabulary.session_keys();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        if let Some(rules) = (self.rules)() {
            spans = rules.redacted(spans, Vec::new()).map_err(|source| Failure::Redact { source })?.0;
        }
        let (runs, mut stored) = self.stored(&spans, &keys)?;
        if !runs.is_empty() {
            let joined = join(spans, &runs, self.vocabulary.registry());
            spans = joined.spans;
            let own: HashSet<TraceId> = spans.iter().map(|span| span.trace_id).collect();
            let others = runs
                .iter()
                .filter(|run| joined.traces.contains(&run.trace_id) && !own.contains(&run.trace_id));
            let mark = |run: &Run| Some(replaced(run.trace_id, run.session_id.as_deref()?, run.started_at));
            let marks: Vec<Span> = others.filter_map(mark).collect();
            spans.extend(marks);
        }
        let (chunks, known) = self
            .chunks
            .borrow_mut()
            .of(spans, &mut |trace| Ok(stored.remove(&trace).unwrap_or_default()))?;
        total.duplicates += known;
        if chunks.is_empty() {
            return Ok(());
        }
        let receipt = self.store.append(chunks).inspect_err(|_| self.chunks.borrow_mut().forget())?;
        total.stored += receipt.stored;
        total.duplicates += receipt.duplicates;
        total.deleted += receipt.deleted;
        Ok(())
    }

    /// Whether the store has spans from a session's file.
    pub(super) fn has_file(&self, session: &str) -> Result<bool, Failure> {
        Ok(Settling::new(&self.vocabulary).has_others(&*self.store, session)?)
    }

    /// Marks spans built from log records, if these sessions, or those stored here, have other spans by now.
    pub(super) fn settle(&self, sessions: impl IntoIterator<Item = String>) -> Result<(), Failure> {
        let mut settling = Settling::new(&self.vocabulary);
        let mut marks = Vec::new();
        let mut all = self.shared.take();
        all.extend(sessions);
        for session in all {
            marks.extend(settling.marks(&*self.store, &session)?);
        }
        let mut stored = |trace| Ok(digests(&self.store.read_trace(trace)?.unwrap_or_default().spans));
        let (chunks, _) = self.chunks.borrow_mut().of(marks, &mut stored)?;
        if !chunks.is_empty() {
            self.store.append(chunks)?;
        }
        Ok(())
    }

    /// What exporters sent of these spans' sessions, without people's judgements, and the spans stored from files.
    fn stored(&self, spans: &[Span], keys: &[&str]) -> Result<(Vec<Run>, SpansOfTraces), Failure> {
        let of = |span: &Span| keys.iter().find_map(|key| span.attributes.text(key)).map(str::to_owned);
        let sessions: HashSet<String> = spans.iter().filter_map(of).collect();
        let own: HashSet<TraceId> = spans.iter().map(|span| span.trace_id).collect();
        let mut traces = own.clone();
        for session in sessions {
            let filter = Filter {
                session: Some(session.clone()),
                ..Filter::default()
            };
            let listed: Vec<TraceId> = self.store.list(&filter)?.into_iter().map(|row| row.trace_id).collect();
            if listed.iter().any(|trace| !own.contains(trace)) {
                self.shared.borrow_mut().insert(session);
            }
            traces.extend(listed);
        }
        let is_own = |span: &Span| is_of_session(span) || span.scope.name == ANNOTATION_SCOPE;
        let (mut exported, mut records, mut of_sessions) = (Vec::new(), Vec::new(), HashMap::default());
        let mut left = EXPORTED;
        for trace in traces {
            let (mut own, mut has_others) = (HashSet::default(), false);
            self.store.each_chunk(trace, &mut |kind, message| {
                if kind == ChunkKind::Spans {
                    let spans = decode::traces(message).map(|decoded| decoded.items).unwrap_or_default();
                    let (of_session, others): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(is_own);
                    own.extend(digests(&of_session));
                    has_others |= !others.is_empty();
                }
                Ok(())
            })?;
            of_sessions.insert(trace, own);
            if !has_others {
                continue;
            }
            let mut may = |kind: ChunkKind, message: &[u8]| {
                let needed = cost::of_chunk(kind, message, Purpose::Document);
                left = left.checked_sub(needed).ok_or(store::Error::Cancelled)?;
                Ok(())
            };
            match self.store.read_trace_while(trace, &mut may) {
                Ok(stored) => {
                    let mut stored = stored.unwrap_or_default();
                    exported.extend(stored.spans.into_iter().filter(|span| !is_own(span)));
                    records.append(&mut stored.logs);
                }
                Err(store::Error::Cancelled) => {
                    tracing::warn!(%trace, "what was exported of a session is too large to be one run with its file; it stays beside it");
                }
                Err(error) => return Err(error.into()),
            }
        }
        // Next to exported pieces, spans built from log records are duplicates.
        if exported.iter().any(logs::is_piece) {
            exported.retain(|span| span.scope.name != LOGS_SCOPE);
        }
        let runs = match exported.is_empty() {
            true => Vec::new(),
            false => self.vocabulary.runs(exported, records),
        };
        Ok((runs, of_sessions))
    }
}

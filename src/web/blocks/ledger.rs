//! The traces being written to: one writer for each trace at a time, and the state it needs.
//!
//! Requests for one trace queue up; the next holder of the trace's lock takes all waiting requests, checks them in order,
//! stores the accepted ones as one chunk and answers them once that is on disk. So two requests for the same block are
//! always checked one after the other, and many writers of a trace share one sync.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::blocks::limits::Limits;
use crate::hash::HashMap;
use crate::otlp::{encode, scan};
use crate::span::{Signal, Span, TraceId, UnixNanos};
use crate::store::{self, Chunk, Read, Store, now};

use super::super::readers::Readers;
use super::super::reply::Problem;
use super::name::Name;
use super::post::Posted;
use super::state::{BlockState, NewBlocks};

/// Maximum blocks kept in memory for traces not being written to; a block takes about 300 bytes.
const MAX_IDLE_BLOCKS: usize = 200_000;

/// Maximum bytes of requests stored together.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Larger requests are checked on another thread.
const LARGE_BYTES: usize = 64 << 10;

/// The traces of one store that are written to.
#[derive(Debug)]
pub(in crate::web) struct Ledger {
    store: Arc<dyn Store>,
    limits: Limits,
    readers: Arc<Readers>,
    traces: Mutex<HashMap<TraceId, Arc<Trace>>>,
    /// Number of blocks in memory.
    blocks: AtomicUsize,
    /// Counts uses, for eviction.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Trace {
    id: TraceId,
    waiting: Mutex<Vec<Queued>>,
    /// `None`: must be read from the store.
    state: tokio::sync::Mutex<Option<BlockState>>,
    /// Number of blocks in the state.
    blocks: AtomicUsize,
    used: AtomicU64,
}

#[derive(Debug)]
struct Queued {
    name: Name,
    posted: Posted,
    answer: Asker,
}

/// Checked requests, each with its answer.
struct Checked {
    state: BlockState,
    spans: Vec<Span>,
    answered: Vec<(Queued, Outcome)>,
}

/// The result of a request.
type Outcome = Result<String, Problem>;

/// Receives the result.
type Asker = oneshot::Sender<Outcome>;

/// Requests that could not be checked or stored.
type Failed = Vec<(Asker, Problem)>;

/// How often blocks are checked again because the trace changed meanwhile: log records may arrive at any time.
const MAX_TRIES: usize = 16;

impl Ledger {
    pub(in crate::web) fn new(store: Arc<dyn Store>, limits: Limits, readers: Arc<Readers>) -> Self {
        Self {
            store,
            limits,
            readers,
            traces: Mutex::default(),
            blocks: AtomicUsize::new(0),
            clock: AtomicU64::new(0),
        }
    }

    /// Stores the blocks of a request, and answers once they are on disk. They are stored even if the client has gone.
    pub(in crate::web) async fn post(self: &Arc<Self>, name: Name, posted: Posted) -> Result<String, Problem> {
        let trace = self.trace(name.id);
        let (answer, answered) = oneshot::channel();
        trace
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Queued { name, posted, answer });
        let ledger = Arc::clone(self);
        tokio::spawn(async move { ledger.serve(&trace).await });
        answered
            .await
            .unwrap_or_else(|_| Err(Problem::internal("the blocks could not be checked")))
    }

    fn traces(&self) -> MutexGuard<'_, HashMap<TraceId, Arc<Trace>>> {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trace(&self, id: TraceId) -> Arc<Trace> {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut traces = self.traces();
        let trace = traces.entry(id).or_insert_with(|| {
            Arc::new(Trace {
                id,
                waiting: Mutex::default(),
                state: tokio::sync::Mutex::default(),
                blocks: AtomicUsize::new(0),
                used: AtomicU64::new(used),
            })
        });
        trace.used.store(used, Ordering::Relaxed);
        Arc::clone(trace)
    }

    /// Answers some of the requests waiting for a trace. Every request calls this once, so all are answered.
    async fn serve(&self, trace: &Arc<Trace>) {
        let mut state = trace.state.lock().await;
        let waiting = some_of(&mut trace.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if waiting.is_empty() {
            return;
        }
        // Put back only if storing succeeds: a state with blocks that are not stored is dropped.
        let known = state.take();
        match self.store(trace, known, waiting).await {
            Ok(Checked { state: new, answered, .. }) => {
                self.resize(trace, new.blocks);
                *state = Some(new);
                drop(state);
                for (one, outcome) in answered {
                    let _ = one.answer.send(outcome);
                }
                self.forget();
            }
            Err(failed) => {
                self.resize(trace, 0);
                for (answer, problem) in failed {
                    let _ = answer.send(Err(problem));
                }
            }
        }
    }

    /// Checks requests and stores the accepted ones; retries if the trace changed meanwhile.
    async fn store(&self, trace: &Arc<Trace>, mut known: Option<BlockState>, mut waiting: Vec<Queued>) -> Result<Checked, Failed> {
        let mut tries = 1..=MAX_TRIES;
        loop {
            let mut checked = self.check(trace, known.take(), waiting).await?;
            let error = match self.append(checked.state.revision, &checked.spans).await {
                Ok(revision) => {
                    checked.state.revision = revision;
                    return Ok(checked);
                }
                Err(error) => error,
            };
            let tried = checked.answered.into_iter().map(|(one, _)| one);
            let is_over = tries.next() == Some(MAX_TRIES) || !matches!(error, store::Error::Changed { .. });
            if is_over {
                return Err(tried.map(|one| (one.answer, Problem::not_stored(&error))).collect());
            }
            waiting = tried.collect();
        }
    }

    async fn check(&self, trace: &Arc<Trace>, known: Option<BlockState>, waiting: Vec<Queued>) -> Result<Checked, Failed> {
        let detached = known.is_none() || waiting.iter().map(|one| one.posted.bytes).sum::<usize>() > LARGE_BYTES;
        let (store, limits, trace) = (Arc::clone(&self.store), self.limits, trace.id);
        let work = move || check(&*store, &limits, trace, known, waiting);
        if detached {
            // After a panic, the waiting requests see that the channel was closed.
            self.readers.blocks.run(work).await.unwrap_or_else(|| Err(Vec::new()))
        } else {
            work()
        }
    }

    /// Stores blocks of a trace at this revision; returns the new revision.
    async fn append(&self, revision: u64, spans: &[Span]) -> Result<u64, store::Error> {
        if spans.is_empty() {
            return Ok(revision);
        }
        let message = encode::traces(spans);
        let scan = scan::scan(&message, Signal::Traces, &[]).map_err(|_| store::Error::Closed)?;
        // The spans of one trace are one chunk.
        let chunk = Chunk::of_request(scan, message).pop().ok_or(store::Error::Closed)?.packed();
        let (done, stored) = oneshot::channel();
        self.store.submit_at(
            revision,
            chunk,
            Box::new(move |result| {
                let _ = done.send(result);
            }),
        );
        stored.await.unwrap_or(Err(store::Error::Closed))
    }

    /// Drops the state of these traces.
    pub(in crate::web) fn forget_traces(&self, traces: &[TraceId]) {
        let mut known = self.traces();
        for trace_id in traces {
            if let Some(trace) = known.remove(trace_id) {
                self.blocks.fetch_sub(trace.blocks.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }

    fn resize(&self, trace: &Trace, blocks: usize) {
        let before = trace.blocks.swap(blocks, Ordering::Relaxed);
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.blocks.fetch_sub(before, Ordering::Relaxed);
    }

    /// Evicts the less recently used half of the traces not being written to, once there are many.
    fn forget(&self) {
        let mut traces = self.traces();
        let many = |blocks: usize, traces: usize| blocks.saturating_add(traces) > MAX_IDLE_BLOCKS;
        if !many(self.blocks.load(Ordering::Relaxed), traces.len()) {
            return;
        }
        let mut idle: Vec<(u64, TraceId, usize)> = traces
            .iter()
            .filter(|(_, trace)| Arc::strong_count(trace) == 1)
            .map(|(id, trace)| (trace.used.load(Ordering::Relaxed), *id, trace.blocks.load(Ordering::Relaxed)))
            .collect();
        idle.sort_unstable();
        let mut left = self.blocks.load(Ordering::Relaxed).saturating_add(traces.len());
        for (_, id, blocks) in idle {
            if left <= MAX_IDLE_BLOCKS / 2 {
                break;
            }
            traces.remove(&id);
            self.blocks.fetch_sub(blocks, Ordering::Relaxed);
            left = left.saturating_sub(blocks + 1);
        }
    }
}

/// As many waiting requests as are stored together, at least one.
fn some_of(waiting: &mut Vec<Queued>) -> Vec<Queued> {
    let mut bytes = 0;
    let count = waiting.iter().take_while(|one| {
        let first = bytes == 0;
        bytes += one.posted.bytes;
        first || bytes <= MAX_BATCH_BYTES
    });
    let count = count.count();
    waiting.drain(..count).collect()
}

/// Checks requests in order.
fn check(store: &dyn Read, limits: &Limits, trace: TraceId, known: Option<BlockState>, waiting: Vec<Queued>) -> Result<Checked, Failed> {
    let state = known.map_or_else(|| BlockState::load(store, trace), Ok);
    let mut state = match state {
        Ok(state) => state,
        Err(error) => {
            let failed = waiting.into_iter().map(|one| (one.answer, Problem::from(error.clone())));
            return Err(failed.collect());
        }
    };
    let mut spans = Vec::new();
    let mut answered = Vec::with_capacity(waiting.len());
    for one in waiting {
        let made = state.accept(&one.name, &one.posted, UnixNanos(now()), limits);
        let outcome = made.map(|NewBlocks { spans: new, answer }| {
            spans.extend(new);
            answer
        });
        answered.push((one, outcome));
    }
    Ok(Checked { state, spans, answered })
}

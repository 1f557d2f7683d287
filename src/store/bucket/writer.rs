//! The writer of a database. One task takes what waits, leaves out what is there already, and writes the rest as one batch; another
//! answers once batches are durable, in their order. The engine writes what came within its flush interval as one object.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prost::Message as _;
use slatedb::bytes::Bytes;
use slatedb::{CloseReason, Db, ErrorKind, WriteHandle};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::batch::Batch;
use super::deletions::Deletions;
use super::failed::failed;
use super::prepare::Prepared;
use super::records::{Counter, Head};
use super::runtime;
use super::views::{is_over, now_millis};
use crate::store::chunk::{Chunk, ChunkKind};
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::{Done, Receipt};

/// So many requests are written as one batch at most.
const TOGETHER: usize = 256;

/// So many keys are looked up one after the other before others are looked up beside them.
const IN_A_ROW: usize = 32;

/// A request that is not durable after this long is answered with an error. It may be stored nevertheless; sent again, it is a replay.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Chunks that wait to be written, and who wants to know.
struct Job {
    chunks: Vec<Prepared>,
    asker: Asker,
}

/// Who wants to know what became of chunks.
struct Asker {
    /// What the chunks take in memory.
    bytes: usize,
    until: Instant,
    done: Done<Receipt>,
}

/// What waits to be durable.
struct Written {
    askers: Vec<(Asker, Receipt)>,
    /// `None`: all of it was there already, and so was all before it.
    handle: Option<WriteHandle>,
    end: Position,
    bytes: u64,
    at: Instant,
}

/// Batches that became durable.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) batches: AtomicU64,
    /// All together, from when they were written.
    pub(super) milliseconds: AtomicU64,
}

/// What others see of a writer.
#[derive(Debug)]
pub(super) struct State {
    id: String,
    end: watch::Sender<Position>,
    /// Bytes of chunks that are not durable yet.
    waiting: AtomicUsize,
    /// Bytes of messages that were appended.
    appended: AtomicU64,
    /// Bytes of all messages of the database.
    stored: AtomicU64,
    /// Whether something waits longer than anyone does.
    slow: AtomicBool,
    acknowledged: Acknowledged,
    failure: Mutex<Option<Error>>,
}

/// How a writer writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// The level of zstd for messages.
    pub(super) level: Option<i32>,
    /// How long what is written is kept.
    pub(super) ttl: Option<Duration>,
    /// So many bytes wait to be durable at most.
    pub(super) in_flight_bytes: usize,
}

/// Writes to a database.
pub(super) struct Writer {
    pub(super) db: Db,
    pub(super) how: How,
    state: Arc<State>,
    jobs: Mutex<Option<mpsc::UnboundedSender<Job>>>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
    pub(super) deletions: Arc<Deletions>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("state", &self.state).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the chunk with this number is in the order of arrival.
pub(super) fn position(number: u64) -> Position {
    Position {
        segment: 1,
        offset: number,
    }
}

impl State {
    /// What an error of the engine means.
    pub(super) fn failed(&self, doing: &'static str, error: slatedb::Error) -> Error {
        if error.kind() == ErrorKind::Closed(CloseReason::Fenced) {
            return self.fenced();
        }
        failed(doing, &self.id)(error)
    }

    fn fenced(&self) -> Error {
        let fenced = Error::Fenced { writer: self.id.clone() };
        *lock(&self.failure) = Some(fenced.clone());
        fenced
    }

    /// Why it takes nothing more.
    pub(super) fn failure(&self) -> Option<Error> {
        lock(&self.failure).clone()
    }
}

impl Writer {
    /// Starts the tasks of a writer whose database is open.
    pub(super) fn start(id: &str, db: Db, counter: Counter, (how, deletions): (How, Arc<Deletions>)) -> Result<Self, Error> {
        let state = Arc::new(State {
            id: id.to_owned(),
            end: watch::Sender::new(position(counter.next)),
            waiting: AtomicUsize::new(0),
            appended: AtomicU64::new(0),
            stored: AtomicU64::new(counter.bytes),
            slow: AtomicBool::new(false),
            acknowledged: Acknowledged::default(),
            failure: Mutex::default(),
        });
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (written, durable) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let handle = runtime::handle()?;
        let writing = Writing {
            db: db.clone(),
            state: Arc::clone(&state),
            counter,
            ttl: how.ttl,
            written,
            deletions: Arc::clone(&deletions),
        };
        handle.spawn(writing.run(waiting));
        handle.spawn(answer(Arc::clone(&state), durable, end));
        handle.spawn(watch_for_others(Arc::clone(&state), db.subscribe()));
        Ok(Self {
            db,
            how,
            state,
            jobs: Mutex::new(Some(jobs)),
            ended: Mutex::new(Some(ended)),
            deletions,
        })
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn end(&self) -> watch::Receiver<Position> {
        self.state.end.subscribe()
    }

    pub(super) fn appended(&self) -> u64 {
        self.state.appended.load(Ordering::Relaxed)
    }

    /// Bytes of all messages of the database.
    pub(super) fn stored(&self) -> u64 {
        self.state.stored.load(Ordering::Relaxed)
    }

    /// Bytes that are not durable yet.
    pub(super) fn waiting(&self) -> u64 {
        self.state.waiting.load(Ordering::Relaxed) as u64
    }

    pub(super) fn acknowledged(&self) -> &Acknowledged {
        &self.state.acknowledged
    }

    /// Whether it takes chunks now.
    pub(super) fn ready(&self) -> Result<(), Error> {
        match self.state.failure() {
            Some(failure) => Err(failure),
            None if self.is_closed() => Err(Error::Closed),
            None if self.state.slow.load(Ordering::Relaxed) => Err(Error::Slow),
            None => Ok(()),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.jobs).is_none()
    }

    pub(super) fn id(&self) -> &str {
        &self.state.id
    }

    /// Compresses chunks and writes them. `done` is called once they are durable.
    pub(super) fn submit(&self, chunks: Vec<Chunk>, done: Done<Receipt>) {
        let bytes = chunks.iter().map(Chunk::own_length).sum::<usize>();
        let Some(sender) = lock(&self.jobs).clone() else {
            return done(Err(Error::Closed));
        };
        let handle = match self.room_for(bytes).and_then(|()| runtime::handle()) {
            Ok(handle) => handle,
            Err(error) => return done(Err(error)),
        };
        let (level, state) = (self.how.level, Arc::clone(&self.state));
        let until = Instant::now() + PATIENCE;
        handle.spawn_blocking(move || {
            let chunks = chunks.iter().map(|chunk| Prepared::of(chunk, level)).collect();
            let asker = Asker { bytes, until, done };
            send(&sender, &state, Job { chunks, asker });
        });
    }

    /// Writes a chunk that is ready, and waits until it is durable.
    pub(super) async fn put(&self, chunk: Prepared) -> Result<Receipt, Error> {
        let Some(sender) = lock(&self.jobs).clone() else {
            return Err(Error::Closed);
        };
        let bytes = chunk.packed.len();
        self.room_for(bytes)?;
        let (answer, answered) = oneshot::channel();
        let asker = Asker {
            bytes,
            until: Instant::now() + PATIENCE,
            done: Box::new(move |result| {
                let _ = answer.send(result);
            }),
        };
        let chunks = vec![chunk];
        send(&sender, &self.state, Job { chunks, asker });
        answered.await.unwrap_or(Err(Error::Closed))
    }

    /// Counts bytes that wait, unless they are too many. A request that comes alone is always taken.
    fn room_for(&self, bytes: usize) -> Result<(), Error> {
        if let Some(failure) = self.state.failure() {
            return Err(failure);
        }
        let before = self.state.waiting.fetch_add(bytes, Ordering::AcqRel);
        if before > 0 && before.saturating_add(bytes) > self.how.in_flight_bytes {
            self.state.waiting.fetch_sub(bytes, Ordering::AcqRel);
            return Err(Error::Slow);
        }
        Ok(())
    }

    /// Takes nothing more, and waits until what waits is durable.
    pub(super) fn close(&self) {
        drop(lock(&self.jobs).take());
        let ended = lock(&self.ended).take();
        if let Some(ended) = ended {
            let _ = runtime::wait(async move {
                let _ = ended.await;
                Ok(())
            });
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let db = self.db.clone();
        // Everything acknowledged is durable; closing only spares the next start some work.
        if let Ok(handle) = runtime::handle() {
            handle.spawn(async move {
                let _ = db.close().await;
            });
        }
    }
}

fn send(sender: &mpsc::UnboundedSender<Job>, state: &State, job: Job) {
    if let Err(refused) = sender.send(job) {
        let Asker { bytes, done, .. } = refused.0.asker;
        state.waiting.fetch_sub(bytes, Ordering::AcqRel);
        done(Err(Error::Closed));
    }
}

/// The task that writes.
struct Writing {
    db: Db,
    state: Arc<State>,
    counter: Counter,
    ttl: Option<Duration>,
    written: mpsc::UnboundedSender<Written>,
    deletions: Arc<Deletions>,
}

impl Writing {
    async fn run(mut self, mut waiting: mpsc::UnboundedReceiver<Job>) {
        // What nothing is added to is durable once the batch before it is.
        let mut last = None;
        let mut jobs = Vec::new();
        while waiting.recv_many(&mut jobs, TOGETHER).await > 0 {
            let (chunks, askers): (Vec<_>, Vec<_>) = jobs.drain(..).map(|job| (job.chunks, job.asker)).unzip();
            match self.commit(&chunks).await {
                Ok((handle, receipts, bytes)) => {
                    last = handle.or(last);
                    let written = Written {
                        askers: askers.into_iter().zip(receipts).collect(),
                        handle: last.clone(),
                        end: position(self.counter.next),
                        bytes,
                        at: Instant::now(),
                    };
                    let _ = self.written.send(written);
                }
                Err(error) => {
                    for asker in askers {
                        self.state.waiting.fetch_sub(asker.bytes, Ordering::AcqRel);
                        (asker.done)(Err(error.clone()));
                    }
                }
            }
        }
    }

    /// Gives a receipt for each request.
    async fn commit(&mut self, requests: &[Vec<Prepared>]) -> Result<(Option<WriteHandle>, Vec<Receipt>, u64), Error> {
        // What is deleted meanwhile was written before, and is found, or comes later, and is left out.
        let deletions = Arc::clone(&self.deletions);
        let _writing = deletions.writing.lock().await;
        let mut known = self.known(requests).await.map_err(|error| self.state.failed("read", error))?;
        let mut counter = self.counter.clone();
        counter.last = counter.last.max(now());
        let mut batch = Batch::new(self.ttl);
        let mut receipts = Vec::with_capacity(requests.len());
        for chunks in requests {
            let mut receipt = Receipt::default();
            for chunk in chunks {
                let items = usize::try_from(chunk.head.items).unwrap_or(usize::MAX);
                if chunk.owner.trace_id().is_some_and(|trace_id| deletions.has(trace_id)) {
                    receipt.deleted += items;
                    continue;
                }
                let key = chunk.owner.head(&chunk.digest);
                match known.get_mut(&key).filter(|_| chunk.kind != ChunkKind::Metrics) {
                    Some(head) => {
                        receipt.duplicates += items;
                        batch.claim(&key, head, &chunk.head.claims);
                    }
                    None => {
                        receipt.stored += items;
                        let head = batch.add(chunk, &mut counter);
                        known.insert(key, head);
                    }
                }
            }
            receipts.push(receipt);
        }
        if batch.is_empty() {
            return Ok((None, receipts, 0));
        }
        let bytes = counter.bytes - self.counter.bytes;
        let batch = batch.with(&counter);
        let handle = self.db.write(batch).await.map_err(|error| self.state.failed("write", error))?;
        self.counter = counter;
        Ok((Some(handle), receipts, bytes))
    }

    /// The heads of chunks that are there already.
    async fn known(&self, requests: &[Vec<Prepared>]) -> Result<HashMap<Bytes, Head>, slatedb::Error> {
        let chunks = requests.iter().flatten().filter(|chunk| chunk.kind != ChunkKind::Metrics);
        let keys: Vec<Bytes> = chunks.map(|chunk| chunk.owner.head(&chunk.digest)).collect();
        if keys.len() <= IN_A_ROW {
            return look_up(self.db.clone(), keys).await;
        }
        let mut tasks = tokio::task::JoinSet::new();
        for some in keys.chunks(IN_A_ROW) {
            tasks.spawn(look_up(self.db.clone(), some.to_vec()));
        }
        let mut known = HashMap::new();
        while let Some(found) = tasks.join_next().await {
            known.extend(found.unwrap_or_else(|_| Ok(HashMap::new()))?);
        }
        Ok(known)
    }
}

async fn look_up(db: Db, keys: Vec<Bytes>) -> Result<HashMap<Bytes, Head>, slatedb::Error> {
    let mut known = HashMap::new();
    for key in keys {
        let found = db.get_key_value(&key).await?.filter(|entry| !is_over(entry, now_millis()));
        if let Some(entry) = found {
            known.insert(key, Head::decode(entry.value).unwrap_or_default());
        }
    }
    Ok(known)
}

/// Answers once batches are durable.
async fn answer(state: Arc<State>, mut durable: mpsc::UnboundedReceiver<Written>, end: oneshot::Sender<()>) {
    while let Some(written) = durable.recv().await {
        let Written {
            mut askers,
            handle,
            end,
            bytes,
            at,
        } = written;
        let until = askers.iter().map(|(asker, _)| asker.until).min().unwrap_or_else(Instant::now);
        let held = askers.iter().map(|(asker, _)| asker.bytes).sum::<usize>();
        let result = match &handle {
            None => Ok(()),
            Some(handle) => match timeout_at(until, handle.await_durable()).await {
                Ok(result) => result,
                Err(_) => {
                    state.slow.store(true, Ordering::Relaxed);
                    tell(&mut askers, &Err(Error::Slow));
                    handle.await_durable().await
                }
            },
        };
        state.waiting.fetch_sub(held, Ordering::AcqRel);
        let result = result.map_err(|error| state.failed("write", error));
        if result.is_ok() {
            state.appended.fetch_add(bytes, Ordering::Relaxed);
            state.stored.fetch_add(bytes, Ordering::Relaxed);
            state.slow.store(false, Ordering::Relaxed);
            let took = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
            state.acknowledged.batches.fetch_add(1, Ordering::Relaxed);
            state.acknowledged.milliseconds.fetch_add(took, Ordering::Relaxed);
            state.end.send_if_modified(|now| std::mem::replace(now, end) != end);
        }
        tell(&mut askers, &result);
    }
    let _ = end.send(());
}

fn tell(askers: &mut Vec<(Asker, Receipt)>, result: &Result<(), Error>) {
    for (asker, receipt) in askers.drain(..) {
        (asker.done)(result.clone().map(|()| receipt));
    }
}

/// Notices another process with the same id also where nothing is written.
async fn watch_for_others(state: Arc<State>, mut status: watch::Receiver<slatedb::DbStatus>) {
    let closed = status.wait_for(|status| status.close_reason.is_some()).await;
    if closed.is_ok_and(|status| status.close_reason == Some(CloseReason::Fenced)) {
        tracing::error!(
            writer = state.id,
            "another process writes to the bucket as this writer; this one stores nothing more"
        );
        state.fenced();
    }
}

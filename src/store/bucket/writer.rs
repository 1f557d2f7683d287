//! The writer of a database. One task takes what waits, leaves out what is there already, and writes the rest as one batch; another
//! answers once batches are durable, in their order. The engine writes what came within its flush interval as one object.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slatedb::Db;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::deletions::Deletions;
use super::on_cores::OnCores;
use super::ownership::Ownership;
use super::prepare::Prepared;
use super::recent::Recent;
use super::records::Counter;
use super::runtime;
use super::writer_state::{Acknowledged, Asker, Job, State, lock, position};
use super::writing::{Writing, answer, watch_for_others};
use crate::store::chunk::Chunk;
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::{OnAppended, Receipt};

/// A request that is not durable after this long is answered with an error. It may be stored nevertheless; sent again, it is a replay.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Nobody waits so long.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

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
    on_cores: OnCores,
    pub(super) deletions: Arc<Deletions>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the tasks of a writer whose database is open.
    pub(super) fn start(
        ownership: Ownership,
        id: &str,
        db: Db,
        counter: Counter,
        (how, deletions): (How, Arc<Deletions>),
    ) -> Result<Self, Error> {
        let state = Arc::new(State {
            id: id.to_owned(),
            end: watch::Sender::new(position(counter.next)),
            waiting: AtomicUsize::new(0),
            appended: AtomicU64::new(0),
            posted: AtomicU64::new(0),
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
            recent: Recent::new(now()),
        };
        handle.spawn(writing.run(waiting));
        handle.spawn(answer(Arc::clone(&state), ownership, durable, end));
        handle.spawn(watch_for_others(Arc::clone(&state), db.subscribe()));
        Ok(Self {
            db,
            how,
            state,
            jobs: Mutex::new(Some(jobs)),
            ended: Mutex::new(Some(ended)),
            on_cores: OnCores::default(),
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
    pub(super) fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
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
        self.on_cores.run(&handle, move || {
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
        let (length, chunks) = (chunk.head.bytes, vec![chunk]);
        send(&sender, &self.state, Job { chunks, asker });
        let receipt = answered.await.unwrap_or(Err(Error::Closed))?;
        if receipt.stored > 0 {
            self.state.posted.fetch_add(length, Ordering::Relaxed);
        }
        Ok(receipt)
    }

    /// Writes chunks that are in the own log. Nobody waits for an answer, so none of them is late.
    pub(super) fn upload(&self, chunks: Vec<Prepared>) -> oneshot::Receiver<Result<Receipt, Error>> {
        let (answer, answered) = oneshot::channel();
        let bytes = chunks.iter().map(|chunk| chunk.packed.len()).sum();
        let asker = Asker {
            bytes,
            until: Instant::now() + NEVER,
            done: Box::new(move |result| {
                let _ = answer.send(result);
            }),
        };
        if let Some(sender) = lock(&self.jobs).clone() {
            self.state.waiting.fetch_add(bytes, Ordering::AcqRel);
            send(&sender, &self.state, Job { chunks, asker });
        }
        answered
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

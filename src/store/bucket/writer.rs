//! The writer of a database. One task takes the waiting requests, leaves out stored chunks, and writes the rest as one batch;
//! another answers, in order, once batches are durable. The engine writes what arrives within its flush interval as one object.

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
use super::writer_state::{Acknowledged, Asker, Job, WriterState, lock, position};
use super::writing::{Writing, answer, watch_for_others};
use crate::store::chunk::Chunk;
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::{OnAppended, Receipt};

/// A request that is not durable after this long is answered with an error. It may still get stored; sent again, it is a repeat.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Stands for no timeout.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Settings of a writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriterSettings {
    /// The level of zstd for messages.
    pub(super) level: Option<i32>,
    /// WriterSettings long entries are kept.
    pub(super) ttl: Option<Duration>,
    /// Maximum bytes that may wait to be durable.
    pub(super) in_flight_bytes: usize,
}

pub(super) struct Writer {
    pub(super) db: Db,
    pub(super) how: WriterSettings,
    state: Arc<WriterState>,
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
    /// Starts the tasks of a writer on an open database.
    pub(super) fn start(
        ownership: Ownership,
        id: &str,
        db: Db,
        counter: Counter,
        (how, deletions): (WriterSettings, Arc<Deletions>),
    ) -> Result<Self, Error> {
        let state = Arc::new(WriterState {
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

    pub(super) fn state(&self) -> &WriterState {
        &self.state
    }

    pub(super) fn end(&self) -> watch::Receiver<Position> {
        self.state.end.subscribe()
    }

    pub(super) fn appended(&self) -> u64 {
        self.state.appended.load(Ordering::Relaxed)
    }

    /// Total size of the messages in the database.
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

    /// Whether it accepts chunks now.
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
        let until = Instant::now() + ANSWER_TIMEOUT;
        self.on_cores.run(&handle, move || {
            let chunks = chunks.iter().map(|chunk| Prepared::of(chunk, level)).collect();
            let asker = Asker { bytes, until, done };
            send(&sender, &state, Job { chunks, asker });
        });
    }

    /// Writes a prepared chunk, and waits until it is durable.
    pub(super) async fn put(&self, chunk: Prepared) -> Result<Receipt, Error> {
        let Some(sender) = lock(&self.jobs).clone() else {
            return Err(Error::Closed);
        };
        let bytes = chunk.packed.len();
        self.room_for(bytes)?;
        let (answer, answered) = oneshot::channel();
        let asker = Asker {
            bytes,
            until: Instant::now() + ANSWER_TIMEOUT,
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

    /// Writes chunks from the spool. No client waits for the result, so there is no timeout.
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

    /// Counts the bytes as waiting, unless there would be too many. A request is always accepted if nothing else waits.
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

    /// Accepts nothing more, and waits until everything is durable.
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
        // Everything acknowledged is durable; closing the database only saves the next start some work.
        if let Ok(handle) = runtime::handle() {
            handle.spawn(async move {
                let _ = db.close().await;
            });
        }
    }
}

fn send(sender: &mpsc::UnboundedSender<Job>, state: &WriterState, job: Job) {
    if let Err(refused) = sender.send(job) {
        let Asker { bytes, done, .. } = refused.0.asker;
        state.waiting.fetch_sub(bytes, Ordering::AcqRel);
        done(Err(Error::Closed));
    }
}

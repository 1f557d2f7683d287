//! The tasks of a writer: one writes, one answers once batches are durable, one watches for another process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message as _;
use slatedb::bytes::Bytes;
use slatedb::{CloseReason, Db, WriteHandle};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::batch::Batch;
use super::deletions::Deletions;
use super::entry::{Entry, now_millis};
use super::ownership::Ownership;
use super::prepare::Prepared;
use super::recent::Recent;
use super::records::{Counter, Head};
use super::writer_state::{Asker, Job, WriterState, position};
use crate::store::chunk::ChunkKind;
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::log::Position;
use crate::store::traits::Receipt;

/// Maximum requests in one batch.
const MAX_BATCH_REQUESTS: usize = 256;

/// Keys looked up one after the other by one task; more keys are looked up by further tasks.
const LOOKUPS_PER_TASK: usize = 32;

/// A batch that is not durable yet.
pub(super) struct PendingBatch {
    askers: Vec<(Asker, Receipt)>,
    /// `None`: this batch and all before it were stored already.
    handle: Option<WriteHandle>,
    end: Position,
    bytes: u64,
    at: Instant,
    /// A time just before the write, nanoseconds since 1970; `None`: nothing was written.
    written: Option<u64>,
}

/// The task that writes.
pub(super) struct Writing {
    pub(super) db: Db,
    pub(super) state: Arc<WriterState>,
    pub(super) counter: Counter,
    pub(super) ttl: Option<Duration>,
    pub(super) written: mpsc::UnboundedSender<PendingBatch>,
    pub(super) deletions: Arc<Deletions>,
    pub(super) recent: Recent,
}

impl Writing {
    pub(super) async fn run(mut self, mut waiting: mpsc::UnboundedReceiver<Job>) {
        // A batch that adds nothing is durable once the one before it is.
        let mut last = None;
        let mut jobs = Vec::new();
        while waiting.recv_many(&mut jobs, MAX_BATCH_REQUESTS).await > 0 {
            let time = now();
            let (chunks, askers): (Vec<_>, Vec<_>) = jobs.drain(..).map(|job| (job.chunks, job.asker)).unzip();
            match self.commit(&chunks).await {
                Ok((handle, receipts, bytes)) => {
                    let written = handle.as_ref().map(|_| time);
                    last = handle.or(last);
                    let written = PendingBatch {
                        askers: askers.into_iter().zip(receipts).collect(),
                        handle: last.clone(),
                        end: position(self.counter.next),
                        bytes,
                        at: Instant::now(),
                        written,
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

    /// Writes the new chunks; returns a receipt for each request.
    async fn commit(&mut self, requests: &[Vec<Prepared>]) -> Result<(Option<WriteHandle>, Vec<Receipt>, u64), Error> {
        // With the lock held, a deletion either finds a chunk because it is written, or the chunk is left out here.
        let deletions = Arc::clone(&self.deletions);
        let _writing = deletions.writing.lock().await;
        let mut known = self.known(requests).await.map_err(|error| self.state.failed("read", error))?;
        let mut counter = self.counter.clone();
        let now = now();
        let mut batch = Batch::new(self.ttl);
        let mut receipts = Vec::with_capacity(requests.len());
        for chunks in requests {
            let mut receipt = Receipt::default();
            for chunk in chunks {
                let items = usize::try_from(chunk.head.items).unwrap_or(usize::MAX);
                let session = chunk.owner.session_name();
                if chunk.owner.trace_id().is_some_and(|trace_id| deletions.has(trace_id))
                    // It waited in the spool while its session was deleted.
                    || session.is_some_and(|session| chunk.head.arrival > 0 && deletions.has_loose(session, chunk.head.arrival))
                {
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
                        let head = batch.add(chunk, now, &mut counter);
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

    /// The heads of chunks that are stored already.
    async fn known(&mut self, requests: &[Vec<Prepared>]) -> Result<HashMap<Bytes, Head>, slatedb::Error> {
        let now = now();
        let chunks = requests.iter().flatten().filter(|chunk| chunk.kind != ChunkKind::Metrics);
        let chunks = chunks.filter(|chunk| self.recent.may_be_there(chunk, now));
        let keys: Vec<Bytes> = chunks.map(|chunk| chunk.owner.head(&chunk.digest)).collect();
        if keys.len() <= LOOKUPS_PER_TASK {
            return look_up(self.db.clone(), keys).await;
        }
        let mut tasks = tokio::task::JoinSet::new();
        for some in keys.chunks(LOOKUPS_PER_TASK) {
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
        let found = db.get_key_value(&key).await?.map(Entry::from);
        let found = found.filter(|entry| !entry.is_over(now_millis()));
        if let Some(entry) = found {
            known.insert(key, Head::decode(entry.value).unwrap_or_default());
        }
    }
    Ok(known)
}

/// Answers once batches are durable.
pub(super) async fn answer(
    state: Arc<WriterState>,
    mut ownership: Ownership,
    mut durable: mpsc::UnboundedReceiver<PendingBatch>,
    end: oneshot::Sender<()>,
) {
    while let Some(written) = durable.recv().await {
        let PendingBatch {
            mut askers,
            handle,
            end,
            bytes,
            at,
            written,
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
        let result = match result {
            Ok(()) if handle.is_some() => match ownership.holds(written).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(state.fenced()),
                Err(error) => Err(error),
            },
            result => result.map_err(|error| state.failed("write", error)),
        };
        state.waiting.fetch_sub(held, Ordering::AcqRel);
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

/// Notices another process with the same id even if nothing is written.
pub(super) async fn watch_for_others(state: Arc<WriterState>, mut status: watch::Receiver<slatedb::DbStatus>) {
    let closed = status.wait_for(|status| status.close_reason.is_some()).await;
    if closed.is_ok_and(|status| status.close_reason == Some(CloseReason::Fenced)) {
        tracing::error!(
            writer = state.id,
            "another process writes to the bucket as this writer; this one stores nothing more"
        );
        state.fenced();
    }
}

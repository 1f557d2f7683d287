//! The writing thread: all waiting requests go into one commit, with one write, one sync and one transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use super::chunk::Chunk;
use super::clock::now;
use super::deletion::Deletions;
use super::disk::Disk;
use super::error::Error;
use super::index::{self, IndexTransaction};
use super::log::Log;
use super::maintain::Sealed;
use super::options::{OpenOptions, Retention};
use super::repetition::Repetition;
use super::replay::open_and_replay;
use super::segments::Segments;
use super::state::State;
use super::traits::{OnAppended, Receipt};
use crate::span::TraceId;

/// Chunks that wait to be stored, and who wants to know.
pub(super) struct Job {
    pub(super) chunks: Vec<Chunk>,
    /// Of the trace of its one chunk, which is stored at this revision alone.
    pub(super) revision: Option<u64>,
    pub(super) done: OnAppended<Receipt>,
}

/// What the writing thread is asked for.
pub(super) enum Order {
    Store(Job),
    /// That the segment which is written to is sealed, if it is this one or an earlier one.
    Seal(u64, Sealer),
}

/// Who waits until a segment is sealed.
pub(super) type Sealer = SyncSender<Result<(), Error>>;

/// At most this many bytes go into one commit; a larger request gets a separate commit.
const COMMIT_BYTES: usize = 16 << 20;

/// After this long without a request, a segment that is old enough is sealed; sooner if an eighth of the retention age is shorter.
const QUIET: Duration = Duration::from_secs(30);

/// After this long without a request, the ids of new traces are sorted into the index.
const PAUSE: Duration = Duration::from_secs(1);

/// What the writing thread owns.
pub(super) struct Commits {
    pub(super) log: Log,
    pub(super) index: index::Index,
    /// The index could not be written: it must catch up with the log before it is asked again.
    pub(super) behind: bool,
    pub(super) options: OpenOptions,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) segments: Arc<Segments>,
    pub(super) state: Arc<State>,
    /// Tells maintenance that a segment is sealed.
    pub(super) sealed: Sealed,
    /// Tells readers that the index was rebuilt.
    pub(super) rebuilds: Arc<AtomicU64>,
}

impl Commits {
    /// Commits what is submitted, until the store is closed.
    pub(super) fn run(&mut self, orders: &Receiver<Order>) {
        let age = self.options.retention.age.map(|age| age / Retention::SEGMENTS);
        let quiet = age.map_or(QUIET, |age| age.clamp(Duration::from_millis(10), QUIET));
        let mut put_in_order = false;
        loop {
            let is_due = self.index.is_young() && !put_in_order;
            let pause = if is_due { quiet.min(PAUSE) } else { quiet };
            // A failure here is not reported: the next write fails in the same way and reports it.
            let first = match orders.recv_timeout(pause) {
                Ok(Order::Store(job)) => job,
                Ok(Order::Seal(segment, sealer)) => {
                    self.seal(segment, &sealer);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if is_due => {
                    let _ = self.put_in_order();
                    put_in_order = true;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.log.seal_if_due(now());
                    let _ = self.note_sealed();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.put_in_order();
                    return;
                }
            };
            put_in_order = false;
            let mut batch = vec![first];
            let mut bytes = batch.iter().map(Job::bytes).sum::<usize>();
            let mut seal = None;
            while bytes < COMMIT_BYTES
                && seal.is_none()
                && let Ok(order) = orders.try_recv()
            {
                match order {
                    Order::Store(job) => {
                        bytes += job.bytes();
                        batch.push(job);
                    }
                    Order::Seal(segment, sealer) => seal = Some((segment, sealer)),
                }
            }
            let results = self.commit(&batch);
            self.state.note(results.iter().filter_map(|result| result.as_ref().err()));
            self.state.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
            let is_sealed = self.note_sealed();
            for (job, result) in batch.into_iter().zip(results) {
                (job.done)(result);
            }
            if is_sealed && self.options.retention.bytes.is_some() {
                let segment = self.log.end().segment;
                self.state.room.wait(segment.saturating_sub(1), self.options.segment_size);
            }
            if let Some((segment, sealer)) = seal {
                self.seal(segment, &sealer);
            }
        }
    }

    /// Seals the segment that is written to, if it is this one or an earlier one.
    fn seal(&mut self, segment: u64, sealer: &Sealer) {
        let sealed = match self.log.end().segment <= segment {
            true => self.log.seal(),
            false => Ok(()),
        };
        let _ = self.note_sealed();
        let _ = sealer.send(sealed);
    }

    /// Whether another segment is written to than before; then maintenance has work.
    fn note_sealed(&self) -> bool {
        let segment = self.log.end().segment;
        let is_new = self.state.segment.swap(segment, Ordering::AcqRel) != segment;
        if is_new {
            self.sealed.notify();
        }
        is_new
    }

    fn commit(&mut self, batch: &[Job]) -> Vec<Result<Receipt, Error>> {
        match self.try_commit(batch) {
            Ok(results) => results,
            Err(error) => {
                if let [_, _, ..] = batch
                    && matches!(error, Error::TooLarge { .. } | Error::Full { .. })
                {
                    // The fault may be that of one request: the others get their own try.
                    return batch.chunks(1).flat_map(|job| self.commit(job)).collect();
                }
                batch.iter().map(|_| Err(error.clone())).collect()
            }
        }
    }

    fn try_commit(&mut self, batch: &[Job]) -> Result<Vec<Result<Receipt, Error>>, Error> {
        self.log.check()?;
        if self.behind {
            self.catch_up()?;
        }
        let _turn = self.state.turns.take();
        let mut transaction = IndexTransaction::begin(&mut self.index)?;
        let mut results = Vec::with_capacity(batch.len());
        let mut fresh: Vec<&Chunk> = Vec::new();
        // Traces of those, if anybody depends on a revision.
        let mut touched = HashSet::new();
        let depends = batch.iter().any(|job| job.revision.is_some());
        let mut repetition = Repetition::new(&self.segments);
        let deleted = self.state.deletions();
        // A request has each trace once: only another one brings the same chunk again.
        let mut seen: HashMap<_, Vec<&Chunk>> = HashMap::new();
        let mut requests = batch.iter().flat_map(|job| &job.chunks).map(Chunk::request);
        let first = requests.next();
        let is_alone = requests.all(|request| Some(request) == first);
        for job in batch {
            if let Some(trace_id) = job.depends_on_deleted(deleted.as_deref()) {
                results.push(Err(Error::Deleted { trace_id }));
                continue;
            }
            if let Some(changed) = job.changed(&mut transaction, &touched)? {
                results.push(Err(changed));
                continue;
            }
            let mut receipt = Receipt::default();
            for chunk in &job.chunks {
                let items = chunk.part().items;
                if is_deleted(deleted.as_deref(), chunk) {
                    receipt.deleted += items;
                    continue;
                }
                let mut alike = match is_alone {
                    true => None,
                    false => Some(seen.entry((chunk.checksum(), chunk.kind(), &chunk.part().key)).or_default()),
                };
                let again = alike
                    .iter()
                    .flat_map(|alike| alike.iter())
                    .any(|other| repetition.same(other, chunk));
                if again || repetition.is_stored(&mut transaction, chunk)? {
                    receipt.duplicates += items;
                } else {
                    receipt.stored += items;
                    fresh.push(chunk);
                    if depends {
                        touched.extend(chunk.trace_id());
                    }
                    if let Some(alike) = alike.as_mut().filter(|alike| alike.len() < index::ALIKE) {
                        alike.push(chunk);
                    }
                }
            }
            results.push(Ok(receipt));
        }
        drop(deleted);
        if fresh.is_empty() {
            return Ok(results);
        }
        let places = self.log.write(&fresh, now())?;
        // While the disk works. The rows count once the transaction is committed.
        let indexed = fresh
            .iter()
            .zip(places)
            .try_for_each(|(chunk, at)| transaction.add(&chunk.listed(), at));
        self.log.finish()?;
        let end = self.log.end();
        let written: usize = fresh.iter().map(|chunk| chunk.own_length()).sum();
        self.state.bytes.fetch_add(written as u64, Ordering::Relaxed);
        if let Err(error) = indexed.and_then(|()| transaction.commit(end)) {
            self.behind = true;
            return Err(error);
        }
        // Not before the index knows it: who reads what is new asks the index about its traces.
        self.state.end.send_replace(end);
        Ok(results)
    }

    /// Puts the ids of all traces where readers find them at once.
    fn put_in_order(&mut self) -> Result<(), Error> {
        if self.behind || !self.index.is_young() {
            return Ok(());
        }
        let _turn = self.state.turns.take();
        let mut transaction = IndexTransaction::begin(&mut self.index)?;
        transaction.sort_all()?;
        transaction.commit(self.log.end())
    }

    /// Replays into the index what the log has beyond it.
    fn catch_up(&mut self) -> Result<(), Error> {
        let (log, index, recovery) = open_and_replay(&self.options, &self.disk)?;
        if recovery.index_rebuilt.is_some() {
            self.rebuilds.fetch_add(1, Ordering::Release);
        }
        (self.log, self.index, self.behind) = (log, index, false);
        self.state.end.send_replace(self.log.end());
        Ok(())
    }
}

/// Whether a chunk is of a trace that was deleted on request.
fn is_deleted(deleted: Option<&Deletions>, chunk: &Chunk) -> bool {
    deleted.is_some_and(|deleted| chunk.trace_id().is_some_and(|trace_id| deleted.has(trace_id)))
}

impl Job {
    /// Its trace, if that was deleted and the job depends on its revision.
    fn depends_on_deleted(&self, deleted: Option<&Deletions>) -> Option<TraceId> {
        let chunk = self.revision.and(self.chunks.first())?;
        chunk.trace_id().filter(|_| is_deleted(deleted, chunk))
    }

    /// That the trace on whose revision it depends has another one, in the index or by chunks that are stored with it.
    fn changed(&self, transaction: &mut IndexTransaction<'_>, touched: &HashSet<TraceId>) -> Result<Option<Error>, Error> {
        let (Some(expected), Some(trace_id)) = (self.revision, self.chunks.first().and_then(Chunk::trace_id)) else {
            return Ok(None);
        };
        let is_changed = touched.contains(&trace_id) || transaction.revision(trace_id)? != expected;
        Ok(is_changed.then_some(Error::Changed { trace_id }))
    }

    fn bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::own_length).sum()
    }
}

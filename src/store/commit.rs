//! The writing thread: all waiting requests go into one commit, with one write, one sync and one transaction. While the disk
//! syncs, the requests that arrived meanwhile are written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Select, TryRecvError};

use super::batch::{Batch, Job, NotWritten};
use super::clock::now;
use super::disk::Disk;
use super::error::Error;
use super::index::{self, IndexTransaction};
use super::log::Log;
use super::maintain::Sealed;
use super::options::{OpenOptions, Retention};
use super::replay::open_and_replay;
use super::reserve::Reserve;
use super::segments::Segments;
use super::state::State;
use super::traits::Receipt;

/// Orders to the writing thread.
pub(super) enum Order {
    Store(Job),
    /// Seal the active segment, if it is this one or an earlier one.
    Seal(u64, Sealer),
}

/// Reports that a segment is sealed.
pub(super) type Sealer = SyncSender<Result<(), Error>>;

/// At most this many bytes go into one commit; a larger request gets a separate commit.
const COMMIT_BYTES: usize = 16 << 20;

/// Idle time after which a segment that is old enough is sealed; less if an eighth of the retention age is shorter.
const IDLE_BEFORE_SEAL: Duration = Duration::from_secs(30);

/// Idle time after which the ids of new traces are sorted into the index.
const IDLE_BEFORE_SORT: Duration = Duration::from_secs(1);

/// Takes waiting requests, from `first` on, up to the size of a commit; stops at an order to seal and returns that too.
fn waiting(first: Job, bytes: usize, orders: &Receiver<Order>) -> (Vec<Job>, Option<(u64, Sealer)>) {
    let mut bytes = bytes + first.bytes();
    let mut jobs = vec![first];
    while bytes < COMMIT_BYTES
        && let Ok(order) = orders.try_recv()
    {
        match order {
            Order::Store(job) => {
                bytes += job.bytes();
                jobs.push(job);
            }
            Order::Seal(segment, sealer) => return (jobs, Some((segment, sealer))),
        }
    }
    (jobs, None)
}

/// The next order, if it arrives before the sync is done.
fn before_sync(log: &Log, orders: &Receiver<Order>) -> Option<Order> {
    let mut either = Select::new();
    let order = either.recv(orders);
    either.recv(log.synced());
    while either.ready() == order {
        match orders.try_recv() {
            Ok(order) => return Some(order),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    None
}

/// Work left after some commits.
#[derive(Default)]
struct RemainingWork {
    /// A new segment has become active.
    is_sealed: bool,
    seal: Option<(u64, Sealer)>,
    /// Requests that were not written.
    not_written: Option<NotWritten>,
}

impl RemainingWork {
    fn may_go_on(&self) -> bool {
        self.seal.is_none() && self.not_written.is_none()
    }
}

/// State of the writing thread.
pub(super) struct Commits {
    pub(super) log: Log,
    pub(super) index: index::Index,
    /// A write to the index failed: it must catch up with the log before it is queried again.
    pub(super) behind: bool,
    pub(super) options: OpenOptions,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) segments: Arc<Segments>,
    pub(super) state: Arc<State>,
    pub(super) reserve: Arc<Reserve>,
    /// Signals maintenance that a segment is sealed.
    pub(super) sealed: Sealed,
    /// Signals readers that the index was rebuilt.
    pub(super) rebuilds: Arc<AtomicU64>,
}

impl Commits {
    /// Commits requests until the store is closed.
    pub(super) fn run(&mut self, orders: &Receiver<Order>) {
        let age = self.options.retention.age.map(|age| age / Retention::SEGMENTS);
        let quiet = age.map_or(IDLE_BEFORE_SEAL, |age| age.clamp(Duration::from_millis(10), IDLE_BEFORE_SEAL));
        let mut put_in_order = false;
        loop {
            let is_due = self.index.is_young() && !put_in_order;
            let pause = if is_due { quiet.min(IDLE_BEFORE_SORT) } else { quiet };
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
                    let _ = note_sealed(&self.log, &self.state, &self.sealed);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.put_in_order();
                    return;
                }
            };
            put_in_order = false;
            let (jobs, seal) = waiting(first, 0, orders);
            let mut left = self.commit(jobs, seal.is_none().then_some(orders));
            let seal = seal.or(left.seal.take());
            left.is_sealed |= left.not_written.take().is_some_and(|not_written| self.commit_apart(not_written));
            if left.is_sealed && self.options.retention.bytes.is_some() {
                let segment = self.log.end().segment;
                self.state.room.wait(segment.saturating_sub(1), self.options.segment_size);
            }
            if let Some((segment, sealer)) = seal {
                self.seal(segment, &sealer);
            }
        }
    }

    /// Seals the active segment, if it is this one or an earlier one.
    fn seal(&mut self, segment: u64, sealer: &Sealer) {
        let sealed = match self.log.end().segment <= segment {
            true => self.log.seal(),
            false => Ok(()),
        };
        let _ = note_sealed(&self.log, &self.state, &self.sealed);
        let _ = sealer.send(sealed);
    }

    /// Retries requests that were not written one by one, if a single one may be at fault. Returns whether a segment was
    /// sealed.
    fn commit_apart(&mut self, NotWritten { jobs, error }: NotWritten) -> bool {
        if jobs.len() < 2 || !matches!(error, Error::TooLarge { .. } | Error::Full { .. }) {
            let answers = jobs.into_iter().map(|job| (job, Err(error.clone())));
            answer(&self.state, &self.options.directory, answers);
            return false;
        }
        let commit = |job| {
            let left = self.commit(vec![job], None);
            left.is_sealed | left.not_written.is_some_and(|not_written| self.commit_apart(not_written))
        };
        jobs.into_iter().map(commit).fold(false, |all, one| all | one)
    }

    /// Commits requests, and then those that arrive in `orders` while the disk syncs.
    fn commit(&mut self, jobs: Vec<Job>, orders: Option<&Receiver<Order>>) -> RemainingWork {
        let mut left = RemainingWork::default();
        if let Err(error) = self.be_ready() {
            left.not_written = Some(NotWritten { jobs, error });
            return left;
        }
        let (log, state) = (&mut self.log, &*self.state);
        // Keeps other writers off the index until everything that was compared with it is in it.
        let _turn = state.turns.take();
        let mut transaction = match IndexTransaction::begin(&mut self.index) {
            Ok(transaction) => transaction,
            Err(error) => {
                left.not_written = Some(NotWritten { jobs, error });
                return left;
            }
        };
        let stored = (&*self.segments, state);
        let mut batch = Batch::default();
        if let Err(not_written) = batch.write(jobs, &mut transaction, log, stored) {
            left.not_written = Some(not_written);
            return left;
        }
        if batch.is_new() {
            log.begin_sync();
        }
        while !batch.is_empty() {
            // Done while the disk syncs. The rows take effect once the transaction is committed.
            let indexed = transaction.go_on().and_then(|()| batch.add_to(&mut transaction));
            let mut next = Batch::default();
            if let Some(orders) = orders
                && batch.is_new()
                && indexed.is_ok()
            {
                while left.may_go_on()
                    && next.bytes() < COMMIT_BYTES
                    && !state.turns.are_wanted()
                    && !log.is_due(now())
                    && let Some(order) = before_sync(log, orders)
                {
                    match order {
                        Order::Seal(segment, sealer) => left.seal = Some((segment, sealer)),
                        Order::Store(first) => {
                            let (jobs, seal) = waiting(first, next.bytes(), orders);
                            left.seal = seal;
                            left.not_written = next.write(jobs, &mut transaction, log, stored).err();
                        }
                    }
                }
            }
            let mut result = Ok(());
            if batch.is_new() {
                result = log.finish();
                let end = log.end();
                if next.is_new() {
                    log.begin_sync();
                }
                if result.is_ok() {
                    state.bytes.fetch_add(batch.bytes() as u64, Ordering::Relaxed);
                    result = indexed.and_then(|()| transaction.commit_so_far(end));
                    self.behind = result.is_err();
                }
                if result.is_ok() {
                    // Only once the index has it: readers look up the traces of new chunks there.
                    state.end.send_replace(end);
                }
                left.is_sealed |= note_sealed(log, state, &self.sealed);
            }
            match result {
                Ok(()) => {
                    answer(state, &self.options.directory, batch.answers());
                    batch = next;
                }
                Err(error) => {
                    // Later writes may be on disk, but are not in the index.
                    let _ = log.finish();
                    for batch in [batch, std::mem::take(&mut next)] {
                        let answers = batch.answers().map(|(job, _)| (job, Err(error.clone())));
                        answer(state, &self.options.directory, answers);
                    }
                    break;
                }
            }
        }
        left
    }

    /// Checks that the log accepts writes and that the index covers all of it.
    fn be_ready(&mut self) -> Result<(), Error> {
        self.log.check()?;
        if self.behind {
            let reserve = Arc::clone(&self.reserve);
            reserve.with_room(|| self.catch_up())?;
        }
        self.reserve.keep()
    }

    /// Sorts the ids of new traces into the table for lookups.
    fn put_in_order(&mut self) -> Result<(), Error> {
        if self.behind || !self.index.is_young() {
            return Ok(());
        }
        let _turn = self.state.turns.take();
        let mut transaction = IndexTransaction::begin(&mut self.index)?;
        transaction.sort_all()?;
        transaction.commit(self.log.end())
    }

    /// Replays into the index whatever it lacks of the log.
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

/// Whether a new segment has become active; maintenance then has work.
fn note_sealed(log: &Log, state: &State, sealed: &Sealed) -> bool {
    let segment = log.end().segment;
    let is_new = state.segment.swap(segment, Ordering::AcqRel) != segment;
    if is_new {
        sealed.notify();
    }
    is_new
}

fn answer(state: &State, directory: &Path, answers: impl Iterator<Item = (Job, Result<Receipt, Error>)>) {
    let answers: Vec<_> = answers.collect();
    for (job, result) in &answers {
        match result {
            Ok(receipt) if receipt.stored == 0 => {}
            result => state.full.note(directory, job.bytes() as u64, result.as_ref().map(|_| ())),
        }
    }
    state.note(answers.iter().filter_map(|(_, result)| result.as_ref().err()));
    state.waiting.fetch_sub(answers.len(), Ordering::Relaxed);
    for (job, result) in answers {
        (job.done)(result);
    }
}

//! The writing thread: all waiting requests go into one commit, with one write, one sync and one transaction. While the disk syncs,
//! what came meanwhile is written.

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

/// Requests from the first on, as many as go into one commit with so many bytes; and who waits for a seal behind them.
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

/// The next order, if it comes before the sync is over.
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

/// What is left to do after some commits.
#[derive(Default)]
struct Left {
    /// Another segment is written to.
    is_sealed: bool,
    seal: Option<(u64, Sealer)>,
    /// Of which nothing was written.
    not_written: Option<NotWritten>,
}

impl Left {
    fn may_go_on(&self) -> bool {
        self.seal.is_none() && self.not_written.is_none()
    }
}

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
    pub(super) reserve: Arc<Reserve>,
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

    /// Seals the segment that is written to, if it is this one or an earlier one.
    fn seal(&mut self, segment: u64, sealer: &Sealer) {
        let sealed = match self.log.end().segment <= segment {
            true => self.log.seal(),
            false => Ok(()),
        };
        let _ = note_sealed(&self.log, &self.state, &self.sealed);
        let _ = sealer.send(sealed);
    }

    /// Nothing of these requests was written. The fault may be that of one: then the others get their own try. Returns whether a
    /// segment was sealed.
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

    /// Commits requests, and then those that come from `orders` while the disk has work with the ones before.
    fn commit(&mut self, jobs: Vec<Job>, orders: Option<&Receiver<Order>>) -> Left {
        let mut left = Left::default();
        if let Err(error) = self.be_ready() {
            left.not_written = Some(NotWritten { jobs, error });
            return left;
        }
        let (log, state) = (&mut self.log, &*self.state);
        // Nobody else writes to the index before all is in it that was compared with it.
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
            // While the disk works. The rows count once the transaction is committed.
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
                    // Not before the index knows it: who reads what is new asks the index about its traces.
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
                    // What is written behind it is on the disk at best, and not in the index.
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

    /// That the log takes more, and the index has all of it.
    fn be_ready(&mut self) -> Result<(), Error> {
        self.log.check()?;
        if self.behind {
            let reserve = Arc::clone(&self.reserve);
            reserve.with_room(|| self.catch_up())?;
        }
        self.reserve.keep()
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

/// Whether another segment is written to than before; then maintenance has work.
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

//! Feeds one destination: reads a bounded batch at its position, delivers it, and advances the position.

mod ended;
mod orders;
mod position;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::JoinHandle;

use ended::{Ended, blocking};

use super::attempt::{Attempt, Attempts};
use super::batch::{Batch, LARGE_BYTES};
use super::counts::{Counts, Health};
use super::dead_letters::{self, DeadLetter, LetterKey};
use super::delivery::{Delivery, DeliveryMode, LOG_REJECTIONS};
use super::destination::Destination;
use super::error::ForwardError;
use super::export::Exporter;
use super::order;
use super::payload::Payload;
use super::prepare::{Prepare, PrepareMode, Prepared};
use super::progress::{self, Progress};
use super::settings::Start;
use super::source::Source;
use super::via::Via;
use crate::dialect::Registry;
use crate::hash::HashSet;
use crate::span::Signal;
use crate::store::{ArrivalLimits, Arrivals, Position, Store, now};

/// PrepareMode often to look for orders, and for chunks that have settled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// PrepareMode often the position is saved while there is more to send. After a crash, everything sent since then is sent again.
const SAVE_INTERVAL: Duration = Duration::from_millis(200);
/// The next save waits this many times as long as the last one took, because requests wait for the same disk.
const SAVE_FACTOR: u32 = 20;
/// After this many consecutive failures to read log records, their spans become dead letters.
const MAX_READ_FAILURES: u32 = 5;
/// Maximum number of dead letters remembered from the last run.
const MAX_KNOWN_LETTERS: usize = 1 << 16;
/// PrepareMode often an idle destination that did not accept the last request is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
/// PrepareMode long a destination that was sent nothing yet is idle before the first probe.
const FIRST_PROBE: Duration = Duration::from_secs(5);
/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a disk error.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// The task of one destination.
#[derive(Debug)]
pub(super) struct Worker {
    destination: Arc<Destination>,
    store: Arc<dyn Store>,
    counts: Arc<Counts>,
    delivery: Delivery,
    prepare: Arc<Prepare>,
    stop: watch::Receiver<bool>,
    end: watch::Receiver<Position>,
    folder: PathBuf,
    progress: Progress,
    /// When to save the position next; `None`: it was not saved since the start.
    save_at: Option<Instant>,
    /// The store is saving a position; a stop may come before it is done.
    keeping: Option<JoinHandle<Result<(), crate::store::Error>>>,
    attempts: Attempts,
    /// The attempt that ended the process, or panicked.
    suspect: Option<Attempt>,
    /// PrepareMode often in a row the store could not be read.
    failures: u32,
    /// Existing letters for data after the saved position: it is sent again and must not be added twice.
    known_letters: HashSet<LetterKey>,
    /// When an idle destination was last probed.
    probed: Option<Instant>,
    /// Since when there was nothing to send.
    idle_since: Option<Instant>,
    /// When spans sent as received were last reported, and their number then.
    reported_as_received: Option<(Instant, u64)>,
}

/// Held while a large piece is prepared and sent.
static TURN: Mutex<()> = Mutex::const_new(());

impl Worker {
    pub(super) fn open(
        destination: &Destination,
        source: &Source,
        via: &Arc<Via>,
        registry: &Arc<Registry>,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, ForwardError> {
        let Source { store, folder } = source;
        let folder = folder.clone();
        std::fs::create_dir_all(&folder).map_err(ForwardError::io("make", &folder))?;
        let end = store.watch_end().ok_or(crate::store::Error::ReadOnly)?;
        dead_letters::recover(&folder, &destination.name)?;
        let known = match progress::kept(&**store, &destination.name)? {
            // The file may be older, if another process has continued since.
            Some(kept) => Some(kept),
            None => progress::read_or_begin_again(&folder, &destination.name)?,
        };
        let mut progress = known.clone().unwrap_or_default();
        let at_end = *end.borrow();
        if known.is_none() && destination.start == Start::Now {
            progress.set_position(at_end);
        }
        if progress.position() > at_end {
            tracing::warn!(
                destination = destination.name,
                "the position is beyond the end of the log; it is moved back to the end"
            );
            progress.set_position(at_end);
        }
        if known.as_ref() != Some(&progress) {
            store.keep_progress(&destination.name, &progress::to_bytes(&progress))?;
        }
        progress::write(&folder, &destination.name, &progress)?;
        let (attempts, suspect) = Attempts::open(&folder, &destination.name)?;
        if suspect.is_some() {
            tracing::warn!(
                destination = destination.name,
                "the last run ended while spans were prepared for the destination: they are prepared one by one now"
            );
        }
        let mut known_letters = HashSet::default();
        for letter in dead_letters::each(&folder, &destination.name)? {
            let letter = letter?;
            if known_letters.len() < MAX_KNOWN_LETTERS && letter.at().is_some_and(|at| at >= progress.position()) {
                known_letters.insert(letter.key());
            }
        }
        let counts = Arc::new(Counts::default());
        counts.set_position(progress.position());
        let destination = Arc::new(destination.clone());
        let exporter = Exporter::new(Arc::clone(&destination), Arc::clone(via)).map_err(|source| ForwardError::Config {
            destination: destination.name.clone(),
            source,
        })?;
        Ok(Self {
            delivery: Delivery::new(
                Arc::clone(&destination),
                exporter,
                Arc::clone(&counts),
                stop.clone(),
                DeliveryMode::Forward { folder: folder.clone() },
            ),
            prepare: Arc::new(Prepare::new(&destination, registry)),
            store: Arc::clone(store),
            destination,
            counts,
            stop,
            end,
            folder,
            progress,
            save_at: None,
            keeping: None,
            attempts,
            suspect,
            failures: 0,
            known_letters,
            probed: None,
            idle_since: None,
            reported_as_received: None,
        })
    }

    pub(super) fn destination(&self) -> Arc<Destination> {
        Arc::clone(&self.destination)
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    pub(super) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    pub(super) async fn run(mut self) {
        let mut reported: Option<String> = None;
        loop {
            let failure = match self.step().await {
                Ok(()) | Err(Ended::Ordered | Ended::PutOff(_)) => continue,
                Err(Ended::Stopped) => break,
                Err(Ended::Panicked) => "preparing requests failed in an unexpected way; please report it".to_owned(),
                Err(Ended::Failed(error)) => error.to_string(),
            };
            if reported.as_ref() != Some(&failure) {
                tracing::error!(destination = self.destination.name, error = failure, "forwarding waits");
                reported = Some(failure);
            }
            tokio::select! {
                _ = self.stop.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(DISK_PAUSE) => {}
            }
        }
        if let Err(Ended::Failed(error)) = self.save().await {
            tracing::error!(destination = self.destination.name, %error, "cannot save the position; some spans will be sent again");
        }
    }

    async fn step(&mut self) -> Result<(), Ended> {
        if let Some(order) = order::take(&self.folder, &self.destination.name) {
            self.obey(order).await?;
        }
        let read = self.read().await?;
        if read.next == self.progress.position() {
            self.delivery.log_rejections(LOG_REJECTIONS);
            self.save().await?;
            return self.wait().await;
        }
        self.idle_since = None;
        self.note(&read).await?;
        let next = read.next;
        let mut batch = self.prepare.begin(read.chunks);
        while !batch.pieces.is_empty() {
            self.portion(&mut batch, next).await?;
        }
        self.failures = 0;
        self.counts.add_unsent(&batch.unsent);
        self.note_as_received();
        self.prepare.sent();
        self.move_to(next);
        if self.save_at.is_none_or(|at| Instant::now() >= at) {
            self.save().await?;
        }
        Ok(())
    }

    /// Prepares the next requests of a batch and delivers them.
    async fn portion(&mut self, batch: &mut Batch, end: Position) -> Result<(), Ended> {
        let Some(front) = batch.pieces.front() else { return Ok(()) };
        let at = front.at;
        let large = front.bytes() > LARGE_BYTES;
        // Only one large piece is in progress at a time, over all destinations.
        let _turn = match large {
            true => Some(self.turn().await?),
            false => None,
        };
        let suspect = self.suspect.filter(|suspect| suspect.suspects(at));
        let how = PrepareMode {
            large,
            alone: suspect.is_some(),
            as_received: suspect.is_some_and(|suspect| suspect.blames(at)),
            gives_up: self.failures >= MAX_READ_FAILURES,
        };
        let made = self.make(batch, how, Attempt::new(at, end, how.alone || large)).await?;
        self.add_dead_letters(&made.dead)?;
        for payload in made.payloads {
            match self.deliver(payload, made.is_large).await {
                Err(Ended::PutOff(pause)) => {
                    drop(_turn);
                    return Ok(self.delivery.pause(pause).await?);
                }
                delivered => delivered?,
            }
        }
        batch.unsent.add_unsent(&made.unsent);
        if made.is_large {
            batch.pieces.pop_front();
        }
        Ok(())
    }

    async fn turn(&mut self) -> Result<MutexGuard<'static, ()>, Ended> {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => Err(Ended::Stopped),
            turn = TURN.lock() => Ok(turn),
        }
    }

    /// Prepares the next requests of a batch. Records the attempt, so that a crash or panic can be attributed.
    async fn make(&mut self, batch: &mut Batch, how: PrepareMode, attempt: Attempt) -> Result<Prepared, Ended> {
        let (prepare, store) = (Arc::clone(&self.prepare), Arc::clone(&self.store));
        let mut taken = std::mem::take(batch);
        self.attempts.note(Some(attempt))?;
        let made = blocking(move || {
            let made = prepare.next(&mut taken, how, &*store);
            (taken, made)
        })
        .await;
        self.attempts.note(None)?;
        match made {
            Ok((left, made)) => {
                *batch = left;
                made.map_err(|error| {
                    self.failures = self.failures.saturating_add(1);
                    Ended::from(error)
                })
            }
            Err(Ended::Panicked) if !how.as_received => {
                tracing::error!(
                    destination = self.destination.name,
                    "preparing spans failed in an unexpected way; they are tried again one by one, and sent as received if it fails again"
                );
                self.suspect = Some(attempt);
                Err(Ended::Ordered)
            }
            Err(ended) => Err(ended),
        }
    }

    /// Reports spans sent as received, from time to time.
    fn note_as_received(&mut self) {
        let count = self.counts.as_received.load(Ordering::Relaxed);
        let more = count - self.reported_as_received.map_or(0, |(_, reported)| reported);
        if more == 0 || self.reported_as_received.is_some_and(|(at, _)| at.elapsed() < LOG_REJECTIONS) {
            return;
        }
        self.reported_as_received = Some((Instant::now(), count));
        tracing::warn!(
            destination = self.destination.name,
            spans = more,
            "spans were sent as received: translating them would take too much memory, or ended the process before"
        );
    }

    async fn read(&self) -> Result<Arrivals, Ended> {
        let (store, from) = (Arc::clone(&self.store), self.progress.position());
        let settle = u64::try_from(self.destination.settle.as_nanos()).unwrap_or(u64::MAX);
        let limits = ArrivalLimits {
            bytes: self.destination.max_message_bytes,
            latest: if settle == 0 { u64::MAX } else { now().saturating_sub(settle) },
        };
        blocking(move || store.read_arrivals(from, limits)).await?.map_err(Ended::from)
    }

    async fn deliver(&mut self, payload: Payload, is_large: bool) -> Result<(), Ended> {
        let mut dead = Vec::new();
        let delivered = self.delivery.deliver(payload, is_large, &mut dead).await;
        if delivered.is_ok() {
            self.append(&dead)?;
        }
        Ok(delivered?)
    }

    /// Adds items that are not sent at all to the dead letters.
    fn add_dead_letters(&mut self, dead: &[DeadLetter]) -> Result<(), Ended> {
        for letter in dead {
            self.counts.failed.add(letter.signal().unwrap_or(Signal::Traces), letter.items);
            self.delivery.rejected(letter.items, &letter.reason);
        }
        self.append(dead)
    }

    fn append(&mut self, dead: &[DeadLetter]) -> Result<(), Ended> {
        self.progress.failed += dead.iter().map(|letter| letter.items).sum::<u64>();
        let is_new = |letter: &&DeadLetter| !self.known_letters.contains(&letter.key());
        let new: Vec<DeadLetter> = dead.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            dead_letters::append(&self.folder, &self.destination.name, &new)?;
        }
        Ok(())
    }

    async fn note(&mut self, batch: &Arrivals) -> Result<(), Ended> {
        if self.progress.segment == 0 {
            // Later removals by retention are noticed from here on.
            let segment = batch.next.segment;
            self.move_to(Position { segment, offset: 0 });
            self.save().await?;
        }
        if batch.removed_segments > 0 {
            self.progress.removed_segments += batch.removed_segments;
            self.counts.removed_segments.fetch_add(batch.removed_segments, Ordering::Relaxed);
            tracing::error!(
                destination = self.destination.name,
                segments = batch.removed_segments,
                "forwarding goes on behind segments that retention removed"
            );
            // Save now, so that they are counted only once.
            let segment = self.progress.segment + batch.removed_segments;
            self.move_to(Position { segment, offset: 0 });
            self.save().await?;
        }
        if batch.damaged_bytes > 0 {
            self.counts.damaged_bytes.fetch_add(batch.damaged_bytes, Ordering::Relaxed);
            tracing::error!(
                destination = self.destination.name,
                bytes = batch.damaged_bytes,
                "a part of the log is damaged and is not sent; run: spanbridge doctor"
            );
        }
        Ok(())
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self) -> Result<(), Ended> {
        let position = self.progress.position();
        let settling = *self.end.borrow() > position;
        let more = async {
            match settling {
                true => std::future::pending().await,
                false => {
                    let _ = self.end.wait_for(|end| *end > position).await;
                }
            }
        };
        let idle_since = *self.idle_since.get_or_insert_with(Instant::now);
        let is_due = match self.counts.health() {
            Health::Up => false,
            // The first request is the next data, unless none comes soon.
            Health::Unknown => idle_since.elapsed() >= FIRST_PROBE,
            Health::Down(_) => true,
        };
        let probes = !settling && is_due && self.probed.is_none_or(|probed| probed.elapsed() > PROBE_INTERVAL);
        let (probe, look) = match probes {
            true => {
                self.probed = Some(Instant::now());
                (Some(self.delivery.probe()), PROBE_TIMEOUT)
            }
            false => (None, POLL_INTERVAL),
        };
        let probe = async {
            match probe {
                Some(probe) => probe.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => Err(Ended::Stopped),
            () = more => Ok(()),
            probed = probe => Ok(probed?),
            () = tokio::time::sleep(look) => Ok(()),
        }
    }
}

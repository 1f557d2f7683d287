//! The task that uploads the local log to the bucket, in order. A file next to the log records its progress after the bucket
//! has the data: after a crash some of it is sent again, and chunks that exist are not stored twice.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::prepare::Prepared;
use super::runtime;
use super::spool::{Phase, Spool, prepared};
use super::writer::Writer;
use super::writer_state::lock;
use crate::store::arrivals::ArrivalLimits;
use crate::store::error::{Error, of_io};
use crate::store::log::{Position, SEGMENT_HEAD};
use crate::store::traits::{Receipt, Subscribe as _};

/// The file with the position.
const PROGRESS: &str = "uploaded.json";

/// Bytes of messages read at once.
const READ_BYTES: usize = 1 << 20;

/// Maximum bytes of messages in flight.
const MAX_IN_FLIGHT_BYTES: usize = 16 << 20;

/// How often to count what waits, and to look for segments to remove.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Delay after a failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    segment: u64,
    offset: u64,
}

/// A part of the log in flight.
struct SentPart {
    /// Position in the log after this part.
    next: Position,
    bytes: usize,
    /// Arrival of its first chunk.
    since: u64,
}

/// Resolves once the part is in the bucket.
type Durable = oneshot::Receiver<Result<Receipt, Error>>;

impl Spool {
    /// Starts the upload task.
    pub(super) fn start(self: &Arc<Self>, writer: &Arc<Writer>) -> Result<(), Error> {
        let (end, ended) = oneshot::channel();
        let uploading = Uploading::new(Arc::clone(self), Arc::clone(writer), self.phase.subscribe())?;
        runtime::handle()?.spawn(async move {
            uploading.run().await;
            let _ = end.send(());
        });
        *lock(&self.ended) = Some(ended);
        Ok(())
    }
}

/// The upload of a log.
pub(super) struct Uploading {
    spool: Arc<Spool>,
    writer: Arc<Writer>,
    phase: watch::Receiver<Phase>,
    end: watch::Receiver<Position>,
    /// The bucket has everything before this position.
    done: Position,
    /// Everything before this position is in flight or in the bucket.
    read: Position,
    sent: VecDeque<(SentPart, Durable)>,
    /// Segments that can be removed once kept long enough.
    spent: VecDeque<(Instant, u64)>,
    /// Segments before this one were sealed because nothing arrived.
    sealed: u64,
    file: PathBuf,
    /// When the bucket last accepted something.
    last: Instant,
}

impl Uploading {
    pub(super) fn new(spool: Arc<Spool>, writer: Arc<Writer>, phase: watch::Receiver<Phase>) -> Result<Self, Error> {
        let (end, file) = (spool.end()?, spool.directory().join(PROGRESS));
        // If this cannot be read, the whole log is sent again.
        let progress: Progress = fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let done = Position {
            segment: progress.segment,
            offset: progress.offset,
        };
        let done = if done > *end.borrow() { Position::default() } else { done };
        let uploading = Self {
            spool,
            writer,
            phase,
            end,
            done,
            read: done,
            sent: VecDeque::new(),
            spent: VecDeque::from([(Instant::now(), done.segment)]),
            sealed: 0,
            file,
            last: Instant::now(),
        };
        uploading.count();
        Ok(uploading)
    }

    pub(super) async fn run(mut self) {
        let mut look = Instant::now() + POLL_INTERVAL;
        loop {
            if let Err(error) = self.send().await {
                tracing::error!(%error, "the own log cannot be read, so what is in it does not reach the bucket; it is tried again");
                sleep(RETRY_DELAY).await;
            }
            let phase = *self.phase.borrow_and_update();
            if phase == Phase::End || phase == Phase::Finish && self.is_done() {
                return;
            }
            let is_full = self.bytes_on_the_way() >= MAX_IN_FLIGHT_BYTES;
            tokio::select! {
                Some(result) = first(&mut self.sent) => match result {
                    Ok(_) => self.advance(),
                    Err(error @ (Error::Fenced { .. } | Error::Closed)) => {
                        tracing::error!(%error, "what is in the own log stays there until the next start");
                        return;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the bucket did not take what is in the own log; it is sent again");
                        self.sent.clear();
                        self.read = self.done;
                        sleep(RETRY_DELAY).await;
                    }
                },
                Ok(()) = self.end.changed(), if !is_full => {}
                Ok(()) = self.phase.changed() => {}
                () = sleep_until(look) => {
                    look = Instant::now() + POLL_INTERVAL;
                    self.count();
                    if let Err(error) = self.tidy_up().await {
                        tracing::warn!(%error, "what the bucket has cannot be removed from the own log yet");
                    }
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.sent.is_empty() && self.read >= *self.end.borrow()
    }

    fn bytes_on_the_way(&self) -> usize {
        self.sent.iter().map(|(sent, _)| sent.bytes).sum()
    }

    /// Sends what is waiting, within the limit of bytes in flight.
    async fn send(&mut self) -> Result<(), Error> {
        while self.bytes_on_the_way() < MAX_IN_FLIGHT_BYTES && self.read < *self.end.borrow_and_update() {
            let (spool, from, level) = (Arc::clone(&self.spool), self.read, self.writer.how.level);
            let read = tokio::task::spawn_blocking(move || part(&spool, from, level)).await;
            let LogPart { chunks, sent, damaged } = read.unwrap_or(Err(Error::Closed))?;
            if damaged > 0 {
                self.spool.waiting.damaged.fetch_add(damaged, Ordering::Relaxed);
                tracing::error!(bytes = damaged, "the own log is damaged: this does not reach the bucket");
            }
            if sent.next == self.read {
                return Ok(());
            }
            if self.sent.is_empty() {
                self.spool.waiting.since.store(sent.since, Ordering::Relaxed);
            }
            self.read = sent.next;
            let durable = self.writer.upload(chunks);
            self.sent.push_back((sent, durable));
        }
        Ok(())
    }

    /// Records that the bucket has the oldest part in flight.
    fn advance(&mut self) {
        let Some((sent, _)) = self.sent.pop_front() else { return };
        if sent.next.segment > self.done.segment {
            self.spent.push_back((Instant::now(), sent.next.segment));
        }
        (self.done, self.last) = (sent.next, Instant::now());
        let since = self.sent.front().map_or(0, |(sent, _)| sent.since);
        self.spool.waiting.since.store(since, Ordering::Relaxed);
        self.count();
        if let Err(error) = self.note() {
            tracing::warn!(%error, "how far the upload is cannot be written");
        }
    }

    /// Updates the counters of what waits.
    fn count(&self) {
        let bytes = match self.is_done() {
            true => 0,
            false => self.spool.local.bytes_behind(self.done),
        };
        self.spool.waiting.bytes.store(bytes, Ordering::Relaxed);
    }

    fn note(&self) -> Result<(), Error> {
        let Position { segment, offset } = self.done;
        let failure = |source| of_io("write", &self.file, source);
        let text = serde_json::to_vec(&Progress { segment, offset }).map_err(|error| failure(error.into()))?;
        let beside = self.file.with_extension("new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.file))
            .map_err(failure)
    }

    /// Removes segments that the bucket has, including the active one if nothing arrived for a while.
    async fn tidy_up(&mut self) -> Result<(), Error> {
        let end = *self.end.borrow();
        let is_idle = self.is_done() && self.last.elapsed() >= self.spool.kept;
        if is_idle && end.offset > SEGMENT_HEAD && end.segment >= self.sealed {
            let spool = Arc::clone(&self.spool);
            let sealed = tokio::task::spawn_blocking(move || spool.local.seal(end.segment)).await;
            sealed.unwrap_or(Err(Error::Closed))?;
            self.sealed = end.segment + 1;
            // Chunks that arrived meanwhile may be in this segment or the next: then it is spent once they are uploaded.
            if *self.end.borrow() == end {
                self.spent.push_back((self.last, self.sealed));
            }
        }
        let mut before = None;
        while let Some((since, segment)) = self.spent.front()
            && since.elapsed() >= self.spool.kept
        {
            before = Some(*segment);
            self.spent.pop_front();
        }
        let Some(before) = before else { return Ok(()) };
        let spool = Arc::clone(&self.spool);
        let removed = tokio::task::spawn_blocking(move || spool.local.remove_before(before)).await;
        removed.unwrap_or(Err(Error::Closed))
    }
}

/// The result of the oldest part in flight; `None`: nothing is in flight.
async fn first(sent: &mut VecDeque<(SentPart, Durable)>) -> Option<Result<Receipt, Error>> {
    let (_, durable) = sent.front_mut()?;
    Some(durable.await.unwrap_or(Err(Error::Closed)))
}

/// A part of the log, ready to be sent.
struct LogPart {
    chunks: Vec<Prepared>,
    sent: SentPart,
    /// Bytes that could not be read.
    damaged: u64,
}

fn part(spool: &Spool, from: Position, level: Option<i32>) -> Result<LogPart, Error> {
    let limits = ArrivalLimits {
        bytes: READ_BYTES,
        latest: u64::MAX,
    };
    let arrivals = spool.local.read_arrivals(from, limits)?;
    let mut part = LogPart {
        chunks: Vec::with_capacity(arrivals.chunks.len()),
        sent: SentPart {
            next: arrivals.next,
            bytes: 0,
            since: arrivals.chunks.first().map_or(0, |arrival| arrival.time),
        },
        damaged: arrivals.damaged_bytes,
    };
    for arrival in arrivals.chunks {
        let bytes = arrival.message.len();
        match prepared(arrival.kind, arrival.message, arrival.time, (level, &spool.session_keys)) {
            Ok(chunks) => part.chunks.extend(chunks),
            Err(_) => part.damaged += bytes as u64,
        }
        part.sent.bytes += bytes;
    }
    Ok(part)
}

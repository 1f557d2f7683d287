//! The local log of a bridge that answers once data is on its own disk. The module `uploading` uploads it to the bucket;
//! until then the module `spool_scan` reads it from here.
//!
//! A chunk in both places counts once, by its digest. Uploaded chunks stay here for a while, so a reader that looks in both
//! places, in either order, misses nothing.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::deletions::Deletions;
use super::prepare::Prepared;
use super::runtime;
use super::writer::Writer;
use super::writer_state::lock;
use crate::otlp::scan;
use crate::store::chunk::{Chunk, ChunkKind};
use crate::store::clock::now;
use crate::store::error::Error;
use crate::store::index;
use crate::store::local::Local;
use crate::store::log::{Position, Recovery};
use crate::store::options::{Ack, BucketOptions, OpenOptions, Retention};
use crate::store::traits::{Administer as _, Append as _, OnAppended, Receipt, Subscribe as _};

const FOLDER: &str = "spool";

/// Bytes of a segment. Uploaded data is removed by whole segments, so they are small.
const SEGMENT_BYTES: u64 = 16 << 20;

/// How many polls uploaded data stays.
const KEPT_POLLS: u32 = 60;

/// How long closing waits for the upload. Whatever is left is uploaded after the next start.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The local log.
#[derive(Debug)]
pub(super) struct Spool {
    pub(super) local: Local,
    pub(super) session_keys: Vec<String>,
    /// Whether it accepts new chunks; else it only has chunks from before a change of settings.
    acknowledges: bool,
    /// Maximum bytes waiting for the bucket.
    most: u64,
    /// How long uploaded data stays: a reader may have begun before the upload.
    pub(super) kept: Duration,
    pub(super) waiting: Backlog,
    pub(super) phase: watch::Sender<Phase>,
    /// Signals the end of the upload task, once that has started.
    pub(super) ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// How much waits for the bucket.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Approximate size.
    pub(super) bytes: AtomicU64,
    /// Arrival of the oldest waiting chunk, nanoseconds since 1970; 0: nothing waits.
    pub(super) since: AtomicU64,
    /// Damaged bytes that cannot be uploaded.
    pub(super) damaged: AtomicU64,
}

/// What the upload task is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    GoOn,
    /// End once everything is in the bucket.
    Finish,
    End,
}

impl Spool {
    /// Opens the log of a bridge; `None`: it has none and needs none.
    pub(super) fn open(options: &OpenOptions, bucket: &BucketOptions) -> Result<Option<(Arc<Self>, Recovery)>, Error> {
        let directory = options.directory.join(FOLDER);
        let acknowledges = bucket.ack == Ack::Local;
        if !acknowledges && !directory.exists() {
            return Ok(None);
        }
        let opened = Local::open(&OpenOptions {
            directory,
            segment_size: options.segment_size.min(SEGMENT_BYTES),
            retention: Retention::default(),
            compression: None,
            bucket: None,
            ..options.clone()
        })?;
        let spool = Self {
            local: opened.store,
            session_keys: options.session_keys.clone(),
            acknowledges,
            most: bucket.spool_bytes,
            kept: bucket.poll_interval * KEPT_POLLS,
            waiting: Backlog::default(),
            phase: watch::Sender::new(Phase::GoOn),
            ended: Mutex::default(),
        };
        Ok(Some((Arc::new(spool), opened.recovery)))
    }

    pub(super) fn directory(&self) -> &Path {
        self.local.directory()
    }

    /// Whether requests are answered once they are in this log.
    pub(super) fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// The end of what is on disk.
    pub(super) fn end(&self) -> Result<watch::Receiver<Position>, Error> {
        self.local.watch_end().ok_or(Error::ReadOnly)
    }

    /// Whether it accepts chunks now.
    pub(super) fn ready(&self) -> Result<(), Error> {
        self.room_for(0)?;
        self.local.ready()
    }

    /// How long the oldest chunk has been waiting.
    pub(super) fn waits(&self) -> Duration {
        match self.waiting.since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_nanos(now().saturating_sub(since)),
        }
    }

    fn room_for(&self, bytes: u64) -> Result<(), Error> {
        let waiting = self.waiting.bytes.load(Ordering::Relaxed);
        match waiting > 0 && waiting.saturating_add(bytes) > self.most {
            true => Err(Error::Slow),
            false => Ok(()),
        }
    }

    /// Stores chunks, except those of deleted traces. `done` is called once they are on disk.
    pub(super) fn submit(self: &Arc<Self>, writer: &Writer, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
        // If another process writes under this name now, this one could not upload.
        if let Some(failure) = writer.state().failure() {
            return done(Err(failure));
        }
        let bytes = chunks.iter().map(Chunk::own_length).sum::<usize>() as u64;
        if let Err(slow) = self.room_for(bytes) {
            return done(Err(slow));
        }
        let is_deleted = |chunk: &Chunk| chunk.trace_id().is_some_and(|trace_id| writer.deletions.has(trace_id));
        let (deleted, kept): (Vec<_>, Vec<_>) = chunks.into_iter().partition(is_deleted);
        let deleted = deleted.iter().map(|chunk| chunk.part().items).sum::<usize>();
        self.waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        let spool = Arc::clone(self);
        self.local.submit(
            kept,
            Box::new(move |result| {
                if result.is_err() {
                    spool.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                done(result.map(|receipt| Receipt { deleted, ..receipt }));
            }),
        );
    }

    /// Drops the log records deleted with their session from the index. Their bytes go when their segment is removed.
    pub(super) fn forget_loose(&self, deletions: &Deletions) -> Result<(), Error> {
        let loose = self.local.reader().index(|index| index::loose(index.connection()))?;
        let mut places = Vec::new();
        for (session, at) in loose {
            let record = self.local.segments().record(at)?;
            if record.is_some_and(|(head, _)| deletions.has_loose(&session, head.arrival)) {
                places.push(at);
            }
        }
        match places.is_empty() {
            true => Ok(()),
            false => self.local.forget_loose(&places),
        }
    }

    /// Stops accepting chunks, and waits briefly for the upload.
    pub(super) fn close(&self) {
        self.local.close();
        self.phase.send_replace(Phase::Finish);
        let ended = lock(&self.ended).take();
        if let Some(mut ended) = ended {
            let phase = self.phase.clone();
            let _ = runtime::wait(async move {
                if tokio::time::timeout(CLOSE_TIMEOUT, &mut ended).await.is_err() {
                    phase.send_replace(Phase::End);
                    let _ = ended.await;
                }
                Ok(())
            });
        }
    }
}

/// The chunks of a message in the log. Usually one; more if other keys named a session when it was written.
pub(super) fn prepared(
    kind: ChunkKind,
    message: Vec<u8>,
    came: u64,
    (level, session_keys): (Option<i32>, &[String]),
) -> Result<Vec<Prepared>, crate::otlp::Fault> {
    let chunks = match kind {
        ChunkKind::Metrics => vec![Chunk::of_metrics(0, message)],
        _ => {
            let keys: Vec<&str> = session_keys.iter().map(String::as_str).collect();
            Chunk::of_request(scan::scan(&message, kind.signal(), &keys)?, message)
        }
    };
    let mut prepared: Vec<Prepared> = chunks.iter().map(|chunk| Prepared::of(chunk, level)).collect();
    prepared.iter_mut().for_each(|chunk| chunk.head.arrival = came);
    Ok(prepared)
}

//! The thread that feeds an index: reads a bounded batch after its position, adds it, and advances the position.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::error::SearchError;
use super::part::{self, Part};
use super::words::Document;
use crate::span::TraceId;
use crate::store::{ArrivalLimits, Arrivals, Position, Store};

/// Bytes of messages in a batch.
const BATCH_BYTES: usize = 8 << 20;
/// Bytes of messages in one part.
const PART_BYTES: u64 = 1 << 30;
/// Interval between checks for new arrivals. Larger batches create fewer lists that must be merged.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after an error.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// State shared by the thread and its clients.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Everything before it is in the index.
    pub(super) position: Mutex<Position>,
    pub(super) stop: AtomicBool,
    /// Pending removals.
    pub(super) forget: Mutex<Vec<Forget>>,
}

/// Traces to be removed, and where to report the result.
#[derive(Debug)]
pub(super) struct Forget {
    pub(super) traces: Vec<TraceId>,
    pub(super) reply: SyncSender<Result<(), SearchError>>,
}

pub(super) fn start(store: Arc<dyn Store>, folder: PathBuf, shared: Arc<Shared>) -> Result<JoinHandle<()>, SearchError> {
    let feed = move || {
        crate::store::lower_priority();
        let mut feeder = Feeder {
            store,
            folder,
            shared,
            part: None,
            reported: None,
        };
        feeder.run();
    };
    let thread = std::thread::Builder::new().name("search".to_owned()).spawn(feed);
    thread.map_err(|source| SearchError::Thread { source: Arc::new(source) })
}

struct Feeder {
    store: Arc<dyn Store>,
    folder: PathBuf,
    shared: Arc<Shared>,
    part: Option<(u64, Part)>,
    /// The last reported error.
    reported: Option<String>,
}

impl Feeder {
    fn run(&mut self) {
        while !self.stops() {
            self.forget_traces();
            match self.step() {
                Ok(true) => self.reported = None,
                Ok(false) => self.wait(POLL_INTERVAL),
                Err(error) => {
                    let text = error.to_string();
                    if self.reported.as_ref() != Some(&text) {
                        tracing::error!(%error, "search is not fed; it is tried again");
                        self.reported = Some(text);
                    }
                    if let SearchError::Part { source, .. } = &error
                        && !is_of_the_disk(source)
                    {
                        // It can be rebuilt from the log.
                        self.clear();
                    }
                    self.part = None;
                    self.wait(ERROR_PAUSE);
                }
            }
        }
    }

    /// Carries out pending removals.
    fn forget_traces(&mut self) {
        let orders = std::mem::take(&mut *self.shared.forget.lock().unwrap_or_else(PoisonError::into_inner));
        for Forget { traces, reply } in orders {
            self.part = None;
            let _ = reply.send(part::forget(&self.folder, &traces));
        }
    }

    fn stops(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    fn wait(&self, time: Duration) {
        let end = std::time::Instant::now() + time;
        let is_asked = || !self.shared.forget.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        while !self.stops() && !is_asked() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn clear(&self) {
        for (_, path) in part::files(&self.folder).unwrap_or_default() {
            part::remove(&path);
        }
    }

    /// Adds a batch. Returns whether more may be waiting.
    fn step(&mut self) -> Result<bool, SearchError> {
        let (number, mut part) = match self.part.take() {
            Some(part) => part,
            None => self.open()?,
        };
        let of_store = |source| SearchError::Store { source };
        let limits = ArrivalLimits {
            bytes: BATCH_BYTES,
            latest: u64::MAX,
        };
        let arrivals = self.store.read_arrivals(part.next, limits).map_err(of_store)?;
        let bytes: usize = arrivals.chunks.iter().map(|chunk| chunk.message.len()).sum();
        let moved = arrivals.next != part.next;
        if moved {
            part.add(&documents(&arrivals), bytes as u64, arrivals.next)?;
        }
        *self.shared.position.lock().unwrap_or_else(PoisonError::into_inner) = part.next;
        if part.is_full(PART_BYTES) {
            let next = part.next;
            part.finish()?;
            self.forget()?;
            part = Part::open(part::path(&self.folder, number + 1), next)?;
            self.part = Some((number + 1, part));
        } else {
            self.part = Some((number, part));
        }
        Ok(moved && bytes >= BATCH_BYTES / 2)
    }

    /// Opens the last part.
    fn open(&self) -> Result<(u64, Part), SearchError> {
        let last = part::files(&self.folder)?.pop();
        let (number, path) = last.unwrap_or_else(|| (1, part::path(&self.folder, 1)));
        let part = Part::open(path, Position::default())?;
        *self.shared.position.lock().unwrap_or_else(PoisonError::into_inner) = part.next;
        self.forget()?;
        Ok((number, part))
    }

    /// Removes the parts whose stretch of the log was removed by retention.
    fn forget(&self) -> Result<(), SearchError> {
        let limits = ArrivalLimits {
            bytes: 1,
            latest: u64::MAX,
        };
        let first = self.store.read_arrivals(Position::default(), limits);
        let first = first
            .map_err(|source| SearchError::Store { source })?
            .chunks
            .first()
            .map(|chunk| chunk.at);
        let files = part::files(&self.folder)?;
        let Some((_, older)) = files.split_last() else { return Ok(()) };
        for (_, path) in older {
            let end = Part::open(path.clone(), Position::default())?.next;
            if first.is_none_or(|first| end <= first) {
                part::remove(path);
            }
        }
        Ok(())
    }
}

/// The arrivals of each trace as a document.
fn documents(arrivals: &Arrivals) -> Vec<(TraceId, Document)> {
    let mut documents: BTreeMap<TraceId, Document> = BTreeMap::new();
    for chunk in &arrivals.chunks {
        let Some(trace) = chunk.trace_id else { continue };
        let document = documents.entry(trace).or_insert_with(|| Document::of(trace));
        document.add_message(&chunk.message, chunk.kind.signal());
    }
    documents.into_iter().collect()
}

/// Whether rebuilding the index would not help.
fn is_of_the_disk(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(CannotOpen | DatabaseBusy | DatabaseLocked | DiskFull | ReadOnly | SystemIoFailure)
    )
}

//! The crash spool: keeps ended spans on disk until they are delivered.
//!
//! Each process has its own folder, with a locked file `lock` and journals `<number>.spool`; the system releases the lock however the
//! process ends. A journal is a list of records: a length (4 bytes, little endian), then that many bytes of OTLP (`TracesData`). A torn
//! record at the end is ignored. A journal is deleted once all its spans are delivered, and the folder when its process ends with nothing
//! left. At the next start, a process sends the journals of all folders that are not locked. Delivery is at least once: spans delivered
//! shortly before a crash may be sent again, unchanged. Spans that no receiver accepts stay and count towards the limit, which covers all
//! folders together.
//!
//! Records are written but not synced: they survive the process, not the machine.

mod leftovers;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opentelemetry_sdk::Resource as SdkResource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchSpanProcessor, Span as SdkSpan, SpanData, SpanExporter, SpanProcessor};

use super::{convert, parts, private};
use crate::otlp;
use crate::span::Resource;

/// A journal is closed at this size, so that it can be deleted once delivered.
const JOURNAL_BYTES: u64 = 4 * 1024 * 1024;

type Key = ([u8; 16], [u8; 8]);

fn key(data: &SpanData) -> Key {
    (data.span_context.trace_id().to_bytes(), data.span_context.span_id().to_bytes())
}

/// The folder of this process.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    limit: u64,
    state: Mutex<SpoolState>,
}

#[derive(Debug)]
struct SpoolState {
    _lock: File,
    journal: Option<File>,
    /// Number and size of the current journal.
    current: u64,
    size: u64,
    /// Undelivered spans, each with the number of its journal.
    waiting: HashMap<Key, u64>,
    /// For each journal, the number of undelivered spans and the size.
    journals: HashMap<u64, (usize, u64)>,
    total: u64,
    /// Size of the journals that earlier processes left.
    left: u64,
    full: bool,
}

impl Spool {
    /// Creates this process's folder in `root`; all folders together may hold `limit` bytes.
    pub(super) fn open(root: &Path, limit: u64) -> io::Result<Self> {
        private::make_folders(root)?;
        let left = folders(root)
            .iter()
            .flat_map(|folder| journals(folder))
            .map(|journal| size(&journal))
            .sum();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{now}-{}", std::process::id());
        // Lock before renaming, so that no other process takes the folder for that of a dead process.
        let unnamed = root.join(format!(".{name}"));
        private::make_folders(&unnamed)?;
        let lock = private::create(&unnamed.join("lock"))?;
        lock.lock()?;
        let folder = root.join(name);
        fs::rename(&unnamed, &folder)?;
        Ok(Self {
            folder,
            limit,
            state: Mutex::new(SpoolState {
                _lock: lock,
                journal: None,
                current: 0,
                size: 0,
                waiting: HashMap::new(),
                journals: HashMap::new(),
                total: 0,
                left,
                full: false,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, SpoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, journal: u64) -> PathBuf {
        self.folder.join(format!("{journal:08}.spool"))
    }

    fn keep(&self, data: &SpanData, resource: &Arc<Resource>) {
        let Some(span) = convert::span(data.clone(), resource) else {
            return;
        };
        let bytes = otlp::encode::traces(&[span]);
        let Ok(length) = u32::try_from(bytes.len()) else { return };
        let mut state = self.state();
        if let Err(error) = self.write(&mut state, key(data), length, &bytes)
            && !std::mem::replace(&mut state.full, true)
        {
            tracing::warn!(target: "spanbridge", "{}: the spool takes no more spans: {error}", self.folder.display());
        }
    }

    fn write(&self, state: &mut SpoolState, key: Key, length: u32, bytes: &[u8]) -> io::Result<()> {
        let added = u64::from(length) + 4;
        if state.total + state.left + added > self.limit {
            let why = format!(
                "it has {} bytes, {} of them from earlier processes",
                state.total + state.left,
                state.left
            );
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        if state.size >= JOURNAL_BYTES {
            state.journal = None;
            state.current += 1;
            state.size = 0;
        }
        if state.journal.is_none() {
            state.journal = Some(private::options().create(true).append(true).open(self.path(state.current))?);
        }
        let mut record = Vec::with_capacity(bytes.len() + 4);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(bytes);
        if let Some(journal) = &mut state.journal
            && let Err(error) = journal.write_all(&record)
        {
            // Part of the record may have been written, and anything after it would be unreadable, so start a new journal.
            state.size = JOURNAL_BYTES;
            return Err(error);
        }
        state.size += added;
        state.total += added;
        state.full = false;
        let current = state.current;
        if state.waiting.insert(key, current).is_none() {
            let (spans, size) = state.journals.entry(current).or_default();
            *spans += 1;
            *size += added;
        }
        Ok(())
    }

    fn delivered(&self, keys: &[Key]) {
        let mut state = self.state();
        for key in keys {
            let Some(journal) = state.waiting.remove(key) else { continue };
            let Some((spans, _)) = state.journals.get_mut(&journal) else {
                continue;
            };
            *spans -= 1;
            if *spans > 0 {
                continue;
            }
            if let Some((_, size)) = state.journals.remove(&journal) {
                state.total = state.total.saturating_sub(size);
            }
            if journal == state.current {
                state.journal = None;
                state.current += 1;
                state.size = 0;
            }
            let _ = fs::remove_file(self.path(journal));
        }
    }
}

impl Spool {
    /// Deletes the folder at the end of the process if nothing is left.
    fn close(&self) {
        if self.state().waiting.is_empty() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A batch processor that keeps its spans in the spool until they are delivered.
#[derive(Debug)]
pub(super) struct Spooling {
    spool: Arc<Spool>,
    resource: Arc<Resource>,
    inner: BatchSpanProcessor,
    /// Receives a message once the spans of earlier processes have been handled.
    left: Mutex<Receiver<()>>,
}

impl Spooling {
    pub(super) fn new<E: SpanExporter + 'static>(spool: &Arc<Spool>, exporter: E, left: Receiver<()>) -> Self {
        let exporter = Acknowledging {
            spool: Arc::clone(spool),
            inner: exporter,
        };
        Self {
            spool: Arc::clone(spool),
            resource: Arc::default(),
            inner: BatchSpanProcessor::builder(exporter).build(),
            left: Mutex::new(left),
        }
    }
}

impl SpanProcessor for Spooling {
    fn on_start(&self, span: &mut SdkSpan, context: &opentelemetry::Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, data: SpanData) {
        if data.span_context.is_sampled() {
            self.spool.keep(&data, &self.resource);
        }
        self.inner.on_end(data);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        let started = Instant::now();
        let result = self.inner.shutdown_with_timeout(timeout);
        if let Ok(left) = self.left.lock() {
            let _ = left.recv_timeout(timeout.saturating_sub(started.elapsed()));
        }
        self.spool.close();
        result
    }

    fn set_resource(&mut self, resource: &SdkResource) {
        self.resource = Arc::new(convert::resource(resource));
        self.inner.set_resource(resource);
    }
}

#[derive(Debug)]
struct Acknowledging<E> {
    spool: Arc<Spool>,
    inner: E,
}

impl<E: SpanExporter> SpanExporter for Acknowledging<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        parts::export(&self.inner, batch, key, |keys| self.spool.delivered(&keys)).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &SdkResource) {
        self.inner.set_resource(resource);
    }
}

/// The folders of processes, oldest first.
fn folders(root: &Path) -> Vec<PathBuf> {
    listed(root, |path| path.join("lock").is_file())
}

fn journals(folder: &Path) -> Vec<PathBuf> {
    listed(folder, |path| path.extension().is_some_and(|extension| extension == "spool"))
}

fn listed(folder: &Path, keep: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| keep(path));
    paths.sort();
    paths
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}

//! The crash spool: spans are on disk from their end until they are delivered.
//!
//! Each process has its own folder, with a locked file `lock` and journals `<number>.spool`; the system unlocks it
//! when the process ends, however it ends. A journal is a list of records: length (4 bytes, little endian), then that many
//! bytes of OTLP (`TracesData`). A torn record at the end is cut. A journal goes when every span in it was delivered, the
//! folder when its process ends with nothing left. The next process that starts sends what it finds in folders that nobody
//! locks, journal by journal. Delivery is at least once: what was delivered shortly before a crash may go out again,
//! unchanged. What nobody takes stays, and counts: all folders together are bounded.
//!
//! Records are written, not synced: they outlive the process, not the machine.

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

/// A journal is closed at this size, so that delivered ones can go.
const JOURNAL_BYTES: u64 = 4 * 1024 * 1024;

type Key = ([u8; 16], [u8; 8]);

fn key(data: &SpanData) -> Key {
    (data.span_context.trace_id().to_bytes(), data.span_context.span_id().to_bytes())
}

/// This process's folder.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    _lock: File,
    journal: Option<File>,
    /// Number and size of the journal that is written.
    current: u64,
    size: u64,
    /// Spans that are not delivered yet, with the journal that contains them.
    waiting: HashMap<Key, u64>,
    /// How many of them a journal contains, and its size.
    journals: HashMap<u64, (usize, u64)>,
    total: u64,
    /// Size of what earlier processes left.
    left: u64,
    full: bool,
}

impl Spool {
    /// Makes the folder of this process in `root`, where all folders together hold at most `limit` bytes.
    pub(super) fn open(root: &Path, limit: u64) -> io::Result<Self> {
        private::make_folders(root)?;
        let left = folders(root)
            .iter()
            .flat_map(|folder| journals(folder))
            .map(|journal| size(&journal))
            .sum();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{now}-{}", std::process::id());
        // Locked before it has its name: nobody may take it for a dead process's.
        let unnamed = root.join(format!(".{name}"));
        private::make_folders(&unnamed)?;
        let lock = private::create(&unnamed.join("lock"))?;
        lock.lock()?;
        let folder = root.join(name);
        fs::rename(&unnamed, &folder)?;
        Ok(Self {
            folder,
            limit,
            state: Mutex::new(State {
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

    fn state(&self) -> MutexGuard<'_, State> {
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

    fn write(&self, state: &mut State, key: Key, length: u32, bytes: &[u8]) -> io::Result<()> {
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
            // A part of the record may be there: what came behind it could not be read.
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
    /// The process ends: nothing is left, nothing stays.
    fn close(&self) {
        if self.state().waiting.is_empty() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A batch processor whose spans are in the spool meanwhile.
#[derive(Debug)]
pub(super) struct Spooling {
    spool: Arc<Spool>,
    resource: Arc<Resource>,
    inner: BatchSpanProcessor,
    /// Hears when what earlier processes left is through.
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

/// Folders of processes, the oldest first.
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

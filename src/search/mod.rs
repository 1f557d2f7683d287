//! Full-text search: finds traces with given words in names, keys, values and payloads.
//!
//! Like forwarding, it is fed in the store's order of arrival, from its own position, by a low-priority thread. The index is next to
//! the log in separate files, which can be removed at any time: it is rebuilt from the log.
//!
//! - `words` defines what a word is. A query finds the traces that contain all its words, each as the beginning of a word.
//! - A part is a file for a stretch of the log. It is removed after retention has removed that stretch.

mod error;
mod feed;
mod part;
mod words;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) use error::SearchError;

use crate::span::TraceId;
use crate::store::Store;
use feed::{Forget, Shared};
use part::PartHits;

/// Interval between checks whether the thread is still running.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The folder next to a store's log.
pub(crate) const FOLDER: &str = "search";

/// Removes the index of a store; it is rebuilt when the store is served with search.
///
/// # Errors
///
/// A file cannot be removed.
pub(crate) fn remove(store: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(store.join(FOLDER)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes traces from the index of a store that is not being served; the index is rebuilt from there on when it is.
///
/// # Errors
///
/// The index cannot be read.
pub(crate) fn forget(store: &Path, traces: &[TraceId]) -> Result<(), SearchError> {
    let folder = store.join(FOLDER);
    match folder.is_dir() {
        true => part::forget(&folder, traces),
        false => Ok(()),
    }
}

/// The index of one store, and the thread that feeds it.
#[derive(Debug)]
pub(crate) struct Search {
    folder: PathBuf,
    store: Arc<dyn Store>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Search {
    /// Starts feeding the index in [`FOLDER`] of a store's directory.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or the thread cannot be started.
    pub(crate) fn start(store: Arc<dyn Store>, directory: &Path) -> Result<Self, SearchError> {
        let folder = directory.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(|source| SearchError::Folder {
            folder: folder.clone(),
            source: Arc::new(source),
        })?;
        let shared = Arc::<Shared>::default();
        let thread = feed::start(Arc::clone(&store), folder.clone(), Arc::clone(&shared))?;
        Ok(Self {
            folder,
            store,
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The approximate number of bytes of the log that are not in the index yet.
    #[must_use]
    pub(crate) fn behind(&self) -> u64 {
        let position = *self.shared.position.lock().unwrap_or_else(PoisonError::into_inner);
        self.store.bytes_behind(position)
    }

    /// Finds words; `None` if the text has none, or `goes_on` became false before they were found.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub(crate) fn find(&self, text: &str, goes_on: &(impl Fn() -> bool + Clone + Send + 'static)) -> Result<Option<Hits>, SearchError> {
        let terms = words::of_query(text);
        if terms.is_empty() {
            return Ok(None);
        }
        let files = part::files(&self.folder)?;
        let parts: Result<Vec<PartHits>, SearchError> = files
            .iter()
            .filter_map(|(_, path)| PartHits::in_part(path, &terms, goes_on.clone()).transpose())
            .collect();
        match parts {
            Err(SearchError::Part { source, .. }) if source.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
                Ok(None)
            }
            parts => Ok(Some(Hits {
                terms: terms.len(),
                parts: parts?,
            })),
        }
    }

    /// Removes traces from the index, and waits for that. The index is rebuilt from there on.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub(crate) fn forget(&self, traces: &[TraceId]) -> Result<(), SearchError> {
        let (reply, answer) = sync_channel(1);
        let order = Forget {
            traces: traces.to_vec(),
            reply,
        };
        self.shared.forget.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(forgotten) => return forgotten,
                // The thread has ended.
                Err(RecvTimeoutError::Disconnected) => return part::forget(&self.folder, traces),
                Err(RecvTimeoutError::Timeout) if self.shared.stop.load(Ordering::Relaxed) => return part::forget(&self.folder, traces),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Stops the thread and waits for its end.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The traces that contain the words of a query.
#[derive(Debug)]
pub(crate) struct Hits {
    terms: usize,
    parts: Vec<PartHits>,
}

impl Hits {
    /// Whether a trace contains all words.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub(crate) fn contains(&self, trace: TraceId) -> Result<bool, SearchError> {
        let mut has = vec![false; self.terms];
        for part in &self.parts {
            let Some(number) = part.number(trace)? else { continue };
            has.iter_mut().enumerate().for_each(|(term, has)| *has |= part.has(term, number));
        }
        Ok(has.into_iter().all(|has| has))
    }

    /// The traces that contain all words, if the rarest word occurs in at most `most` of them.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub(crate) fn few(&self, most: usize) -> Result<Option<Vec<TraceId>>, SearchError> {
        let count = |term: usize| self.parts.iter().map(|part| part.count(term)).sum::<usize>();
        let Some(rarest) = (0..self.terms).min_by_key(|term| count(*term)) else {
            return Ok(None);
        };
        if count(rarest) > most {
            return Ok(None);
        }
        let mut ids = Vec::new();
        for part in &self.parts {
            for id in part.ids(rarest)? {
                if self.contains(id)? {
                    ids.push(id);
                }
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Some(ids))
    }
}

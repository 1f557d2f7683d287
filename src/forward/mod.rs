//! Forwards stored spans and log records to other OTLP backends.
//!
//! The store's log is the queue. A [`Destination`] has a position in the order of arrival, in a small file of its own next
//! to the log; it advances once the destination has accepted everything before it. So a destination that is down costs disk,
//! not memory, and a killed process continues where it was: every span is sent at least once.
//!
//! Each destination has its own task with one bounded batch, so none delays another. The tasks run on low-priority threads:
//! forwarding can wait, an agent that exports spans should not.
//!
//! - Destinations and their configuration: [`Destination`], [`DestinationText`], [`preset`].
//! - Answers: [`export`] interprets them; `delivery` waits, splits or gives a span up. A span that is given up becomes a
//!   [`DeadLetter`] with the reason; it can be sent again as long as the log has it.
//! - Requests to a task from other processes: [`order`].
//! - Loops are detected by the header `via::HEADER`.

mod attempt;
mod batch;
mod choice;
mod cost;
pub mod counts;
pub mod dead_letters;
mod delivery;
mod destination;
mod error;
pub mod export;
mod header;
mod in_full;
mod memory;
pub mod order;
mod payload;
mod prepare;
pub mod preset;
pub mod progress;
mod records;
pub mod send;
mod settings;
mod source;
mod threads;
mod translate;
pub mod via;
mod worker;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) use crate::store::backlog_bytes;
pub use crate::store::removed_segments;
pub use choice::{ChooseText, SampleText};
pub use counts::{Counts, Health, Sample};
pub use dead_letters::DeadLetter;
pub use destination::{Destination, DestinationText, resolve_all};
pub use error::{ConfigError, ForwardError};
pub use payload::{Part, Payload};
pub use settings::{Compression, Dialect, Logs, Protocol, ScoreApi, ScoresText, Start, TlsText, Unfinished};
pub use source::{FOLDER, Source, folder};
pub use via::Via;

use threads::Threads;

use crate::access::Project;
use crate::dialect::Registry;
use crate::store::Store;

/// All destinations of a bridge, each fed by a task.
#[derive(Debug)]
pub struct Forwarder {
    running: Vec<Running>,
    stop: watch::Sender<bool>,
    /// `None` if there are no destinations.
    _threads: Option<Threads>,
}

/// How often to check whether retention removes unsent data.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Warns when retention removes data before a destination had it, since its task may be waiting for days.
async fn watch_retention(name: String, store: Arc<dyn Store>, counts: Arc<Counts>, mut stop: watch::Receiver<bool>) {
    let mut reported = 0;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let (store, position) = (Arc::clone(&store), counts.position());
        let removed = tokio::task::spawn_blocking(move || store.removed_behind(position))
            .await
            .unwrap_or_default();
        if removed > reported {
            tracing::error!(
                destination = name,
                segments = removed - reported,
                "retention removed segments of the log before the destination had them: their spans are not sent to it"
            );
        }
        reported = removed;
    }
}

#[derive(Debug)]
struct Running {
    destination: Arc<Destination>,
    store: Arc<dyn Store>,
    counts: Arc<Counts>,
    folder: PathBuf,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Forwarder {
    /// Starts a task for each destination, fed from the store of its project; spans are read with the dialects of
    /// `registry`. The tasks run on separate threads, with low priority on Linux.
    ///
    /// # Errors
    ///
    /// A project has no store, the files of a destination cannot be used, or threads cannot be started.
    pub fn start(
        destinations: &[Destination],
        via: &Arc<Via>,
        registry: &Arc<Registry>,
        source_of: impl Fn(&Project) -> Option<Source>,
    ) -> Result<Self, ForwardError> {
        let (stop, stopped) = watch::channel(false);
        let mut workers = Vec::new();
        for destination in destinations {
            let source = source_of(&destination.project).ok_or_else(|| ForwardError::NoProject {
                destination: destination.name.clone(),
                project: destination.project.clone(),
            })?;
            let worker = worker::Worker::open(destination, &source, via, registry, stopped.clone())?;
            workers.push((worker, source.folder));
        }
        let threads = (!workers.is_empty())
            .then(Threads::start)
            .transpose()
            .map_err(|error| ForwardError::Threads(Arc::new(error)))?;
        let handle = threads.as_ref().and_then(Threads::handle);
        for (worker, _) in &workers {
            let name = worker.destination().name.clone();
            let watch = watch_retention(name, worker.store(), worker.counts(), stop.subscribe());
            let _ = handle.map(|handle| handle.spawn(watch));
        }
        let running = workers.into_iter().map(|(worker, folder)| Running {
            folder,
            destination: worker.destination(),
            store: worker.store(),
            counts: worker.counts(),
            task: Mutex::new(handle.map(|handle| handle.spawn(worker.run()))),
        });
        Ok(Self {
            running: running.collect(),
            stop,
            _threads: threads,
        })
    }

    /// A snapshot of each destination's counts.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let sample = |running: &Running| {
            let mut sample = running.counts.sample(&running.destination);
            sample.removed_segments += running.store.removed_behind(running.counts.position());
            sample.backlog_bytes = running.store.bytes_behind(running.counts.position());
            sample
        };
        self.running.iter().map(sample).collect()
    }

    /// Whether each destination has been sent everything that is durable now.
    pub(crate) fn is_done(&self) -> bool {
        let had_all = |running: &Running| {
            running
                .store
                .watch_end()
                .is_none_or(|end| running.counts.position() >= *end.borrow())
        };
        self.running.iter().all(had_all)
    }

    /// At most `most` of the last dead letters of a project's destination, and the number of all; `None`: there is no such
    /// destination.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    pub fn dead_letters(&self, project: &Project, name: &str, most: usize) -> Result<Option<(VecDeque<DeadLetter>, u64)>, ForwardError> {
        let Some(running) = self.running(project, name) else {
            return Ok(None);
        };
        let (mut last, mut count) = (VecDeque::new(), 0);
        for letter in dead_letters::each(&running.folder, name)? {
            count += 1;
            last.push_back(letter?);
            if last.len() > most {
                last.pop_front();
            }
        }
        Ok(Some((last, count)))
    }

    /// Leaves an order for a project's destination, as another process would. Returns whether the destination exists.
    ///
    /// # Errors
    ///
    /// The disk failed.
    pub fn give(&self, project: &Project, name: &str, order: order::Order) -> Result<bool, ForwardError> {
        let of = self.running(project, name);
        of.map(|running| order::give(&running.folder, name, order))
            .transpose()
            .map(|given| given.is_some())
    }

    fn running(&self, project: &Project, name: &str) -> Option<&Running> {
        let is_it = |running: &&Running| running.destination.name == name && running.destination.project == *project;
        self.running.iter().find(is_it)
    }

    /// Stops all tasks: requests in flight are abandoned after this time, and are sent again after the next start.
    pub async fn stop(&self, grace: Duration) {
        self.stop.send_replace(true);
        let take = |running: &Running| running.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tasks: Vec<_> = self.running.iter().filter_map(take).collect();
        let all = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        let _ = tokio::time::timeout(grace, all).await;
    }
}

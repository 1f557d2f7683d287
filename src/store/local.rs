//! The store on local disk: one thread writes, any thread reads.

mod engine;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, unbounded};
use rusqlite::Connection;

use super::batch::Job;
use super::commit::{Commits, Order};
use super::deletion::Deletions;
use super::disk::{Directory, Disk};
use super::error::Error;
use super::index::{self, Checked, Places};
use super::lock::{Lock, Purpose};
use super::log::{self, Lost, Position, Recovery};
use super::losses::{self, Losses};
use super::lost_records;
use super::maintain::Maintenance;
use super::options::OpenOptions;
use super::reader::Reader;
use super::ready::Probe;
use super::replay::{open_and_replay, rebuild};
use super::reserve::Reserve;
use super::segments::Segments;
use super::state::State;
use super::traits::Administer;

/// An open store, and what was found while opening it.
#[derive(Debug)]
pub struct Opened<S = Local> {
    /// The store.
    pub store: S,
    /// What a crash or a failing disk left behind.
    pub recovery: Recovery,
}

/// The store on local disk.
#[derive(Debug)]
pub struct Local {
    directory: PathBuf,
    reader: Reader,
    writer: Option<WriterHandle>,
    /// Losses found when it was opened.
    lost: Vec<Lost>,
}

#[derive(Debug)]
pub(super) struct WriterHandle {
    jobs: Mutex<Option<Sender<Order>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(super) maintenance: Maintenance,
    pub(super) state: Arc<State>,
    pub(super) reserve: Arc<Reserve>,
    disk: Arc<dyn Disk>,
    probe: Probe,
    summaries: Mutex<Option<Connection>>,
    _lock: Lock,
}

impl Local {
    /// Opens a directory for reading and writing, and locks it.
    ///
    /// # Errors
    ///
    /// Another process writes to it, or it cannot be used.
    pub fn open(options: &OpenOptions) -> Result<Opened, Error> {
        let reserve = Arc::new(Reserve::of(&options.directory));
        reserve.with_room(|| Self::open_with(options, Arc::clone(&reserve)))
    }

    fn open_with(options: &OpenOptions, reserve: Arc<Reserve>) -> Result<Opened, Error> {
        let directory = &options.directory;
        let io = |doing| {
            move |source| Error::Io {
                doing,
                path: directory.clone(),
                source: Arc::new(source),
            }
        };
        std::fs::create_dir_all(directory).map_err(io("make"))?;
        let lock = Lock::take(directory, Purpose::Write)?;
        let disk = options.disk.clone().unwrap_or_else(|| Arc::new(Directory::new(directory)));
        let checked = index::check_at_opening(directory)?;
        let (checked, (mut log, index, mut recovery)) = match checked {
            Checked::Damaged(fault) => (Checked::Whole, rebuild(options, &disk, fault, Places::new())?),
            checked => (checked, open_and_replay(options, &disk)?),
        };
        let cut = lost_records::cut_segments(&*disk, directory, index.connection(), log.end().segment)?;
        recovery.lost = reported_losses(directory, cut, recovery.lost);
        let segments = Arc::new(Segments::new(directory, Arc::clone(&disk)));
        let reader = Reader::new(directory, Arc::clone(&segments), index::open_beside(directory)?, index::open_beside);
        let state = Arc::new(State::default());
        let mut deletions = Deletions::of(directory)?;
        recovery.deletions_mended = deletions.mend(directory)?;
        if let Some(work) = deletions.unfinished() {
            let (traces, loose): (Vec<_>, Vec<_>) = (work.traces.into_iter().collect(), work.loose.into_iter().collect());
            index::delete(&mut index::open(directory)?, &traces, &loose)?;
            if work.segments.last() >= Some(&log.end().segment) {
                log.seal()?;
            }
        }
        state.with_deletions(|of_state| *of_state = deletions);
        state.segment.store(log.end().segment, Ordering::Release);
        state.end.send_replace(log.end());
        // Without room for the reserve nothing is stored; reading and deleting work without it.
        let _ = reserve.keep();
        let shared = (Arc::clone(&disk), Arc::clone(&segments), Arc::clone(&state), Arc::clone(&reserve));
        let maintenance = Maintenance::start(options, shared, checked).map_err(io("start the maintaining thread for"))?;
        let (sender, jobs) = unbounded();
        let mut commits = Commits {
            log,
            index,
            behind: false,
            options: options.clone(),
            disk: Arc::clone(&disk),
            segments,
            state: Arc::clone(&state),
            reserve: Arc::clone(&reserve),
            sealed: maintenance.sealed(),
            rebuilds: reader.rebuilds(),
        };
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || commits.run(&jobs))
            .map_err(io("start the writing thread for"))?;
        let writer = WriterHandle {
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            maintenance,
            state,
            reserve,
            disk,
            probe: Probe::default(),
            summaries: Mutex::default(),
            _lock: lock,
        };
        let store = Self {
            directory: directory.clone(),
            reader,
            writer: Some(writer),
            lost: recovery.lost.clone(),
        };
        Ok(Opened { store, recovery })
    }

    /// Opens a directory for reading, even while another process writes to it. If no process does and the index is not up to
    /// date, it is brought up to date first; the directory is locked only for that time.
    ///
    /// # Errors
    ///
    /// There is no store in it, or it cannot be read.
    pub fn open_up_to_date(options: &OpenOptions) -> Result<Opened, Error> {
        let directory = &options.directory;
        let mut recovery = Recovery::default();
        if !Self::is_up_to_date(directory) {
            match Lock::take(directory, Purpose::Read) {
                Ok(lock) => {
                    let disk = options.disk.clone().unwrap_or_else(|| Arc::new(Directory::new(directory)));
                    recovery = open_and_replay(options, &disk)?.2;
                    drop(lock);
                }
                // A server writes to the directory, or it is not writable: it is opened for reading as it is.
                Err(Error::Locked { .. } | Error::Io { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut store = Self::open_to_read(directory)?;
        // A running bridge may change the files meanwhile; then there is nothing to report.
        let segments = log::segments(directory).unwrap_or_default();
        let cut = segments.last().and_then(|active| {
            let disk = Directory::read_only(directory);
            let cut = |index: &mut index::Reading| lost_records::cut_segments(&disk, directory, index.connection(), *active);
            store.reader.index(cut).ok()
        });
        recovery.lost = reported_losses(directory, cut.unwrap_or_default(), recovery.lost);
        store.lost = recovery.lost.clone();
        Ok(Opened { store, recovery })
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(super) fn writer(&self) -> Option<&WriterHandle> {
        self.writer.as_ref()
    }

    pub(super) fn state(&self) -> Option<&State> {
        self.writer.as_ref().map(|writer| &*writer.state)
    }

    pub(super) fn segments(&self) -> &Segments {
        &self.reader.segments
    }

    /// Its data directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the index covers the whole log.
    fn is_up_to_date(directory: &Path) -> bool {
        let covered = || -> Result<Position, Error> {
            let index = index::open_to_read(directory)?;
            index::check_version(&index)?;
            index::covered(&index)
        };
        let end = || -> Option<Position> {
            let segment = *log::segments(directory).ok()?.last()?;
            let offset = std::fs::metadata(directory.join(log::file_name(segment))).ok()?.len();
            Some(Position { segment, offset })
        };
        covered().is_ok_and(|covered| end() == Some(covered))
    }

    /// Opens a directory for reading only, even while another process writes to it.
    ///
    /// # Errors
    ///
    /// There is no store in it, or it cannot be read.
    pub fn open_to_read(directory: &Path) -> Result<Self, Error> {
        let index = index::open_to_read(directory)?;
        index::check_version(&index)?;
        let disk = Arc::new(Directory::read_only(directory));
        Ok(Self {
            directory: directory.to_owned(),
            reader: Reader::new(directory, Arc::new(Segments::new(directory, disk)), index, index::open_to_read),
            writer: None,
            lost: Vec::new(),
        })
    }

    /// Rebuilds the index from the log.
    ///
    /// # Errors
    ///
    /// Another process writes to the directory, or it cannot be used.
    pub fn reindex(options: &OpenOptions) -> Result<Opened, Error> {
        let directory = &options.directory;
        let lock = Lock::take(directory, Purpose::Write)?;
        let former = index::Former::set_aside(directory)?;
        index::remove(directory)?;
        drop(lock);
        let mut opened = Self::open(options)?;
        // Records that the former index had and this one lacks.
        if let Some(connection) = former.connection() {
            let disk = options.disk.clone().unwrap_or_else(|| Arc::new(Directory::new(directory)));
            let lost = lost_records::of_former(&*disk, directory, &connection, &opened.recovery)?;
            let _ = losses::keep(directory, &lost);
            let unfinished = lost_records::with_records(lost, std::mem::take(&mut opened.recovery.lost));
            opened.recovery.lost = unfinished;
            opened.store.lost = opened.recovery.lost.clone();
        }
        Ok(opened)
    }

    fn send(&self, job: Job) {
        let Some(writer) = &self.writer else {
            return (job.done)(Err(Error::ReadOnly));
        };
        let jobs = writer.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        writer.state.waiting.fetch_add(1, Ordering::Relaxed);
        writer.state.requests.fetch_add(1, Ordering::Relaxed);
        let refused = match &*jobs {
            Some(sender) => sender.send(Order::Store(job)).err().map(|error| error.0),
            None => Some(Order::Store(job)),
        };
        drop(jobs);
        if let Some(Order::Store(job)) = refused {
            writer.state.waiting.fetch_sub(1, Ordering::Relaxed);
            (job.done)(Err(Error::Closed));
        }
    }

    /// Sends the writing thread an order.
    pub(super) fn order(&self, order: Order) -> Result<(), Error> {
        let writer = self.writer.as_ref().ok_or(Error::ReadOnly)?;
        let jobs = writer.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = jobs.as_ref().ok_or(Error::Closed)?;
        sender.send(order).map_err(|_| Error::Closed)
    }

    /// Runs `write` on a connection for summaries; `None` if the store is open for reading only.
    pub(super) fn with_summaries<T>(&self, write: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<Option<T>, Error> {
        let Some(writer) = &self.writer else { return Ok(None) };
        let mut connection = writer.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *connection {
            Some(connection) => connection,
            none => none.insert(index::open(&self.directory)?),
        };
        let _turn = writer.state.turns.take();
        write(connection).map(Some)
    }
}

/// The losses to report: stored ones and those just found. `cut`: computed from the index each time.
fn reported_losses(directory: &Path, cut: Vec<Lost>, found: Vec<Lost>) -> Vec<Lost> {
    // An unreadable file must not prevent reporting or opening.
    let losses = Losses::of(directory).unwrap_or_default();
    losses.with(cut.into_iter().chain(found).collect())
}

impl Drop for Local {
    fn drop(&mut self) {
        self.close();
    }
}

//! The store of one machine: one thread writes, anyone reads.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use super::disk::{Directory, Disk, DiskFile};
use super::index::{self, Place};
use super::lock::Lock;
use super::log::{Log, Position, Recovery, file_name};
use super::{Chunk, ChunkKind, Error, Filter, Receipt, SessionRow, Store, Stored, TraceRow};
use crate::otlp::decode;
use crate::span::TraceId;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; made if it is not there.
    pub directory: PathBuf,
    /// Attribute keys that name a session, best first.
    pub session_keys: Vec<String>,
    /// A segment that is larger than this is followed by the next.
    pub segment_size: u64,
    /// Instead of the directory itself, for the log's files.
    pub disk: Option<Arc<dyn Disk>>,
}

impl OpenOptions {
    /// The options of a directory, all others as they are by default.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            session_keys: Vec::new(),
            segment_size: 64 << 20,
            disk: None,
        }
    }
}

/// A store that was opened, and what was found then.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Local,
    /// What a crash or a disk left behind.
    pub recovery: Recovery,
}

/// The store of one machine.
#[derive(Debug)]
pub struct Local {
    reader: Reader,
    writer: Option<WriterHandle>,
}

#[derive(Debug)]
struct WriterHandle {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    bytes: Arc<AtomicU64>,
    summaries: Mutex<Option<Connection>>,
    _lock: Lock,
}

#[derive(Debug)]
struct Reader {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    files: RwLock<HashMap<u64, Arc<dyn DiskFile>>>,
    index: Mutex<Connection>,
}

struct Job {
    chunks: Vec<Chunk>,
    done: Box<dyn FnOnce(Result<Receipt, Error>) + Send>,
}

/// At most so many bytes go into one commit; a larger request goes alone.
const COMMIT_BYTES: usize = 16 << 20;

impl Local {
    /// Opens a directory for reading and writing; takes its lock.
    ///
    /// # Errors
    ///
    /// Another process writes to it, or it cannot be used.
    pub fn open(options: &OpenOptions) -> Result<Opened, Error> {
        let directory = &options.directory;
        std::fs::create_dir_all(directory).map_err(|source| Error::Io {
            doing: "make",
            path: directory.clone(),
            source: Arc::new(source),
        })?;
        let lock = Lock::take(directory)?;
        let disk = options.disk.clone().unwrap_or_else(|| Arc::new(Directory::new(directory)));
        let (log, index, recovery) = open_and_replay(options, &disk)?;
        let reader = Reader {
            directory: directory.clone(),
            disk,
            files: RwLock::default(),
            index: Mutex::new(index::open_beside(directory)?),
        };
        let (sender, jobs) = channel();
        let bytes = Arc::new(AtomicU64::new(0));
        let mut commits = Commits {
            log,
            index,
            behind: false,
            options: options.clone(),
            bytes: Arc::clone(&bytes),
        };
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || commits.run(&jobs))
            .map_err(|source| Error::Io {
                doing: "start the writing thread for",
                path: directory.clone(),
                source: Arc::new(source),
            })?;
        let writer = WriterHandle {
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            bytes,
            summaries: Mutex::default(),
            _lock: lock,
        };
        let store = Self {
            reader,
            writer: Some(writer),
        };
        Ok(Opened { store, recovery })
    }

    /// Opens a directory for reading only, also beside a process that writes to it.
    ///
    /// # Errors
    ///
    /// There is no store in it, or it cannot be read.
    pub fn open_to_read(directory: &Path) -> Result<Self, Error> {
        let index = index::open_to_read(directory)?;
        Ok(Self {
            reader: Reader {
                directory: directory.to_owned(),
                disk: Arc::new(Directory::read_only(directory)),
                files: RwLock::default(),
                index: Mutex::new(index),
            },
            writer: None,
        })
    }

    /// Makes the index anew from the log.
    ///
    /// # Errors
    ///
    /// Another process writes to the directory, or it cannot be used.
    pub fn reindex(options: &OpenOptions) -> Result<Opened, Error> {
        let lock = Lock::take(&options.directory)?;
        index::remove(&options.directory)?;
        drop(lock);
        Self::open(options)
    }

    /// Bytes of messages that were appended since the store was opened.
    #[must_use]
    pub fn appended_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.bytes.load(Ordering::Relaxed))
    }

    /// What was computed of a trace, if it was at this revision.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        index::summary(&self.reader.index(), trace_id, revision)
    }

    /// Keeps what was computed of a trace at a revision; nothing if the store is open for reading only.
    ///
    /// # Errors
    ///
    /// The index cannot be written.
    pub fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let mut connection = writer.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *connection {
            Some(connection) => connection,
            none => none.insert(index::open(&self.reader.directory)?),
        };
        index::put_summary(connection, trace_id, revision, summary)
    }

    /// Takes no more chunks, and waits until those that wait are on the disk.
    pub fn close(&self) {
        let Some(writer) = &self.writer else { return };
        writer.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = writer.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.close();
    }
}

fn open_and_replay(options: &OpenOptions, disk: &Arc<dyn Disk>) -> Result<(Log, Connection, Recovery), Error> {
    match replay(options, disk) {
        Ok(Some(opened)) => Ok(opened),
        Ok(None) => rebuild(options, disk, "it covered more than the log holds".to_owned()),
        Err(Error::Index { source, .. }) if is_corrupt(&source) => rebuild(options, disk, source.to_string()),
        Err(error) => Err(error),
    }
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
    )
}

fn rebuild(options: &OpenOptions, disk: &Arc<dyn Disk>, why: String) -> Result<(Log, Connection, Recovery), Error> {
    index::remove(&options.directory)?;
    let (log, index, mut recovery) = replay(options, disk)?.ok_or(Error::Closed)?;
    recovery.index_rebuilt = Some(why);
    Ok((log, index, recovery))
}

/// Opens log and index, and brings the index up to the log's end. `None`: the index covers more than there is.
fn replay(options: &OpenOptions, disk: &Arc<dyn Disk>) -> Result<Option<(Log, Connection, Recovery)>, Error> {
    let mut index = index::open(&options.directory)?;
    let covered = index::covered(&index)?;
    let writer = index::Writer::begin(&mut index)?;
    let keys: Vec<&str> = options.session_keys.iter().map(String::as_str).collect();
    let (log, recovery) = Log::open(
        Arc::clone(disk),
        &options.directory,
        options.segment_size,
        covered,
        &mut |at, head, message| {
            // A kind of a later version, or a message that a later version understands, stays in the log.
            let Some(kind) = head.kind() else { return Ok(()) };
            match Chunk::of_record(kind, message, &keys) {
                Ok(Some(chunk)) => writer.add(&chunk, at),
                Ok(None) | Err(_) => Ok(()),
            }
        },
    )?;
    let behind = log.end() < covered;
    let end = log.end();
    if behind {
        drop(writer);
        return Ok(None);
    }
    writer.commit(end)?;
    Ok(Some((log, index, recovery)))
}

/// What the writing thread owns.
struct Commits {
    log: Log,
    index: Connection,
    /// The index could not be written: it must catch up with the log before it is asked again.
    behind: bool,
    options: OpenOptions,
    bytes: Arc<AtomicU64>,
}

impl Commits {
    fn run(&mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            let mut bytes = batch.iter().map(Job::bytes).sum::<usize>();
            while bytes < COMMIT_BYTES
                && let Ok(job) = jobs.try_recv()
            {
                bytes += job.bytes();
                batch.push(job);
            }
            let results = self.commit(&batch);
            for (job, result) in batch.into_iter().zip(results) {
                (job.done)(result);
            }
        }
    }

    fn commit(&mut self, batch: &[Job]) -> Vec<Result<Receipt, Error>> {
        match self.try_commit(batch) {
            Ok(receipts) => receipts.into_iter().map(Ok).collect(),
            Err(error) => {
                if let [_, _, ..] = batch
                    && matches!(error, Error::TooLarge { .. } | Error::Full { .. })
                {
                    // The fault may be that of one request: the others get their own try.
                    return batch.chunks(1).flat_map(|job| self.commit(job)).collect();
                }
                batch.iter().map(|_| Err(error.clone())).collect()
            }
        }
    }

    fn try_commit(&mut self, batch: &[Job]) -> Result<Vec<Receipt>, Error> {
        self.log.check()?;
        if self.behind {
            self.catch_up()?;
        }
        let writer = index::Writer::begin(&mut self.index)?;
        let mut receipts = Vec::with_capacity(batch.len());
        let mut fresh: Vec<&Chunk> = Vec::new();
        let mut seen = HashSet::new();
        for job in batch {
            let mut receipt = Receipt::default();
            for chunk in &job.chunks {
                if !seen.insert((chunk.digest, chunk.kind, &chunk.part.key)) || writer.has(chunk)? {
                    receipt.duplicates += chunk.part.items;
                } else {
                    receipt.stored += chunk.part.items;
                    fresh.push(chunk);
                }
            }
            receipts.push(receipt);
        }
        if fresh.is_empty() {
            return Ok(receipts);
        }
        let places = self.log.append(&fresh, now())?;
        let written: usize = fresh.iter().map(|chunk| chunk.bytes.len()).sum();
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        let indexed = fresh
            .iter()
            .zip(places)
            .try_for_each(|(chunk, at)| writer.add(chunk, at))
            .and_then(|()| writer.commit(self.log.end()));
        // The spans are safe but could not be found: no acknowledgement. Sent again, they are duplicates.
        if let Err(error) = indexed {
            self.behind = true;
            return Err(error);
        }
        Ok(receipts)
    }

    /// Replays into the index what the log has beyond it.
    fn catch_up(&mut self) -> Result<(), Error> {
        let disk = self
            .options
            .disk
            .clone()
            .unwrap_or_else(|| Arc::new(Directory::new(&self.options.directory)));
        let (log, index, _) = open_and_replay(&self.options, &disk)?;
        (self.log, self.index, self.behind) = (log, index, false);
        Ok(())
    }
}

impl Job {
    fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes.len()).sum()
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Reader {
    fn index(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, segment: u64) -> Result<Arc<dyn DiskFile>, Error> {
        if let Some(file) = self.files.read().unwrap_or_else(PoisonError::into_inner).get(&segment) {
            return Ok(Arc::clone(file));
        }
        let name = file_name(segment);
        let file: Arc<dyn DiskFile> = self.disk.open(&name).map_err(|source| self.failure(&name, source))?.into();
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(files.entry(segment).or_insert(file)))
    }

    fn failure(&self, name: &str, source: std::io::Error) -> Error {
        Error::Io {
            doing: "read",
            path: self.directory.join(name),
            source: Arc::new(source),
        }
    }

    fn message(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        let file = self.file(at.segment)?;
        let read = super::log::recovery::read_message(&*file, at.offset);
        let read = read.map_err(|source| self.failure(&file_name(at.segment), source))?;
        Ok(read.map(|(_, message)| message))
    }

    fn add(&self, stored: &mut Stored, place: Place) -> Result<(), Error> {
        let Position { segment, offset } = place.at;
        let Some(message) = self.message(place.at)? else {
            stored
                .damaged
                .push(format!("segment {segment}, byte {offset}: damaged on the disk"));
            return Ok(());
        };
        let decoded = match place.kind {
            ChunkKind::Spans => decode::traces(&message).map(|decoded| stored.spans.extend(decoded.items)),
            _ => decode::logs(&message).map(|decoded| stored.logs.extend(decoded.items)),
        };
        if let Err(error) = decoded {
            stored.damaged.push(format!("segment {segment}, byte {offset}: {error}"));
        }
        Ok(())
    }
}

impl Store for Local {
    fn submit(&self, chunks: Vec<Chunk>, done: Box<dyn FnOnce(Result<Receipt, Error>) + Send>) {
        let Some(writer) = &self.writer else {
            return done(Err(Error::ReadOnly));
        };
        if chunks.is_empty() {
            return done(Ok(Receipt::default()));
        }
        let job = Job { chunks, done };
        let jobs = writer.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match &*jobs {
            Some(sender) => sender.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        drop(jobs);
        if let Some(job) = refused {
            (job.done)(Err(Error::Closed));
        }
    }

    fn read_trace(&self, trace_id: TraceId) -> Result<Option<Stored>, Error> {
        let filter = Filter {
            traces: vec![trace_id],
            ..Filter::default()
        };
        let (places, loose) = {
            let index = self.reader.index();
            let Some(row) = index::list(&index, &filter)?.pop() else {
                return Ok(None);
            };
            let loose = match &row.session {
                Some(session) => index::loose_chunks(&index, session, row.start, row.end)?,
                None => Vec::new(),
            };
            (index::traces_chunks(&index, trace_id)?, (loose, row))
        };
        let mut stored = Stored::default();
        for place in places {
            self.reader.add(&mut stored, place)?;
        }
        let (loose, row) = loose;
        let mut of_session = Stored::default();
        for place in loose {
            self.reader.add(&mut of_session, place)?;
        }
        let in_time = |nanos: u64| (row.start..=row.end).contains(&nanos);
        stored
            .logs
            .extend(of_session.logs.into_iter().filter(|record| in_time(record.when().0)));
        stored.damaged.extend(of_session.damaged);
        Ok(Some(stored))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        index::list(&self.reader.index(), filter)
    }

    fn sessions(&self, limit: usize) -> Result<Vec<SessionRow>, Error> {
        index::sessions(&self.reader.index(), limit)
    }
}

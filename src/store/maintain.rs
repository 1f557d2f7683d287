//! Work in the background: sealed segments are compressed, and segments that retention no longer keeps are removed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::clock::now;
use super::disk::Disk;
use super::error::{Error, of_io};
use super::index::{self, Checked};
use super::log::{Compressed, Form, compress, file_name, segments_of};
use super::options::{OpenOptions, Retention};
use super::segments::{Listing, Segments};
use super::state::State;
use crate::span::TraceId;

/// What maintenance did.
#[derive(Debug, Clone, Default)]
pub struct Maintained {
    /// Segments that were compressed.
    pub compressed_segments: u64,
    /// Their bytes before.
    pub compressed_from_bytes: u64,
    /// Their bytes now.
    pub compressed_to_bytes: u64,
    /// Segments that stay as they came because parts of them are damaged.
    pub damaged_segments: u64,
    /// Segments that retention removed.
    pub removed_segments: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// What failed last; it is tried again.
    pub failure: Option<Error>,
}

/// How often the thread looks for work.
const EVERY: Duration = Duration::from_secs(5);
/// Compression waits while requests come, until so many segments wait for it.
const BACKLOG: usize = 64;
/// The store counts as idle after this long without a request. Under load there are gaps of a few milliseconds between commits.
const CALM: Duration = Duration::from_millis(20);
/// How many traces are removed in one transaction, so that requests do not wait long for theirs.
const TRACES: usize = 200;

enum Command {
    Now(SyncSender<Result<Maintained, Error>>),
    Stop,
}

/// The thread that maintains a store.
#[derive(Debug)]
pub(super) struct Maintenance {
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    so_far: Arc<Mutex<Maintained>>,
    stopping: Arc<AtomicBool>,
}

impl Maintenance {
    /// `checked` is what is known of the index: a check that was not finished is done first.
    pub(super) fn start(
        options: &OpenOptions,
        disk: Arc<dyn Disk>,
        segments: Arc<Segments>,
        state: Arc<State>,
        checked: Checked,
    ) -> io::Result<Self> {
        let (commands, inbox) = channel();
        let so_far = Arc::new(Mutex::new(Maintained::default()));
        let stopping = Arc::new(AtomicBool::new(false));
        let mut work = Work {
            directory: options.directory.clone(),
            retention: options.retention,
            level: options.compression,
            session_keys: options.session_keys.clone(),
            disk,
            segments,
            state,
            stopping: Arc::clone(&stopping),
            settled: BTreeSet::new(),
            last_arrival: None,
            checked,
            done: Maintained::default(),
        };
        let shared = Arc::clone(&so_far);
        let thread = thread::Builder::new().name("maintain".to_owned()).spawn(move || {
            loop {
                let command = inbox.recv_timeout(EVERY);
                if matches!(command, Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected)) {
                    return;
                }
                let outcome = work.run(matches!(command, Ok(Command::Now(_))));
                work.done.failure = outcome.as_ref().err().cloned();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = work.done.clone();
                if let Ok(Command::Now(reply)) = command {
                    let _ = reply.send(outcome.map(|()| work.done.clone()));
                }
            }
        })?;
        Ok(Self {
            commands,
            thread: Mutex::new(Some(thread)),
            so_far,
            stopping,
        })
    }

    pub(super) fn now(&self) -> Result<Maintained, Error> {
        let (reply, answer) = sync_channel(1);
        self.commands.send(Command::Now(reply)).map_err(|_| Error::Closed)?;
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    pub(super) fn so_far(&self) -> Maintained {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let _ = self.commands.send(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Since when no request came.
struct Calm {
    requests: usize,
    since: Instant,
}

impl Calm {
    fn new(state: &State) -> Self {
        Self {
            requests: state.requests.load(Ordering::Relaxed),
            since: Instant::now(),
        }
    }

    /// Whether that is long enough.
    fn holds(&mut self, state: &State) -> bool {
        if state.waiting.load(Ordering::Relaxed) > 0 || state.requests.load(Ordering::Relaxed) != self.requests {
            *self = Self::new(state);
        }
        self.since.elapsed() >= CALM
    }
}

struct Work {
    directory: PathBuf,
    retention: Retention,
    level: Option<i32>,
    session_keys: Vec<String>,
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    state: Arc<State>,
    stopping: Arc<AtomicBool>,
    /// Sealed segments with which nothing is left to do.
    settled: BTreeSet<u64>,
    /// Of the sealed segment that was asked last: when its last chunk came.
    last_arrival: Option<(u64, Option<u64>)>,
    /// What is known of the index.
    checked: Checked,
    done: Maintained,
}

impl Work {
    fn run(&mut self, at_once: bool) -> Result<(), Error> {
        self.retain()?;
        self.compress(at_once)?;
        self.check()
    }

    /// Ends the check of the index that opening had no time for.
    fn check(&mut self) -> Result<(), Error> {
        // Unfinished once more: the store is being closed.
        if self.checked == Checked::Unfinished {
            let stopping = &self.stopping;
            self.checked = index::check_in_use(&self.directory, &|| stopping.load(Ordering::Relaxed))?;
        }
        match &self.checked {
            Checked::Damaged(fault) => Err(Error::IndexDamaged { fault: fault.clone() }),
            Checked::Whole | Checked::Unfinished => Ok(()),
        }
    }

    fn failure(&self, doing: &'static str, segment: u64) -> impl Fn(io::Error) -> Error {
        let path = self.directory.join(file_name(segment));
        move |source| of_io(doing, &path, source)
    }

    /// The sealed segments, oldest first.
    fn sealed(&self) -> Result<Vec<u64>, Error> {
        let active = self.state.segment.load(Ordering::Acquire);
        let mut all = segments_of(&*self.disk).map_err(self.failure("list the directory of", active))?;
        all.retain(|segment| *segment < active);
        Ok(all)
    }

    fn compress(&mut self, at_once: bool) -> Result<(), Error> {
        let Some(level) = self.level else { return Ok(()) };
        let mut raw: Vec<u64> = self.sealed()?;
        raw.retain(|segment| !self.settled.contains(segment));
        let backlog = raw.len();
        let mut calm = Calm::new(&self.state);
        for (ready, number) in raw.into_iter().enumerate() {
            let segment = self.segments.segment(number)?;
            if segment.form() == Form::Raw {
                let patient = !at_once && backlog - ready <= BACKLOG;
                let mut go_on = || self.go_on(patient, &mut calm);
                let outcome = compress(&*self.disk, &segment, level, &mut go_on).map_err(self.failure("compress", number))?;
                match outcome {
                    Compressed::Done { from, to } => {
                        self.segments.forget(number);
                        self.done.compressed_segments += 1;
                        self.done.compressed_from_bytes += from;
                        self.done.compressed_to_bytes += to;
                    }
                    Compressed::Damaged => self.done.damaged_segments += 1,
                    Compressed::Stopped => return Ok(()),
                }
            }
            self.settled.insert(number);
        }
        Ok(())
    }

    fn go_on(&self, patient: bool, calm: &mut Calm) -> bool {
        while patient && !calm.holds(&self.state) && !self.stopping.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        !self.stopping.load(Ordering::Relaxed)
    }

    fn retain(&mut self) -> Result<(), Error> {
        if self.retention == Retention::default() {
            return Ok(());
        }
        let active = self.state.segment.load(Ordering::Acquire);
        let sealed = self.sealed()?;
        let mut sizes = Vec::with_capacity(sealed.len());
        for segment in sealed.iter().copied().chain([active]) {
            let size = self.disk.open(&file_name(segment)).and_then(|file| file.size());
            sizes.push(size.map_err(self.failure("ask for the size of", segment))?);
        }
        let mut total: u64 = sizes.iter().sum();
        let followers = sealed.iter().copied().skip(1).chain([active]);
        for ((segment, size), follower) in sealed.iter().copied().zip(sizes).zip(followers) {
            let too_much = self.retention.bytes.is_some_and(|most| total > most);
            if !too_much && !self.is_too_old(segment, follower)? || !self.remove(segment)? {
                return Ok(());
            }
            total -= size;
            self.done.removed_segments += 1;
            self.done.removed_bytes += size;
        }
        Ok(())
    }

    /// Whether all of a segment is.
    fn is_too_old(&mut self, number: u64, follower: u64) -> Result<bool, Error> {
        let Some(age) = self.retention.age else { return Ok(false) };
        let segment = self.segments.segment(follower)?;
        let next = segment.first_arrival().map_err(self.failure("read", follower))?;
        // Nothing may ever follow.
        let arrival = match next {
            Some(arrival) => Some(arrival),
            None => self.last_arrival(number)?,
        };
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        Ok(arrival.is_some_and(|arrival| now().saturating_sub(arrival) > age))
    }

    /// When the last chunk of a sealed segment came, as far as its heads can be read.
    fn last_arrival(&mut self, number: u64) -> Result<Option<u64>, Error> {
        if let Some((of, arrival)) = self.last_arrival
            && of == number
        {
            return Ok(arrival);
        }
        let (heads, _) = self.segments.segment(number)?.heads().map_err(self.failure("read", number))?;
        let arrival = heads.into_iter().map(|head| head.arrival).max();
        self.last_arrival = Some((number, arrival));
        Ok(arrival)
    }

    /// Removes a segment, from the index first: what the index names must exist. `false`: the store is being closed, and the next
    /// one to open it goes on.
    fn remove(&mut self, number: u64) -> Result<bool, Error> {
        let mut index = index::open_to_remove(&self.directory)?;
        let traces = self.traces(&index, number)?;
        let mut listing = Listing::new(&self.segments, &self.session_keys);
        for traces in traces.chunks(TRACES) {
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let remover = index::Remover::begin(&mut index)?;
            for trace_id in traces {
                let mut left = Vec::new();
                for place in remover.forget(*trace_id, number)? {
                    left.extend(listing.of(place.at)?);
                }
                remover.remake_row(*trace_id, &left)?;
            }
            remover.commit()?;
        }
        let remover = index::Remover::begin(&mut index)?;
        remover.forget_loose(number)?;
        remover.commit()?;
        self.disk.remove(&file_name(number)).map_err(self.failure("remove", number))?;
        self.disk.sync_names().map_err(self.failure("remove", number))?;
        self.segments.forget(number);
        self.settled.remove(&number);
        Ok(true)
    }

    /// The traces that have chunks in a segment.
    fn traces(&self, index: &rusqlite::Connection, number: u64) -> Result<Vec<TraceId>, Error> {
        let (heads, whole) = self.segments.segment(number)?.heads().map_err(self.failure("read", number))?;
        if !whole {
            // What is damaged cannot be asked for its trace.
            return index::traces_in(index, number);
        }
        let traces: BTreeSet<TraceId> = heads.into_iter().filter_map(|head| head.trace_id).collect();
        Ok(traces.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_calm_a_while_after_the_last_request() {
        let wait = |calm: &mut Calm, state: &State| {
            let begin = Instant::now();
            while !calm.holds(state) {
                thread::sleep(Duration::from_millis(1));
            }
            begin.elapsed()
        };
        let state = State::default();
        let mut calm = Calm::new(&state);
        let _ = wait(&mut calm, &state);
        assert!(calm.holds(&state), "still");
        state.requests.fetch_add(1, Ordering::Relaxed);
        assert!(wait(&mut calm, &state) >= CALM, "one came, and is stored already");
        state.waiting.store(1, Ordering::Relaxed);
        thread::sleep(2 * CALM);
        assert!(!calm.holds(&state), "one waits");
    }
}

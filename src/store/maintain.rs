//! Background work: compressing sealed segments, removing segments by retention, and erasing data deleted on request.

mod erase;
mod pace;
mod retain;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use super::disk::Disk;
use super::error::{Error, of_io};
use super::index::{self, Checked};
use super::log::{Compressed, Form, compress, file_name, segments_of};
use super::options::{OpenOptions, Retention};
use super::reserve::Reserve;
use super::segments::Segments;
use super::state::State;
use pace::Pace;

/// Results of maintenance.
#[derive(Debug, Clone, Default)]
pub struct Maintained {
    /// Number of segments compressed.
    pub compressed_segments: u64,
    /// Their size before.
    pub compressed_from_bytes: u64,
    /// Their size now.
    pub compressed_to_bytes: u64,
    /// Segments left uncompressed because parts of them are damaged.
    pub damaged_segments: u64,
    /// Number of segments removed by retention.
    pub removed_segments: u64,
    /// Their size.
    pub removed_bytes: u64,
    /// The last failure; the work is retried.
    pub failure: Option<Error>,
}

/// How often the thread looks for work without being told: for data that has become too old.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

enum Command {
    /// A segment was sealed.
    Sealed,
    Now(SyncSender<Result<Maintained, Error>>),
    /// Erase deleted data.
    Erase(SyncSender<Result<(), Error>>),
    Stop,
}

/// The maintenance thread of a store.
#[derive(Debug)]
pub(super) struct Maintenance {
    commands: Sealed,
    thread: Mutex<Option<JoinHandle<()>>>,
    so_far: Arc<Mutex<Maintained>>,
    stopping: Arc<AtomicBool>,
}

/// Notifies the thread of sealed segments.
#[derive(Debug, Clone)]
pub(super) struct Sealed(Sender<Command>);

impl Sealed {
    pub(super) fn notify(&self) {
        let _ = self.0.send(Command::Sealed);
    }
}

impl Maintenance {
    /// `checked`: the state of the index; an unfinished check is finished first.
    pub(super) fn start(
        options: &OpenOptions,
        (disk, segments, state, reserve): (Arc<dyn Disk>, Arc<Segments>, Arc<State>, Arc<Reserve>),
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
            looked: 0,
            gone: 0,
            erased: 0,
            checked,
            done: Maintained::default(),
            so_far: Arc::clone(&so_far),
        };
        let thread = thread::Builder::new().name("maintain".to_owned()).spawn(move || {
            loop {
                let command = inbox.recv_timeout(POLL_INTERVAL);
                let outcome = match command {
                    Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(Command::Erase(_)) => reserve.with_room(|| work.erase()),
                    Ok(Command::Sealed | Command::Now(_)) | Err(RecvTimeoutError::Timeout) => {
                        let at_once = matches!(command, Ok(Command::Now(_)));
                        reserve.with_room(|| work.run(at_once))
                    }
                };
                work.done.failure = outcome.as_ref().err().cloned();
                work.notify();
                match command {
                    Ok(Command::Now(reply)) => {
                        let _ = reply.send(outcome.map(|()| work.done.clone()));
                    }
                    Ok(Command::Erase(reply)) => {
                        let _ = reply.send(outcome);
                    }
                    _ => {}
                }
            }
        })?;
        Ok(Self {
            commands: Sealed(commands),
            thread: Mutex::new(Some(thread)),
            so_far,
            stopping,
        })
    }

    /// The notifier for the thread that seals segments.
    pub(super) fn sealed(&self) -> Sealed {
        self.commands.clone()
    }

    pub(super) fn now(&self) -> Result<Maintained, Error> {
        let (reply, answer) = sync_channel(1);
        self.commands.0.send(Command::Now(reply)).map_err(|_| Error::Closed)?;
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    /// Erases what deletions have left to erase.
    pub(super) fn erase(&self) -> Result<(), Error> {
        let (reply, answer) = sync_channel(1);
        self.commands.0.send(Command::Erase(reply)).map_err(|_| Error::Closed)?;
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    pub(super) fn so_far(&self) -> Maintained {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let _ = self.commands.0.send(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
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
    /// Sealed segments that need no more work.
    settled: BTreeSet<u64>,
    /// A cache of the last arrival: the segment last asked for, and its result.
    last_arrival: Option<(u64, Option<u64>)>,
    /// The active segment when retention last ran.
    looked: u64,
    /// The latest segment removed by retention.
    gone: u64,
    /// How many deletions are completely erased.
    erased: usize,
    /// The state of the index.
    checked: Checked,
    done: Maintained,
    /// Shared copy of `done`.
    so_far: Arc<Mutex<Maintained>>,
}

impl Work {
    fn run(&mut self, at_once: bool) -> Result<(), Error> {
        self.retain()?;
        self.erase()?;
        self.compress(at_once)?;
        self.check()
    }

    /// Finishes the check of the index that opening had no time for.
    fn check(&mut self) -> Result<(), Error> {
        // If it is unfinished again, the store is being closed.
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
        while let (Some(number), waiting) = self.uncompressed()? {
            let segment = self.segments.segment(number)?;
            if segment.form() == Form::Raw {
                let mut pace = Pace::new(&self.state, if at_once { pace::BACKLOG } else { waiting });
                let disk = Arc::clone(&self.disk);
                let mut failure = None;
                let mut go_on = || {
                    if pace.is_over(&self.state) && self.is_retention_due() {
                        failure = self.retain().err();
                    }
                    // Retention may have removed this segment.
                    failure.is_none() && self.gone < number && !self.stopping.load(Ordering::Relaxed)
                };
                let outcome = compress(&*disk, &segment, level, &mut go_on);
                if let Some(failure) = failure {
                    return Err(failure);
                }
                match outcome.map_err(self.failure("compress", number))? {
                    Compressed::Done { from, to } => {
                        self.segments.forget(number);
                        self.done.compressed_segments += 1;
                        self.done.compressed_from_bytes += from;
                        self.done.compressed_to_bytes += to;
                    }
                    Compressed::Damaged => self.done.damaged_segments += 1,
                    Compressed::Stopped if self.gone >= number => continue,
                    Compressed::Stopped => return Ok(()),
                }
                self.notify();
            }
            self.settled.insert(number);
        }
        Ok(())
    }

    /// The oldest sealed segment that may have to be compressed, and the number of such segments.
    fn uncompressed(&self) -> Result<(Option<u64>, usize), Error> {
        let mut raw = self.sealed()?;
        raw.retain(|segment| !self.settled.contains(segment));
        Ok((raw.first().copied(), raw.len()))
    }

    /// Publishes what was done.
    fn notify(&self) {
        *self.so_far.lock().unwrap_or_else(PoisonError::into_inner) = self.done.clone();
    }
}

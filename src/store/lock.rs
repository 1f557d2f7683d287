//! A lock, so that a directory has one writer. It is on the directory itself, which cannot be removed while it has files,
//! and on a file in it that names the process.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::Error;

/// Held while the store is open for writing. The system releases it when the process ends, in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    _directory: Option<File>,
    _file: File,
}

/// The purpose of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To write, for as long as the process runs.
    Write,
    /// To bring the index up to date before reading.
    Read,
}

/// How long to wait for a process that only brings the index up to date.
const READ_LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const WRITE_LOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// Text of the lock file, after the process id, while the purpose is [`Purpose::Read`].
const READS: &str = "which reads it";

impl Lock {
    /// Takes the lock of a directory, waiting for one held only to read.
    pub(super) fn take(directory: &Path, purpose: Purpose) -> Result<Self, Error> {
        let begin = Instant::now();
        loop {
            let outcome = Self::try_take(directory, purpose);
            let Err(Error::Locked { holder, .. }) = &outcome else {
                return outcome;
            };
            // A process that has just taken the lock may not have written its purpose yet.
            let patience = if holder.ends_with(READS) {
                READ_LOCK_TIMEOUT
            } else {
                WRITE_LOCK_TIMEOUT
            };
            if purpose == Purpose::Read || begin.elapsed() >= patience {
                return outcome;
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn try_take(directory: &Path, purpose: Purpose) -> Result<Self, Error> {
        let path = directory.join("lock");
        let io = |doing| {
            let path = path.clone();
            move |source| Error::Io {
                doing,
                path,
                source: Arc::new(source),
            }
        };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("open"))?;
        // The lock on the directory stays even if the file is removed or replaced.
        let itself = File::open(directory).map_err(io("open the directory of"))?;
        let locked = |outcome| match outcome {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(source)) => Err(source),
        };
        let directory_locked = match locked(itself.try_lock()) {
            Ok(free) => Some(free),
            // Network file systems may only lock files open for writing, which a directory never is.
            Err(source) if cannot_lock(&source) => None,
            Err(source) => return Err(io("lock the directory of")(source)),
        };
        let free = directory_locked != Some(false) && locked(file.try_lock()).map_err(io("lock"))?;
        if !free {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = holder.lines().next().unwrap_or_default().trim();
            return Err(Error::Locked {
                path: directory.to_owned(),
                holder: if holder.is_empty() {
                    "another process".to_owned()
                } else {
                    holder.to_owned()
                },
            });
        }
        // The holder's name only informs people: on a full disk it is left out.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = match purpose {
            Purpose::Write => writeln!(file, "process {}", std::process::id()),
            Purpose::Read => writeln!(file, "process {}, {READS}", std::process::id()),
        };
        Ok(Self {
            _directory: directory_locked.map(|_| itself),
            _file: file,
        })
    }
}

/// How to reach the server that holds the lock of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// The address for OTLP/HTTP.
    pub(crate) http: String,
    /// The address of the API.
    pub(crate) api: String,
}

impl Served {
    /// Appends it to the lock file, below the name of this process. It only informs, so failures are ignored.
    pub(crate) fn announce(&self, directory: &Path) {
        let file = File::options().append(true).open(directory.join("lock"));
        let _ = file.and_then(|mut file| writeln!(file, "{} {} {}", self.scheme, self.http, self.api));
    }

    /// Reads what the process with the lock announced; `None` if that is not a server.
    pub(crate) fn announced(directory: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(directory.join("lock")).ok()?;
        let mut words = text.lines().nth(1)?.split(' ').map(str::to_owned);
        Some(Self {
            scheme: words.next()?,
            http: words.next()?,
            api: words.next()?,
        })
    }
}

fn cannot_lock(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::BADF, Errno::NOTSUP, Errno::NOLCK, Errno::INVAL].contains(&Errno::from_io_error(error).unwrap_or(Errno::PERM))
}

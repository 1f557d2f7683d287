//! Why a command stopped.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::dataset::OutputError;
use crate::forward::ForwardError;
use crate::redact::Unredacted;
use crate::server::StartError;
use crate::sessions::SessionError;
use crate::store;
use crate::web::readers::Refusal;
use crate::web::single::Unread;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Failure {
    /// The command line is invalid.
    #[error("{message}")]
    Usage {
        /// What is wrong and what to do.
        message: String,
    },
    /// A file or directory could not be written.
    #[error("cannot write {path}", path = path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file named on the command line could not be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files of a data set cannot be written.
    #[error(transparent)]
    DataSet(#[from] OutputError),
    /// Spans cannot be redacted, so they get no documents.
    #[error("cannot redact the spans")]
    Redact {
        /// Why.
        source: Unredacted,
    },
    /// Rows for publication contain secrets.
    #[error(
        "the rows contain secrets, so they were removed again:\n  {list}\nMask them with --redact secrets, or let a form pass with \
         --allow-secret NAME"
    )]
    Secrets {
        /// The kinds of secrets, one per line.
        list: String,
    },
    /// Something named on the command line does not exist.
    #[error("{message}")]
    Missing {
        /// What does not exist.
        message: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A session file cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The files of a destination are unusable.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// Another process writes to the data directory.
    #[error("{path} is in use by {holder}; {advice}", path = path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Which process.
        holder: String,
        /// The command that works.
        advice: String,
    },
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Another spanbridge uses a port that this one needs.
    #[error(
        "another spanbridge listens on {address}; use that one (spanbridge ls), stop it, or give this one ports of its own: \
         {flag} HOST:PORT"
    )]
    Held {
        /// The address.
        address: String,
        /// The flag that sets the address.
        flag: &'static str,
    },
    /// A running server did not answer, or not usably.
    #[error("{url}: {message}")]
    Server {
        /// The server.
        url: String,
        /// What happened.
        message: String,
    },
    /// A running server cannot answer this request completely; other requests may succeed.
    #[error("{url}: {message}")]
    Answer {
        /// The server.
        url: String,
        /// Its message, or what is wrong with it.
        message: String,
    },
    /// The system provides no threads or no signals.
    #[error("cannot start the server")]
    Runtime {
        /// Why.
        source: io::Error,
    },
    /// A run takes more memory than the server has for reading.
    #[error("this takes about {bytes} bytes of memory, more than the {limit} that reading may take; raise serve --max-read-bytes")]
    TooLarge {
        /// Estimated bytes needed.
        bytes: usize,
        /// Bytes available.
        limit: usize,
    },
    /// The server is busy with other requests.
    #[error("the server is busy with other requests; try again")]
    Busy,
    /// Standard output could not be written.
    #[error("cannot write to standard output")]
    Output {
        /// Why.
        source: io::Error,
    },
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::TooLarge { bytes, limit } => Self::TooLarge { bytes, limit },
            Refusal::Busy | Refusal::Cancelled => Self::Busy,
        }
    }
}

impl From<Unread> for Failure {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Refused(refusal) => refusal.into(),
            Unread::Store(error) => error.into(),
        }
    }
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into() }
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::Missing { message: message.into() }
    }

    /// For `map_err`: this path could not be written.
    pub(super) fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }

    /// For `map_err`: this path could not be read.
    pub(super) fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// The reader of our output has gone, like `head`: not worth a message.
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output { source } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage { .. } | Self::Start(StartError::Address { .. }) => ExitCode::from(2),
            _ => ExitCode::from(1),
        }
    }
}

/// The exit status of a command that has run: 1 if the input or the data was bad.
pub(super) fn exit_status(clean: bool) -> ExitCode {
    if clean { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

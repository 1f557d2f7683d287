//! Why a command stopped.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::dataset::OutputError;
use crate::forward::ForwardError;
use crate::redact::Unredacted;
use crate::server::StartError;
use crate::sessions::SessionError;
use crate::store;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Failure {
    /// The command line is wrong.
    #[error("{message}")]
    Usage {
        /// What is wrong and what to do.
        message: String,
    },
    /// A file or directory could not be written.
    #[error("cannot write {path}", path = path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that the call names could not be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files of a data set cannot be written.
    #[error(transparent)]
    DataSet(#[from] OutputError),
    /// Spans cannot be redacted, so no documents are made of them.
    #[error("cannot redact the spans")]
    Redact {
        /// Why.
        source: Unredacted,
    },
    /// Rows that are to be published contain secrets.
    #[error(
        "the rows contain secrets, so they were removed again:\n  {list}\nMask them with --redact secrets, or let a form pass with \
         --allow-secret NAME"
    )]
    Secrets {
        /// The forms, a line each.
        list: String,
    },
    /// What the call names is not there.
    #[error("{message}")]
    Missing {
        /// What.
        message: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A session file cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The files of a destination cannot be used.
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
    /// Another spanbridge has a port that this one needs.
    #[error(
        "another spanbridge listens on {address}; use that one (spanbridge ls), stop it, or give this one ports of its own: \
         {flag} HOST:PORT"
    )]
    Held {
        /// Where.
        address: String,
        /// The flag for the place.
        flag: &'static str,
    },
    /// A running server gave no answer, or an unusable one.
    #[error("{url}: {message}")]
    Server {
        /// Which.
        url: String,
        /// What happened.
        message: String,
    },
    /// A running server cannot answer this request completely; other requests may succeed.
    #[error("{url}: {message}")]
    Answer {
        /// Which.
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
    /// A run takes more memory than the server may read with.
    #[error("this takes about {bytes} bytes of memory, more than the {limit} that reading may take; raise serve --max-read-bytes")]
    TooLarge {
        /// About how many bytes it takes.
        bytes: usize,
        /// How many there are.
        limit: usize,
    },
    /// The server reads for others.
    #[error("the server is busy with other requests; try again")]
    Busy,
    /// Standard output could not be written.
    #[error("cannot write to standard output")]
    Output {
        /// Why.
        source: io::Error,
    },
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into() }
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::Missing { message: message.into() }
    }

    /// The reader of our output went away, as `head` does: not worth a word.
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

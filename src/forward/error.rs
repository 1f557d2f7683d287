//! Why a destination cannot be used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Project;
use crate::redact::RuleError;

/// A destination that is configured wrongly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No URL of a host.
    #[error("{url:?} is not a URL for a destination; write http://HOST:PORT or https://HOST:PORT")]
    Url {
        /// What was given.
        url: String,
    },
    /// A URL with a user or password, which would be shown wherever the URL is.
    #[error(
        "the URL of a destination must not contain a user or password; write headers = {{ authorization = \"Basic ${{env:NAME}}\" }} in its [[forward]] table"
    )]
    Credentials,
    /// Log records onto spans that stay as they came.
    #[error("logs = \"into-spans\" needs a dialect to write: openinference, genai or both")]
    IntoSpans,
    /// Log records onto spans that are not sent.
    #[error("logs = \"into-spans\" needs \"traces\" among the signals")]
    NoSpans,
    /// Log records that are sent and are none of the signals.
    #[error("logs = \"send\" needs \"logs\" among the signals")]
    NoLogs,
    /// Nothing is sent.
    #[error("it has no signals; add traces, logs or metrics to its signals")]
    NoSignal,
    /// A name that cannot be a file name.
    #[error(
        "{name:?} is not a name for a destination: use 1 to 64 lowercase letters, digits, `-`, `_` and `.`, starting with a letter or digit"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// Two destinations share a name.
    #[error("two destinations of one project are called {name:?}; give one of them another `name`")]
    Twice {
        /// The name.
        name: String,
    },
    /// No such preset.
    #[error("there is no preset {preset:?}; the presets are {known}")]
    Preset {
        /// What was given.
        preset: String,
        /// Those that there are.
        known: String,
    },
    /// A name that is nearly that of a preset.
    #[error(
        "there is no preset {name:?}; did you mean {meant:?}? For a destination of that name, write a [[forward]] table with a `preset` (\"otlp\" adds no attributes)"
    )]
    NearPreset {
        /// What was given.
        name: String,
        /// The preset that is meant.
        meant: &'static str,
    },
    /// A header that HTTP does not allow.
    #[error("the header {header:?} has a name or value that HTTP does not allow")]
    Header {
        /// Its name.
        header: String,
    },
    /// A variable or file that a header's value names is not there.
    #[error("the header {header:?} takes its value from {from}, which cannot be read")]
    HeaderValue {
        /// Its name.
        header: String,
        /// `env:NAME` or `file:PATH`.
        from: String,
    },
    /// No kind of operation.
    #[error("there is no kind of operation {kind:?}; the kinds are {known}")]
    Kind {
        /// What was given.
        kind: String,
        /// Those that there are.
        known: String,
    },
    /// A pattern that cannot be used.
    #[error("the pattern {pattern:?} in {key} is too large")]
    Pattern {
        /// The setting.
        key: &'static str,
        /// What was given.
        pattern: String,
    },
    /// A redaction rule that cannot be used.
    #[error(transparent)]
    Redaction(#[from] RuleError),
    /// A number that makes no sense.
    #[error("`{key}` must be {expected}")]
    Number {
        /// The setting.
        key: &'static str,
        /// What is allowed.
        expected: &'static str,
    },
    /// The project's name.
    #[error("{reason}")]
    Project {
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate or key.
    #[error("{what} in {path}: {reason}", path = path.display())]
    Tls {
        /// What was looked for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Why forwarding does not start.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// A destination's configuration.
    #[error("destination {destination}: {source}")]
    Config {
        /// Which.
        destination: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// A destination names a project that has no store.
    #[error("destination {destination}: there is no project {project}; a project exists once a token names it")]
    NoProject {
        /// Which.
        destination: String,
        /// The project.
        project: Project,
    },
    /// A file beside the store.
    #[error("cannot {doing} {path}", path = path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The file of a destination's position is not what was written.
    #[error("{path} is damaged ({reason}); the next start puts it aside and sends everything again", path = path.display())]
    Progress {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] crate::store::Error),
    /// A destination refuses everything until somebody mends what is wrong.
    #[error("{reason}")]
    Refused {
        /// Its message.
        reason: String,
    },
    /// The threads that send.
    #[error("cannot start the threads of forwarding: {0}")]
    Threads(Arc<io::Error>),
}

impl ForwardError {
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            doing,
            path,
            source: Arc::new(source),
        }
    }
}

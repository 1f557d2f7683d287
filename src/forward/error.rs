//! Why a destination cannot be used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Project;
use crate::redact::RuleError;

/// An invalid configuration of a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Not a URL with a host.
    #[error("{url:?} is not a URL for a destination; write http://HOST:PORT or https://HOST:PORT")]
    Url {
        /// The configured value.
        url: String,
    },
    /// A URL with a user or password, which would appear wherever the URL is shown.
    #[error(
        "the URL of a destination must not contain a user or password; write headers = {{ authorization = \"Basic ${{env:NAME}}\" }} in its [[forward]] table"
    )]
    Credentials,
    /// Log records are to go onto spans that are sent byte for byte.
    #[error("logs = \"into-spans\" needs a dialect to write: openinference, genai or both")]
    IntoSpans,
    /// Log records are to go onto spans that are not sent.
    #[error("logs = \"into-spans\" needs \"traces\" among the signals")]
    NoSpans,
    /// Log records are to be sent but are not among the signals.
    #[error("logs = \"send\" needs \"logs\" among the signals")]
    NoLogs,
    /// Nothing is sent.
    #[error("it has no signals; add traces, logs or metrics to its signals")]
    NoSignal,
    /// A name that is not allowed as a file name.
    #[error(
        "{name:?} is not a name for a destination: use 1 to 64 lowercase letters, digits, `-`, `_` and `.`, starting with a letter or digit"
    )]
    Name {
        /// The configured value.
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
        /// The configured value.
        preset: String,
        /// The existing presets.
        known: String,
    },
    /// A name that is nearly that of a preset.
    #[error(
        "there is no preset {name:?}; did you mean {meant:?}? For a destination of that name, write a [[forward]] table with a `preset` (\"otlp\" adds no attributes)"
    )]
    NearPreset {
        /// The configured value.
        name: String,
        /// The preset that was probably meant.
        meant: &'static str,
    },
    /// A header that HTTP does not allow.
    #[error("the header {header:?} has a name or value that HTTP does not allow")]
    Header {
        /// Its name.
        header: String,
    },
    /// A variable or file referenced in a header's value does not exist.
    #[error("the header {header:?} takes its value from {from}, which cannot be read")]
    HeaderValue {
        /// Its name.
        header: String,
        /// `env:NAME` or `file:PATH`.
        from: String,
    },
    /// An unknown kind of operation.
    #[error("there is no kind of operation {kind:?}; the kinds are {known}")]
    Kind {
        /// The configured value.
        kind: String,
        /// The existing kinds.
        known: String,
    },
    /// An unusable pattern.
    #[error("the pattern {pattern:?} in {key} is too large")]
    Pattern {
        /// The setting.
        key: &'static str,
        /// The configured value.
        pattern: String,
    },
    /// An unusable redaction rule.
    #[error(transparent)]
    Redaction(#[from] RuleError),
    /// A number that is not allowed.
    #[error("`{key}` must be {expected}")]
    Number {
        /// The setting.
        key: &'static str,
        /// The allowed values.
        expected: &'static str,
    },
    /// An invalid project name.
    #[error("{reason}")]
    Project {
        /// What is wrong with the name.
        reason: String,
    },
    /// An unusable certificate or key.
    #[error("{what} in {path}: {reason}", path = path.display())]
    Tls {
        /// What was expected.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Why forwarding cannot start or continue.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// A destination's configuration is invalid.
    #[error("destination {destination}: {source}")]
    Config {
        /// The destination.
        destination: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// The destination.
    #[error("destination {destination}: there is no project {project}; a project exists once a token names it")]
    NoProject {
        /// Which.
        destination: String,
        /// The project.
        project: Project,
    },
    /// A file next to the store cannot be used.
    #[error("cannot {doing} {path}", path = path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The progress file of a destination is damaged.
    #[error("{path} is damaged ({reason}); the next start puts it aside and sends everything again", path = path.display())]
    Progress {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::store::Error),
    /// A destination refuses everything until its configuration is fixed.
    #[error("{reason}")]
    Refused {
        /// The destination's message.
        reason: String,
    },
    /// The sending threads cannot be started.
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

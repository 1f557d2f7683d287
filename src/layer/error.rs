//! Why the Layer cannot be set up.

use std::fmt;
use std::path::PathBuf;

/// Why [`init`](crate::init) or [`Setup`](super::Setup) failed. `Debug` prints the same as `Display`, since that is what a `main` that
/// returns the error shows.
#[non_exhaustive]
pub enum InitError {
    /// The OTLP exporter cannot be built from the environment.
    Exporter(opentelemetry_otlp::ExporterBuildError),
    /// `OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`, and the crate was built without the feature `layer-grpc`.
    NoGrpc,
    /// A certificate or key named in the environment cannot be read.
    Certificate {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The program already has a global subscriber: compose with [`layer()`](super::layer()) instead.
    Subscriber(Box<dyn std::error::Error + Send + Sync>),
    /// A thread or file that the Layer needs cannot be created.
    Io {
        /// Its purpose.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exporter(error) => {
                let words = error.to_string();
                // The only fault of an endpoint that can be detected before it is used.
                let advice = if words.contains("invalid endpoint") {
                    " (an endpoint begins with http:// or https://)"
                } else {
                    ""
                };
                write!(f, "cannot create the OTLP exporter from the OTEL_* variables: {words}{advice}")
            }
            Self::NoGrpc => f.write_str(
                "OTEL_EXPORTER_OTLP_PROTOCOL=grpc needs the feature `layer-grpc` of the crate spanbridge; use http/protobuf without it",
            ),
            Self::Certificate { path, source } => write!(f, "cannot read a certificate or key from {}: {source}", path.display()),
            Self::Subscriber(error) => write!(
                f,
                "another global subscriber is already set; add spanbridge::layer() to it instead: {error}"
            ),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl fmt::Debug for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for InitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Exporter(error) => Some(error),
            Self::Certificate { source, .. } | Self::Subscriber(source) => Some(source.as_ref()),
            Self::Io { source, .. } => Some(source),
            Self::NoGrpc => None,
        }
    }
}

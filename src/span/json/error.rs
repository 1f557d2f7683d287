//! Why text cannot be read as OTLP/JSON.

use std::fmt;

use crate::span::Signal;

/// Text that is not OTLP/JSON.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON, or a value has the wrong type; the source names line and column.
    Syntax {
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The message carries another signal.
    WrongSignal {
        /// The expected signal.
        wanted: Signal,
        /// The signal it carries.
        found: Signal,
    },
    /// An object without any of the three keys.
    NotOtlp,
    /// Traces in a form that is not OTLP.
    Other {
        /// The form, and the key by which it was recognized.
        what: &'static str,
    },
    /// The keys are in snake_case, as some protobuf printers write them.
    SnakeCase,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { source } if source.is_eof() => f.write_str("the JSON ends in the middle"),
            Self::Syntax { .. } => f.write_str("not OTLP/JSON"),
            Self::WrongSignal { wanted, found } => write!(f, "this message carries {found}, not {wanted}; it belongs to {}", found.path()),
            Self::NotOtlp => f.write_str("the object has none of resourceSpans, resourceLogs, resourceMetrics"),
            Self::Other { what } => write!(
                f,
                "this is not OTLP/JSON: the object has {what}; export the traces as OTLP (resourceSpans)"
            ),
            Self::SnakeCase => f.write_str("the keys are in snake_case; OTLP/JSON writes them in lowerCamelCase (resourceSpans)"),
        }
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Syntax { source } => Some(source),
            _ => None,
        }
    }
}

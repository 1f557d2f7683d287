//! OTLP/JSON: the protocol's own JSON form, in and out.
//!
//! As the specification says: ids are hexadecimal in any case (other bytes are base64), 64-bit integers are text or
//! numbers, enums are integers (their names are understood too), keys are lowerCamelCase, unknown keys are ignored.
//! Ids in base64, which a plain protobuf-to-JSON printer writes, are recognised and said so.

mod fields;
mod number;
mod read;
mod write;

use std::fmt;

pub use read::{Items, Kept, Message, MessageOf, OfResource};
pub use write::{log_records, spans, write_trace};

use super::{Decoded, LogRecord, Signal, Span};

/// Text that is not OTLP/JSON.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON, or a value has the wrong type; the source names line and column.
    Syntax {
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The message carries another signal.
    WrongSignal {
        /// What was asked for.
        wanted: Signal,
        /// What it carries.
        found: Signal,
    },
    /// An object without any of the three keys.
    NotOtlp,
    /// The keys are in snake_case, as some protobuf printers write them.
    SnakeCase,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { .. } => f.write_str("not OTLP/JSON"),
            Self::WrongSignal { wanted, found } => write!(f, "this message carries {found}, not {wanted}; it belongs to {}", found.path()),
            Self::NotOtlp => f.write_str("the object has none of resourceSpans, resourceLogs, resourceMetrics"),
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

/// The spans of a traces message. `{}` has none.
///
/// # Errors
///
/// Not JSON, not a traces message, or a value of the wrong type. A span without a usable id is among the refused.
pub fn traces(bytes: &[u8]) -> Result<Decoded<Span>, JsonError> {
    let message = Message::parse(bytes)?;
    message.expect(Signal::Traces)?;
    Ok(message.into_parts().0)
}

/// The records of a logs message. `{}` has none.
///
/// # Errors
///
/// Not JSON, not a logs message, or a value of the wrong type. A record with base64 ids is among the refused.
pub fn logs(bytes: &[u8]) -> Result<Decoded<LogRecord>, JsonError> {
    let message = Message::parse(bytes)?;
    message.expect(Signal::Logs)?;
    Ok(message.into_parts().1)
}

//! Reads and writes OTLP/JSON, the protocol's own JSON form.
//!
//! As specified, ids are hexadecimal in any case (other bytes are base64), 64-bit integers are text or numbers, enums are integers (names
//! are understood too), keys are lowerCamelCase, and unknown keys are ignored. Ids in base64, as written by plain protobuf-to-JSON
//! printers, are recognized and reported.

#[cfg(feature = "server")]
pub(crate) mod console;
#[cfg(feature = "server")]
mod derived_ids;
mod error;
mod fields;
mod jaeger_traces;
mod mend;
mod number;
#[cfg(feature = "server")]
mod other_forms;
mod read;
mod write;

#[cfg(feature = "server")]
pub(crate) use derived_ids::with_derived_ids;
pub use error::JsonError;
pub use mend::{Mended, mend};
#[cfg(feature = "server")]
pub(crate) use other_forms::as_otlp;
pub use read::{Items, Kept, Message, MessageOf, OfResource};
#[cfg(feature = "server")]
pub(crate) use write::write_trace;
pub use write::{log_records, spans};

use super::{Decoded, LogRecord, Signal, Span};

/// Reads the spans of a traces message. `{}` has none.
///
/// # Errors
///
/// Not JSON, not a traces message, or a value of the wrong type. A span without a usable id is refused on its own.
pub fn traces(bytes: &[u8]) -> Result<Decoded<Span>, JsonError> {
    let message = Message::parse(bytes)?;
    message.expect(Signal::Traces)?;
    Ok(message.into_parts().0)
}

/// Reads the records of a logs message. `{}` has none.
///
/// # Errors
///
/// Not JSON, not a logs message, or a value of the wrong type. A record with base64 ids is refused on its own.
pub fn logs(bytes: &[u8]) -> Result<Decoded<LogRecord>, JsonError> {
    let message = Message::parse(bytes)?;
    message.expect(Signal::Logs)?;
    Ok(message.into_parts().1)
}

//! Entry points for `tests/fuzz` to code of the command line. Not part of the API.

use super::input::Batch;
use crate::span::{LogRecord, Span};

/// The spans and log records in a file with these bytes, and the problems of reading it.
#[must_use]
pub fn recognise(bytes: &[u8]) -> (Vec<Span>, Vec<LogRecord>, Vec<String>) {
    let mut batch = Batch::new(super::input::DEFAULT_LIMIT, None);
    batch.add("file", bytes);
    let problems = batch.problems.iter().map(|problem| super::out::with_causes(problem)).collect();
    (batch.spans, batch.logs, problems)
}

/// Parses a moment, as in a flag, to nanoseconds since 1970.
///
/// # Errors
///
/// The text is not a moment; the error explains how to write one.
pub fn moment(text: &str) -> Result<u64, String> {
    super::time::moment(text)
}

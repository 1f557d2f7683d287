//! The one place that prints.
#![expect(clippy::print_stderr, reason = "this module is the way to standard error")]

use std::error::Error;
use std::io::{self, Write as _};

/// Writes a line to standard output.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")
}

/// Flushes standard output.
pub(super) fn flush() -> io::Result<()> {
    io::stdout().lock().flush()
}

/// Writes a message for people to standard error.
pub(super) fn note(text: &str) {
    eprintln!("spanbridge: {text}");
}

/// Writes an error with its causes to standard error.
pub(super) fn error(error: &dyn Error) {
    eprintln!("spanbridge: {}", with_causes(error));
}

/// The error's words and those of its causes, on one line.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

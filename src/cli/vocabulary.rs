//! The dialects and keys with which commands read spans.

use std::fs;
use std::path::Path;

use super::failure::Failure;
use super::out;
use crate::documents::Vocabulary;

/// The built-in dialects and, if given, the user's own keys.
pub(super) fn vocabulary(semconv: Option<&Path>) -> Result<Vocabulary, Failure> {
    let built_in = Vocabulary::built_in();
    let Some(path) = semconv else { return Ok(built_in) };
    let text = fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.to_owned(),
        source,
    })?;
    built_in
        .with_file_text(&text)
        .map_err(|error| Failure::usage(format!("{}: {}", path.display(), out::with_causes(&error))))
}

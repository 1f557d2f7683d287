//! The dialects and keys with which commands read spans.

use std::fs;
use std::path::Path;

use super::failure::Failure;
use super::out;
use crate::documents::{Prices, Vocabulary};

/// The built-in dialects and, if given, the user's own keys.
pub(super) fn vocabulary(semconv: Option<&Path>) -> Result<Vocabulary, Failure> {
    let built_in = Vocabulary::built_in();
    let Some(path) = semconv else { return Ok(built_in) };
    built_in
        .with_file_text(&fs::read_to_string(path).map_err(Failure::read(path))?)
        .map_err(|error| Failure::usage(format!("{}: {}", path.display(), out::with_causes(&error))))
}

/// The same, with the user's prices, if given.
pub(super) fn priced(vocabulary: Vocabulary, prices: Option<&Path>) -> Result<Vocabulary, Failure> {
    let Some(path) = prices else { return Ok(vocabulary) };
    let text = fs::read_to_string(path).map_err(Failure::read(path))?;
    let prices = Prices::of_text(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(vocabulary.with_prices(prices))
}

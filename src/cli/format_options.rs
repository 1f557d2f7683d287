//! Formats and their options, as flags and variables name them.

use super::failure::Failure;
use crate::documents::{self, UnknownFormat};
use crate::formats::{AnyFormat, Options};

/// The format with this id.
pub(super) fn format_of(id: &str) -> Result<&'static AnyFormat, String> {
    documents::format(id).map_err(|_| unknown(id, &UnknownFormat::known()))
}

/// The error for an unknown format: what may have been meant, and the known formats.
pub(super) fn unknown(id: &str, known: &str) -> String {
    let near = known
        .split(", ")
        .map(|name| (strsim::damerau_levenshtein(name, &id.to_lowercase()), name))
        .min();
    let hint = near.filter(|(distance, name)| *distance <= 1 + name.len() / 4);
    let hint = hint.map_or_else(String::new, |(_, name)| format!("did you mean {name}? "));
    format!("{hint}the formats are {known}")
}

/// Parses one option of a format: `NAME=VALUE`.
pub(super) fn option_of(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let option = (name.to_owned(), value.to_owned());
    Options::of([option.clone()]).map_err(|error| error.to_string())?;
    Ok(option)
}

/// Options set by environment variables.
pub(super) fn options_of_environment() -> Result<Options, Failure> {
    Options::of_variables(|name| std::env::var(name).ok()).map_err(|error| Failure::usage(format!("in the environment: {error}")))
}

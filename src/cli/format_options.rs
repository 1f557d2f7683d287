//! Formats and their options, as flags and variables name them.

use super::failure::Failure;
use crate::documents::{self, UnknownFormat};
use crate::formats::{AnyFormat, Options};

/// The format of this id.
pub(super) fn format_of(id: &str) -> Result<&'static AnyFormat, String> {
    documents::format(id).map_err(|_| format!("the formats are {}", UnknownFormat::known()))
}

/// One option of a format: `NAME=VALUE`.
pub(super) fn option_of(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let option = (name.to_owned(), value.to_owned());
    Options::of([option.clone()]).map_err(|error| error.to_string())?;
    Ok(option)
}

/// What variables of the environment choose.
pub(super) fn options_of_environment() -> Result<Options, Failure> {
    Options::of_variables(|name| std::env::var(name).ok()).map_err(|error| Failure::usage(format!("in the environment: {error}")))
}

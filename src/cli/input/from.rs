//! The kinds of files that `--from` names.

use crate::cli::format_options::unknown;
use crate::documents::{self, UnknownFormat};
use crate::formats::AnyFormat;

/// The content of files.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) enum From {
    /// Determined from each file.
    #[default]
    Auto,
    /// Documents of this format.
    Documents(&'static AnyFormat),
}

/// Parses the value of `--from`.
pub(in crate::cli) fn from_of(word: &str) -> Result<From, String> {
    if word == "auto" {
        return Ok(From::Auto);
    }
    let format = documents::format(word).map(From::Documents);
    format.map_err(|_| unknown(word, &format!("auto, {}", UnknownFormat::known())))
}

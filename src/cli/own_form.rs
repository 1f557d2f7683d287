//! The flag that names a form.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use crate::forms::{AnyForm, names, table_of, unknown};

/// The flag that names a form.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct OwnForm {
    /// Read the files by this table: a file in the form of `spanbridge forms NAME`, or such a name.
    #[arg(long, value_name = "FILE|NAME", value_parser = form_of)]
    form: Option<Arc<AnyForm>>,
}

impl OwnForm {
    pub(super) fn get(&self) -> Option<&Arc<AnyForm>> {
        self.form.as_ref()
    }
}

/// A table in a file, or a known form.
pub(super) fn form_of(word: &str) -> Result<Arc<AnyForm>, String> {
    let read = |name: &str, text: &str| AnyForm::of(name, text).map(Arc::new).map_err(|error| error.to_string());
    match std::fs::read_to_string(word) {
        Ok(text) => {
            let name = Path::new(word).file_stem().map_or(word.into(), |stem| stem.to_string_lossy());
            read(&name, &text)
        }
        Err(error) => match table_of(word) {
            Some(table) => read(word, table),
            None if word.contains(['.', '/']) => Err(format!("cannot read it: {error}")),
            None => Err(unknown("file or form", word, names())),
        },
    }
}

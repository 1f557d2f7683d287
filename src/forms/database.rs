//! Forms of SQLite databases: by which tables they are recognised, and the query whose rows are read as lines of JSON.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A database that a client keeps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatabaseForm {
    /// Its name: that of its file.
    #[cfg(test)]
    #[serde(skip)]
    pub(crate) name: String,
    /// What it reads, in a line.
    pub(crate) reads: String,
    /// Where the producer describes it.
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    see: Vec<String>,
    /// The tables by which it is recognised, with columns that they have.
    pub(crate) tables: BTreeMap<String, Vec<String>>,
    /// Each of its rows is a text, a line of JSON.
    pub(crate) query: String,
}

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        /// The tables as they are written, by name.
        const TABLES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../semconv/forms/", $name, ".sqlite.yaml")))),*];
    };
}

tables![
    "vscode_traces",
    "kiro",
    "amazon_q",
    "crush",
    "cursor",
    "goose",
    "hermes",
    "openwebui",
    "adk",
    "agents_session",
    "agno",
    "llm",
    "llm_threads",
];

/// The databases that are known.
pub(crate) fn databases() -> &'static [DatabaseForm] {
    static FORMS: LazyLock<Vec<DatabaseForm>> = LazyLock::new(|| TABLES.iter().filter_map(DatabaseForm::of).collect());
    &FORMS
}

impl DatabaseForm {
    /// Reads a table; a test reads each of them.
    fn of((_name, text): &(&str, &str)) -> Option<Self> {
        let form: Self = serde_saphyr::from_str(text).ok()?;
        Some(Self {
            #[cfg(test)]
            name: (*_name).to_owned(),
            ..form
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_right() {
        assert_eq!(databases().len(), TABLES.len());
    }
}

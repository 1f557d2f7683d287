//! Forms of SQLite databases: by which tables they are recognised, and the query whose rows are read as lines of JSON.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A database that a client keeps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatabaseForm {
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
        pub(super) const TABLES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../semconv/forms/", $name, ".sqlite.yaml")))),*];
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
    // A test reads each of them.
    static FORMS: LazyLock<Vec<DatabaseForm>> =
        LazyLock::new(|| TABLES.iter().filter_map(|(_, text)| serde_saphyr::from_str(text).ok()).collect());
    &FORMS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_right() {
        assert_eq!(databases().len(), TABLES.len());
    }
}

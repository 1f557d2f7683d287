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

const TABLES: &[(&str, &str)] = &[
    ("vscode_traces", include_str!("../../semconv/forms/vscode_traces.sqlite.yaml")),
    ("kiro", include_str!("../../semconv/forms/kiro.sqlite.yaml")),
    ("amazon_q", include_str!("../../semconv/forms/amazon_q.sqlite.yaml")),
];

/// The databases that are known.
pub(crate) fn databases() -> &'static [DatabaseForm] {
    static FORMS: LazyLock<Vec<DatabaseForm>> = LazyLock::new(|| super::built_in::read(TABLES));
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

//! Forms of SQLite databases: the tables that identify a database, and a query whose rows are read as lines of JSON.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::tables::DATABASES;

/// The form of a client's database.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatabaseForm {
    /// One line about the databases that this form reads.
    pub(crate) reads: String,
    /// Links to the producer's description.
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    see: Vec<String>,
    /// The tables that identify the database, with some of their columns.
    pub(crate) tables: BTreeMap<String, Vec<String>>,
    /// The query. Each row is one text: a line of JSON.
    pub(crate) query: String,
}

/// The known forms of databases.
pub(crate) fn databases() -> &'static [DatabaseForm] {
    // A test checks that all tables can be read.
    static FORMS: LazyLock<Vec<DatabaseForm>> =
        LazyLock::new(|| DATABASES.iter().filter_map(|(_, text)| serde_saphyr::from_str(text).ok()).collect());
    &FORMS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_right() {
        assert_eq!(databases().len(), DATABASES.len());
    }
}

//! Looking at the index without changing it, also while another process writes to it.

use std::path::Path;

use rusqlite::Connection;

use super::connection::{FILE, covered, failure, open_immutable, open_to_read};
use super::schema;
use crate::store::error::Error;
use crate::store::log::Position;

/// What an index is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The version of its tables.
    pub version: i64,
    /// The version that this program uses; an index of another version is rebuilt from the log.
    pub known: i64,
    /// Up to where it covers the log.
    pub covered: Position,
    /// What SQLite finds wrong with the file.
    pub faults: Vec<String>,
    /// How many traces it knows.
    pub traces: u64,
}

/// Opens an index and leaves nothing behind.
pub(in crate::store) fn open_to_inspect(directory: &Path) -> Result<Connection, Error> {
    // A writer has a journal beside the index. Without a journal, opening it as usual would leave files behind.
    match directory.join(format!("{FILE}-wal")).exists() {
        true => open_to_read(directory),
        false => open_immutable(directory).map_err(failure("open")),
    }
}

/// Reads all of an index.
///
/// # Errors
///
/// There is no index, or the file is not one.
pub fn inspect(directory: &Path) -> Result<Inspected, Error> {
    let connection = open_to_inspect(directory)?;
    let number = |text: &str| connection.query_row(text, [], |row| row.get::<_, i64>(0)).map_err(failure("read"));
    let mut check = connection.prepare("PRAGMA quick_check").map_err(failure("check"))?;
    let lines = check.query_map([], |row| row.get::<_, String>(0)).map_err(failure("check"))?;
    let mut faults = lines.collect::<Result<Vec<_>, _>>().map_err(failure("check"))?;
    faults.retain(|line| line != "ok");
    Ok(Inspected {
        version: number("PRAGMA user_version")?,
        known: schema::VERSION,
        covered: covered(&connection)?,
        faults,
        traces: number("SELECT count(*) FROM traces")?.cast_unsigned(),
    })
}

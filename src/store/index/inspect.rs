//! Inspecting the index without changing it, even while another process writes to it.

use std::path::Path;

use rusqlite::Connection;

use super::connection::{FILE, covered, failure, open_immutable, open_to_read};
use super::schema;
use crate::store::error::Error;
use crate::store::log::Position;

/// Properties of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The version of its tables.
    pub version: i64,
    /// The version that this program uses; an index of another version is rebuilt from the log.
    pub known: i64,
    /// Up to which position it covers the log.
    pub covered: Position,
    /// Faults that SQLite finds in the file.
    pub faults: Vec<String>,
    /// Number of traces in it.
    pub traces: u64,
}

/// Opens an index without leaving files behind.
pub(in crate::store) fn open_to_inspect(directory: &Path) -> Result<Connection, Error> {
    // While a writer has it open there is a journal. Without a journal, opening it as usual would leave files behind.
    match directory.join(format!("{FILE}-wal")).exists() {
        true => open_to_read(directory),
        false => open_immutable(directory).map_err(failure("open")),
    }
}

/// Inspects and checks the index of a directory.
///
/// # Errors
///
/// There is no index, or the file is not an index.
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

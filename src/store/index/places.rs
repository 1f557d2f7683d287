//! Which records of the log are in the index, by segment.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, Row};

use super::connection::{check_version, failure};
use super::inspect::open_to_inspect;
use super::query::position;
use crate::store::error::Error;
use crate::store::log::Position;

/// Records by position, each with the id of its trace's row; `None` for loose log records.
pub(in crate::store) type Places = BTreeMap<Position, Option<i64>>;

fn places(connection: &Connection, which: &str, segment: u64) -> Result<Places, Error> {
    let row = |row: &Row<'_>| Ok((position(row, 0)?, row.get(2)?));
    let read = || -> rusqlite::Result<Places> {
        let text = format!(
            "SELECT segment, offset, trace FROM chunks WHERE segment {which} ?1
             UNION ALL SELECT segment, offset, NULL FROM loose WHERE segment {which} ?1"
        );
        connection.prepare(&text)?.query_map([segment.cast_signed()], row)?.collect()
    };
    read().map_err(failure("read"))
}

/// The records of one segment. Scans all rows.
pub(in crate::store) fn places_in(connection: &Connection, segment: u64) -> Result<Places, Error> {
    places(connection, "=", segment)
}

/// The records of a segment and of all later ones. Scans all rows.
pub(in crate::store) fn places_from(connection: &Connection, segment: u64) -> Result<Places, Error> {
    places(connection, ">=", segment)
}

/// Where the last record of each sealed segment ends, as far as known.
pub(in crate::store) fn ends(connection: &Connection) -> Result<BTreeMap<u64, u64>, Error> {
    let row = |row: &Row<'_>| position(row, 0).map(|at| (at.segment, at.offset));
    let read = || -> rusqlite::Result<_> {
        connection
            .prepare("SELECT segment, offset FROM ends")?
            .query_map([], row)?
            .collect()
    };
    read().map_err(failure("read"))
}

/// The last indexed record of each segment.
///
/// # Errors
///
/// There is no index, or it cannot be read.
pub(crate) fn last_records(directory: &Path) -> Result<BTreeMap<u64, u64>, Error> {
    let connection = open_to_inspect(directory)?;
    check_version(&connection)?;
    let row = |row: &Row<'_>| position(row, 0).map(|at| (at.segment, at.offset));
    let read = || -> rusqlite::Result<_> {
        const LAST: &str = "SELECT segment, max(offset) FROM
            (SELECT segment, offset FROM chunks UNION ALL SELECT segment, offset FROM loose) GROUP BY segment";
        connection.prepare(LAST)?.query_map([], row)?.collect()
    };
    read().map_err(failure("read"))
}

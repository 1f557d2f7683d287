//! Connections to the index: to write, to read next to a writer, to read only.

use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema;
use crate::store::error::{Cause, Error};
use crate::store::log::Position;

/// The file's name in the data directory.
pub const FILE: &str = "index.sqlite";

/// Journal pages after which a commit makes the checkpoint itself: the journal restarts only when a checkpoint finds that
/// nothing was added meanwhile, which never happens if commits do not pause.
pub(super) const MAX_JOURNAL_PAGES: i32 = 16_000;

pub(in crate::store) fn failure(doing: &'static str) -> impl Fn(rusqlite::Error) -> Error {
    move |source| {
        // Rebuilding the index would not help: it needs the same room.
        let is_full = source.sqlite_error_code() == Some(ErrorCode::DiskFull);
        let source = Arc::new(source);
        match is_full {
            true => Error::IndexFull { doing, source },
            false => Error::Index { doing, source },
        }
    }
}

/// Opens the index for writing, creating it if needed.
pub(in crate::store) fn open(directory: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(directory.join(FILE)).map_err(failure("open"))?;
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {MAX_JOURNAL_PAGES};
             PRAGMA cache_size = -8192; PRAGMA busy_timeout = 5000;"
        ))
        .map_err(failure("set up"))?;
    schema::ensure(&connection).map_err(failure("set up"))?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// An empty index that is deleted when it is closed. What does not fit into memory goes into an unnamed file.
pub(super) fn temporary() -> Result<Connection, Error> {
    let connection = Connection::open("").map_err(failure("open"))?;
    connection
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
        .map_err(failure("set up"))?;
    schema::ensure(&connection).map_err(failure("set up"))?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// Keeps SQLite from planning a statement again for different bound values.
fn keep_plans(connection: &Connection) -> Result<(), Error> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
        .map_err(failure("set up"))
}

/// Makes the next commit of this connection durable when it returns, with all commits before it. Data that is then removed
/// from the log must be gone from the index.
pub(in crate::store) fn make_durable(connection: &Connection) -> Result<(), Error> {
    connection.execute_batch("PRAGMA synchronous = FULL;").map_err(failure("set up"))
}

/// Opens the index for reading next to the writer of this process. Not a read-only connection: whichever connection closes
/// last must put the journal into the file.
pub(in crate::store) fn open_beside(directory: &Path) -> Result<Connection, Error> {
    // Never creates the file: it would be an index without any trace.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(directory.join(FILE), flags).map_err(failure("open"))?;
    connection
        .execute_batch("PRAGMA busy_timeout = 5000; PRAGMA cache_size = -2048; PRAGMA query_only = ON;")
        .map_err(failure("set up"))?;
    keep_plans(&connection)?;
    Ok(connection)
}

const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// Sets up a reader, and tests at once that it can read.
const READER: &str = "PRAGMA busy_timeout = 5000; PRAGMA cache_size = -2048; SELECT count(*) FROM covered;";

/// Opens the index for reading. Its tables may have another version.
pub(in crate::store) fn open_to_read(directory: &Path) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(directory.join(FILE), READ_ONLY).map_err(failure("open"))?;
    keep_plans(&connection)?;
    let Err(error) = connection.execute_batch(READER) else {
        return Ok(connection);
    };
    // On a read-only medium SQLite cannot create its shared memory; then no other process writes either.
    if !matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) {
        return Err(failure("open")(error));
    }
    open_immutable(directory).map_err(|_| failure("open")(error))
}

/// Opens an index that no process writes to: without a lock, and without creating files.
pub(super) fn open_immutable(directory: &Path) -> rusqlite::Result<Connection> {
    let path = directory.join(FILE);
    let text = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let connection = Connection::open_with_flags(format!("file:{text}?immutable=1"), READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(READER)?;
    Ok(connection)
}

/// Checks that the tables have the version that the queries expect.
///
/// # Errors
///
/// They have another version, or cannot be read.
pub(in crate::store) fn check_version(connection: &Connection) -> Result<(), Error> {
    match schema::version(connection).map_err(failure("read"))? {
        schema::VERSION => Ok(()),
        version => Err(Error::IndexVersion {
            version,
            known: schema::VERSION,
        }),
    }
}

/// SQLite's error code, if the cause is an error of SQLite.
pub(super) fn code(error: &Cause) -> Option<ErrorCode> {
    error.downcast_ref::<rusqlite::Error>()?.sqlite_error_code()
}

/// Whether SQLite reports that the file is damaged.
pub(in crate::store) fn is_corrupt(error: &Cause) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Up to which position the index covers the log.
pub(in crate::store) fn covered(connection: &Connection) -> Result<Position, Error> {
    connection
        .query_row("SELECT segment, offset FROM covered", [], |row| {
            Ok(Position {
                segment: row.get::<_, i64>(0)?.cast_unsigned(),
                offset: row.get::<_, i64>(1)?.cast_unsigned(),
            })
        })
        .map_err(failure("read"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn an_index_without_room_asks_for_room_and_not_for_a_rebuild() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t(x); PRAGMA max_page_count = 2;").unwrap();
        let written = connection
            .execute_batch("INSERT INTO t VALUES (zeroblob(100000))")
            .map_err(failure("commit"));
        let error = written.unwrap_err();
        let words = error.to_string();
        assert!(words.contains("free some space") && !words.contains("reindex"), "{words}");
        assert!(error.is_transient());
    }
}

//! SQLite databases of other programs. They are only read, and their programs may have them open.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::error::SessionError;
use super::opened::open_file;
use crate::forms::{DatabaseForm, databases};

/// Maximum number of steps of `SQLite`'s machine for reading: a few per row, and a row takes some bytes of the file. A damaged or forged
/// file can claim more rows than it has space for.
const MAX_STEPS: u64 = 10_000_000;
const MAX_STEPS_PER_BYTE: u64 = 8;
/// The number of steps counted at a time.
const STEP_BATCH: i32 = 10_000;

/// Opens a database, with a limit of `longest` bytes of the file per value.
pub(super) fn open(path: &Path, longest: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let bytes = size(path);
    // UTF-16 text may be longer in UTF-8, and a row is longer with its sort key.
    let value = bytes.min(longest).saturating_mul(2).saturating_add(MAX_SCHEMA);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(value).unwrap_or(i32::MAX))?;
    let mut left = (bytes as u64).saturating_mul(MAX_STEPS_PER_BYTE).saturating_add(MAX_STEPS);
    let is_spent = move || {
        left = left.saturating_sub(STEP_BATCH.unsigned_abs().into());
        left == 0
    };
    connection.progress_handler(STEP_BATCH, Some(is_spent))?;
    Ok(connection)
}

/// Maximum size in bytes of a table definition.
const MAX_SCHEMA: usize = 64 << 10;

/// The size in bytes of a database and of its journal, which receives new data first.
fn size(path: &Path) -> usize {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let bytes = [path, Path::new(&journal)].map(|path| fs::metadata(path).map_or(0, |about| about.len()));
    usize::try_from(bytes.into_iter().fold(0, u64::saturating_add)).unwrap_or(usize::MAX)
}

/// The first bytes of every SQLite database.
const SQLITE: [u8; 16] = *b"SQLite format 3\0";

/// The JSON lines built from a known database, at most `limit` bytes; `None` if the file is not a known database.
pub(crate) fn lines_of_database(path: &Path, limit: usize) -> Option<Result<String, SessionError>> {
    let mut begin = [0; SQLITE.len()];
    open_file(path).ok()?.read_exact(&mut begin).ok()?;
    let connection = (begin == SQLITE).then(|| open(path, limit).ok())??;
    let form = databases().iter().find(|form| has_tables(&connection, form).unwrap_or(false))?;
    Some(lines(&connection, form, limit).map_err(|source| SessionError::Database {
        path: path.to_owned(),
        source,
    }))
}

fn has_tables(connection: &Connection, form: &DatabaseForm) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2")?;
    for (table, columns) in &form.tables {
        for column in columns {
            if statement.query_row([table, column], |row| row.get::<_, i64>(0))? == 0 {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn lines(connection: &Connection, form: &DatabaseForm, limit: usize) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(&form.query)?;
    let mut rows = statement.query([])?;
    let mut out = String::new();
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if out.len().saturating_add(line.len()) > limit {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG),
                Some(format!("it has more than {limit} bytes of {}", form.reads)),
            ));
        }
        out.push_str(&line);
        out.push('\n');
    }
    Ok(out)
}

//! SQLite databases of others. They are only read; a database that its client has open is no obstacle.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::error::SessionError;
use super::opened::open_file;
use crate::forms::{DatabaseForm, databases};

/// Steps of `SQLite`'s machine that reading may take: a few a row, and a row takes some bytes of the file. A damaged or forged file can
/// have more rows than it has room for.
const STEPS: u64 = 10_000_000;
const STEPS_A_BYTE: u64 = 8;
/// They are counted in so many.
const COUNTED: i32 = 10_000;

/// Opens a database in which no value takes more than `longest` bytes of the file.
pub(super) fn open(path: &Path, longest: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let bytes = size(path);
    // A text in UTF-16 is longer in UTF-8, and so is a row with what it is sorted by.
    let value = bytes.min(longest).saturating_mul(2).saturating_add(SCHEMA);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(value).unwrap_or(i32::MAX))?;
    let mut left = (bytes as u64).saturating_mul(STEPS_A_BYTE).saturating_add(STEPS);
    let is_spent = move || {
        left = left.saturating_sub(COUNTED.unsigned_abs().into());
        left == 0
    };
    connection.progress_handler(COUNTED, Some(is_spent))?;
    Ok(connection)
}

/// No table of a client has a longer definition.
const SCHEMA: usize = 64 << 10;

/// Bytes of a database and of its journal, where what is new is first.
fn size(path: &Path) -> usize {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let bytes = [path, Path::new(&journal)].map(|path| fs::metadata(path).map_or(0, |about| about.len()));
    usize::try_from(bytes.into_iter().fold(0, u64::saturating_add)).unwrap_or(usize::MAX)
}

/// How every SQLite database begins.
const SQLITE: [u8; 16] = *b"SQLite format 3\0";

/// The lines of JSON that the table of a known database makes of it, at most so many bytes; `None` where it is none of those.
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

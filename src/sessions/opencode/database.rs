//! The database of `OpenCode` 1.2 and later. It is only read; a database that its client has open is no obstacle.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::messages::Session;
use crate::sessions::error::SessionError;

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Whether a database has `OpenCode`'s tables.
pub(in crate::sessions) fn is_database(path: &Path) -> bool {
    const TABLES: &str = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'message', 'part')";
    let count = open(path).and_then(|connection| connection.query_row(TABLES, [], |row| row.get::<_, i64>(0)));
    count.is_ok_and(|count| count == 3)
}

/// Every session.
pub(super) fn read(path: &Path) -> Result<Vec<Session>, SessionError> {
    read_all(path).map_err(|source| SessionError::Database {
        path: path.to_owned(),
        source,
    })
}

fn read_all(path: &Path) -> rusqlite::Result<Vec<Session>> {
    let connection = open(path)?;
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let mut statement = connection.prepare("SELECT id, parent_id, title, version, time_created, directory FROM session")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let session = Session {
            id: row.get(0)?,
            parent: row.get(1)?,
            title: row.get(2)?,
            version: row.get(3)?,
            created: row.get::<_, Option<i64>>(4)?.unwrap_or_default(),
            directory: row.get(5)?,
            ..Session::default()
        };
        sessions.insert(session.id.clone(), session);
    }
    // A part's message is in the same order, so that no more than the parts of one message are looked up.
    let mut parts: HashMap<String, Vec<Value>> = HashMap::new();
    let mut statement = connection.prepare("SELECT message_id, id, data FROM part ORDER BY message_id, id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        parts.entry(message).or_default().push(with_id(row, 1, 2)?);
    }
    let mut statement = connection.prepare("SELECT session_id, id, data FROM message ORDER BY session_id, time_created, id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, id): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(session) = sessions.get_mut(&session) {
            session.add(with_id(row, 1, 2)?, parts.remove(&id).unwrap_or_default());
        }
    }
    Ok(sessions.into_values().collect())
}

/// The JSON of a row with the id, which is a separate column.
fn with_id(row: &rusqlite::Row<'_>, id: usize, data: usize) -> rusqlite::Result<Value> {
    let id: String = row.get(id)?;
    let text: String = row.get(data)?;
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("id".to_owned(), id.into());
    }
    Ok(value)
}

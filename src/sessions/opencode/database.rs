//! The database of `OpenCode` 1.2 and later. It is only read; a database that its client has open is no obstacle.
//!
//! Version 1 has the tables `session`, `message` and `part`, version 2 `session_v2` and `session_message`. A database that version 2 took
//! over has both, the older ones as they were: a session is read from the newer ones where those have its messages.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::messages::Session;
use super::second;
use crate::sessions::error::SessionError;

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// The tables of a database that `OpenCode` has, too.
fn tables(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    const NAMES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' \
         AND name IN ('session', 'message', 'part', 'session_v2', 'session_message')";
    let mut statement = connection.prepare(NAMES)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Whether a database has the tables of version 1, and those of version 2.
fn versions(tables: &HashSet<String>) -> (bool, bool) {
    let has = |name: &str| tables.contains(name);
    let has_sessions = has("session") || has("session_v2");
    (
        has("session") && has("message") && has("part"),
        has_sessions && has("session_message"),
    )
}

/// Whether a database has `OpenCode`'s tables.
pub(in crate::sessions) fn is_database(path: &Path) -> bool {
    let tables = open(path).and_then(|connection| tables(&connection));
    tables.is_ok_and(|tables| versions(&tables) != (false, false))
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
    let tables = tables(&connection)?;
    let (has_first, has_second) = versions(&tables);
    let mut sessions: HashMap<String, Session> = HashMap::new();
    for table in ["session", "session_v2"].into_iter().filter(|table| tables.contains(*table)) {
        add_sessions(&connection, table, &mut sessions)?;
    }
    let second = if has_second {
        add_second(&connection, &mut sessions)?
    } else {
        HashSet::new()
    };
    if has_first {
        add_first(&connection, &second, &mut sessions)?;
    }
    Ok(sessions.into_values().collect())
}

fn add_sessions(connection: &Connection, table: &str, sessions: &mut HashMap<String, Session>) -> rusqlite::Result<()> {
    let query = format!("SELECT id, parent_id, title, version, time_created, directory FROM {table}");
    let mut statement = connection.prepare(&query)?;
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
    Ok(())
}

/// Messages of version 2. The sessions that have any: version 1 has such a table, too, with other entries.
fn add_second(connection: &Connection, sessions: &mut HashMap<String, Session>) -> rusqlite::Result<HashSet<String>> {
    const SESSIONS: &str = "SELECT DISTINCT session_id FROM session_message WHERE type IN ('user', 'assistant')";
    let mut statement = connection.prepare(SESSIONS)?;
    let known = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<HashSet<String>>>()?;
    if known.is_empty() {
        return Ok(known);
    }
    let mut statement = connection.prepare("SELECT session_id, type, id, data FROM session_message ORDER BY session_id, seq, id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, kind): (String, String) = (row.get(0)?, row.get(1)?);
        if known.contains(&session)
            && let Some(session) = sessions.get_mut(&session)
        {
            let data = with_id(row, 2, 3)?;
            if let Some((mut message, parts)) = second::told(&kind, &data) {
                if let (Some(members), Some(id)) = (message.as_object_mut(), data.get("id")) {
                    members.insert("id".to_owned(), id.clone());
                }
                session.add(message, parts);
            }
        }
    }
    Ok(known)
}

/// Messages of version 1, but of sessions that are `known` already.
fn add_first(connection: &Connection, known: &HashSet<String>, sessions: &mut HashMap<String, Session>) -> rusqlite::Result<()> {
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
        let parts = parts.remove(&id).unwrap_or_default();
        if !known.contains(&session)
            && let Some(session) = sessions.get_mut(&session)
        {
            session.add(with_id(row, 1, 2)?, parts);
        }
    }
    Ok(())
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

//! Deleting traces and sessions on request: finding their rows, and removing them without leaving traces of them in the file.

use rusqlite::{Connection, Row, TransactionBehavior};

use super::connection::failure;
use super::query::{id_of, position};
use crate::span::TraceId;
use crate::store::deletion::Unwanted;
use crate::store::error::Error;
use crate::store::log::Position;

/// What the index records of a trace to be deleted.
#[derive(Debug)]
pub(in crate::store) struct ToDelete {
    pub(in crate::store) trace_id: TraceId,
    pub(in crate::store) session: Option<String>,
    pub(in crate::store) spans: u64,
    pub(in crate::store) logs: u64,
    pub(in crate::store) bytes: u64,
}

/// The traces to be deleted, including those without spans.
pub(in crate::store) fn traces_to_delete(connection: &Connection, what: &Unwanted) -> Result<Vec<ToDelete>, Error> {
    let number = |row: &Row<'_>, column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let read = |row: &Row<'_>| {
        let id: Vec<u8> = row.get(0)?;
        Ok(TraceId::from_bytes(&id).map(|trace_id| ToDelete {
            trace_id,
            session: row.get(1).unwrap_or_default(),
            spans: number(row, 2).unwrap_or_default(),
            logs: number(row, 3).unwrap_or_default(),
            bytes: number(row, 4).unwrap_or_default(),
        }))
    };
    let query = || -> rusqlite::Result<Vec<ToDelete>> {
        const COLUMNS: &str = "SELECT trace, session, spans, logs, bytes FROM traces";
        let found: rusqlite::Result<Vec<Option<ToDelete>>> = match what {
            Unwanted::Trace(trace_id) => {
                let Some(id) = id_of(connection, *trace_id)? else {
                    return Ok(Vec::new());
                };
                connection
                    .prepare(&format!("{COLUMNS} WHERE id = ?"))?
                    .query_map([id], read)?
                    .collect()
            }
            Unwanted::Session(session) => {
                let mut statement = connection.prepare(&format!("{COLUMNS} WHERE session = ?"))?;
                statement.query_map([session], read)?.collect()
            }
        };
        Ok(found?.into_iter().flatten().collect())
    };
    query().map_err(failure("read"))
}

/// The positions of log records that name only a session.
pub(in crate::store) fn loose_of(connection: &Connection, session: &str) -> Result<Vec<Position>, Error> {
    let query = || -> rusqlite::Result<Vec<Position>> {
        let mut statement = connection.prepare("SELECT segment, offset FROM loose WHERE session = ?")?;
        statement.query_map([session], |row| position(row, 0))?.collect()
    };
    query().map_err(failure("read"))
}

/// All log records that name only a session, with the session.
#[cfg(feature = "bucket")]
pub(in crate::store) fn loose(connection: &Connection) -> Result<Vec<(String, Position)>, Error> {
    let query = || -> rusqlite::Result<Vec<(String, Position)>> {
        let mut statement = connection.prepare("SELECT session, segment, offset FROM loose")?;
        statement.query_map([], |row| Ok((row.get(0)?, position(row, 1)?)))?.collect()
    };
    query().map_err(failure("read"))
}

/// Removes these traces and the log records at these positions.
pub(in crate::store) fn delete(connection: &mut Connection, traces: &[TraceId], loose: &[Position]) -> Result<(), Error> {
    let mut delete = || -> rusqlite::Result<()> {
        connection.execute_batch("PRAGMA secure_delete = ON;")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for trace_id in traces {
            if let Some(id) = id_of(&transaction, *trace_id)? {
                transaction.prepare_cached("DELETE FROM chunks WHERE trace = ?")?.execute([id])?;
                transaction.prepare_cached("DELETE FROM services WHERE trace = ?")?.execute([id])?;
                transaction.prepare_cached("DELETE FROM traces WHERE id = ?")?.execute([id])?;
            }
            for table in ["DELETE FROM ids WHERE trace = ?", "DELETE FROM summaries WHERE trace = ?"] {
                transaction.prepare_cached(table)?.execute([trace_id.bytes()])?;
            }
        }
        for at in loose {
            transaction
                .prepare_cached("DELETE FROM loose WHERE segment = ? AND offset = ?")?
                .execute([at.segment.cast_signed(), at.offset.cast_signed()])?;
        }
        transaction.execute(
            "DELETE FROM session_revisions WHERE NOT EXISTS (SELECT 1 FROM traces WHERE traces.session = session_revisions.session)",
            [],
        )?;
        transaction.commit()
    };
    delete().map_err(failure("write"))
}

/// Rewrites the file: removed data may remain in unused parts of pages. Waits for readers.
pub(in crate::store) fn leave_nothing_behind(connection: &Connection) -> Result<(), Error> {
    let compact = || -> rusqlite::Result<bool> {
        connection.execute_batch("PRAGMA busy_timeout = 30000; VACUUM;")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    };
    let is_read = compact().map_err(failure("compact"))?;
    let busy = || rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None);
    match is_read {
        true => Err(failure("compact")(busy())),
        false => Ok(()),
    }
}

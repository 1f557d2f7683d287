//! The items of an index, to compare it with another.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::connection::failure;
use super::inspect::open_to_inspect;
use super::query::id_of;
use crate::span::TraceId;
use crate::store::error::Error;

/// One item of an index.
#[derive(Debug)]
pub(in crate::store) enum IndexItem {
    /// The row of a trace.
    Row {
        trace_id: TraceId,
        /// Names, times and counts, joined as text.
        row: String,
        session: Option<String>,
        /// Whether looking up the trace id finds the row.
        is_found: bool,
    },
    /// Where a chunk of a trace is.
    Chunk {
        trace_id: TraceId,
        /// Kind, segment, offset, checksum.
        values: [i64; 4],
    },
    /// Position of loose log records, as text.
    Loose { values: String },
}

/// Opens an index to read one snapshot of it, even while it is written to.
pub(in crate::store) fn open_to_compare(directory: &Path) -> Result<Connection, Error> {
    let connection = open_to_inspect(directory)?;
    connection.execute_batch("BEGIN").map_err(failure("read"))?;
    Ok(connection)
}

/// Calls `each` with every item of an index.
pub(in crate::store) fn each_item(connection: &Connection, each: &mut dyn FnMut(IndexItem)) -> Result<(), Error> {
    let mut read = || -> rusqlite::Result<()> {
        let text = "SELECT trace, id, session, root, root_start, root_ended, service, start, end, spans, logs, errors, bytes FROM traces";
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(trace_id) = trace_id(row)? else { continue };
            let id: i64 = row.get(1)?;
            each(IndexItem::Row {
                trace_id,
                row: columns(row, 3..13)?,
                session: row.get::<_, Value>(2).map(|session| match session {
                    Value::Null => None,
                    session => Some(format!("{session:?}")),
                })?,
                is_found: id_of(connection, trace_id)? == Some(id),
            });
        }
        let text = "SELECT traces.trace, kind, segment, offset, checksum FROM chunks JOIN traces ON traces.id = chunks.trace";
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(trace_id) = trace_id(row)? else { continue };
            let values = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
            each(IndexItem::Chunk { trace_id, values });
        }
        let mut statement = connection.prepare("SELECT session, checksum, segment, offset, first, last FROM loose")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(IndexItem::Loose {
                values: columns(row, 0..6)?,
            });
        }
        Ok(())
    };
    read().map_err(failure("read"))
}

fn trace_id(row: &Row<'_>) -> rusqlite::Result<Option<TraceId>> {
    Ok(row.get_ref(0)?.as_blob().ok().and_then(TraceId::from_bytes))
}

fn columns(row: &Row<'_>, columns: std::ops::Range<usize>) -> rusqlite::Result<String> {
    let mut text = String::new();
    for column in columns {
        text.push_str(&format!("{:?};", row.get::<_, Value>(column)?));
    }
    Ok(text)
}

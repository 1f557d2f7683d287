//! Queries of readers.

use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::connection::failure;
use crate::span::TraceId;
use crate::store::chunk::kind::ChunkKind;
use crate::store::error::Error;
use crate::store::lists::{Filter, IdPrefix, Order, SessionCursor, SessionRow, TraceCursor, TraceRow, Wanted};
use crate::store::log::Position;

/// Location and kind of a chunk.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct ChunkLocation {
    pub(in crate::store) kind: ChunkKind,
    pub(in crate::store) at: Position,
}

pub(super) fn position(row: &Row<'_>, first: usize) -> rusqlite::Result<Position> {
    Ok(Position {
        segment: row.get::<_, i64>(first)?.cast_unsigned(),
        offset: row.get::<_, i64>(first + 1)?.cast_unsigned(),
    })
}

/// The id of a trace's row.
pub(super) fn id_of(connection: &Connection, trace_id: TraceId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT traces.id FROM ids CROSS JOIN traces ON traces.id = ids.id AND traces.trace = ids.trace WHERE ids.trace = ?1
             UNION ALL SELECT id FROM traces WHERE id > (SELECT sorted FROM covered) AND trace = ?1 LIMIT 1",
        )?
        .query_row([trace_id.bytes()], |row| row.get(0))
        .optional()
}

/// The id of a trace's row, if the sorted table has it.
pub(super) fn sorted_id(connection: &Connection, trace_id: TraceId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT traces.id FROM ids CROSS JOIN traces ON traces.id = ids.id AND traces.trace = ids.trace WHERE ids.trace = ?",
        )?
        .query_row([trace_id.bytes()], |row| row.get(0))
        .optional()
}

/// A trace's own revision plus that of its session.
macro_rules! revision {
    () => {
        "traces.revision + coalesce((SELECT of.revision FROM session_revisions AS of WHERE of.session = traces.session), 0)"
    };
}

const REVISION_BY_ID: &str = concat!("SELECT ", revision!(), " FROM traces WHERE id = ?");

/// The revision of a trace by the id of its row; 0 if the row is gone.
pub(super) fn revision(connection: &Connection, id: i64) -> rusqlite::Result<u64> {
    let mut revision = connection.prepare_cached(REVISION_BY_ID)?;
    let revision = revision.query_row([id], |row| row.get::<_, i64>(0)).optional()?;
    Ok(revision.unwrap_or_default().cast_unsigned())
}

/// The chunks of a trace, in order of arrival.
pub(in crate::store) fn chunks_of(connection: &Connection, trace_id: TraceId) -> Result<Vec<ChunkLocation>, Error> {
    let id = id_of(connection, trace_id).map_err(failure("read"))?;
    id.map_or_else(|| Ok(Vec::new()), |id| chunks(connection, id))
}

/// A trace's session, the start of its first span and the end of its last; `None` if it has no spans.
pub(super) fn extent(connection: &Connection, id: i64) -> Result<Option<(Option<String>, u64, u64)>, Error> {
    let query = || -> rusqlite::Result<Option<(Option<String>, u64, u64)>> {
        let nanos = |row: &Row<'_>, index| row.get::<_, i64>(index).map(|nanos| u64::try_from(nanos).unwrap_or_default());
        connection
            .prepare_cached("SELECT session, start, end FROM traces WHERE id = ? AND spans > 0")?
            .query_row([id], |row| Ok((row.get(0)?, nanos(row, 1)?, nanos(row, 2)?)))
            .optional()
    };
    query().map_err(failure("read"))
}

/// The chunks of the trace whose row has this id, in order of arrival.
pub(super) fn chunks(connection: &Connection, id: i64) -> Result<Vec<ChunkLocation>, Error> {
    let query = || -> rusqlite::Result<Vec<ChunkLocation>> {
        connection
            .prepare_cached("SELECT kind, segment, offset FROM chunks WHERE trace = ? ORDER BY segment, offset")?
            .query_map([id], |row| {
                let kind = if row.get::<_, u8>(0)? == 1 {
                    ChunkKind::Spans
                } else {
                    ChunkKind::Logs
                };
                let at = position(row, 1)?;
                Ok(ChunkLocation { kind, at })
            })?
            .collect()
    };
    query().map_err(failure("read"))
}

/// The traces with chunks in a segment. Scans the whole table.
pub(in crate::store) fn traces_in(connection: &Connection, segment: u64) -> Result<Vec<TraceId>, Error> {
    let query = || -> rusqlite::Result<Vec<TraceId>> {
        let mut statement = connection.prepare("SELECT trace FROM traces WHERE id IN (SELECT trace FROM chunks WHERE segment = ?)")?;
        let ids = statement.query_map([segment.cast_signed()], |row| row.get::<_, Vec<u8>>(0))?;
        ids.filter_map(|id| id.map(|id| TraceId::from_bytes(&id)).transpose()).collect()
    };
    query().map_err(failure("read"))
}

/// The loose log records of a session that overlap a period.
pub(super) fn loose_chunks(connection: &Connection, session: &str, start: u64, end: u64) -> Result<Vec<ChunkLocation>, Error> {
    let query = || -> rusqlite::Result<Vec<ChunkLocation>> {
        connection
            .prepare_cached("SELECT segment, offset FROM loose WHERE session = ? AND first <= ? AND last >= ? ORDER BY segment, offset")?
            .query_map(params![session, time(end), time(start)], |row| {
                let at = position(row, 0)?;
                Ok(ChunkLocation {
                    kind: ChunkKind::LooseLogs,
                    at,
                })
            })?
            .collect()
    };
    query().map_err(failure("read"))
}

fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// Traces that match a filter and have spans: all, or those `wanted` accepts. `ids`: row ids of the traces that the filter names.
pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    ids: &[i64],
    mut wanted: Option<&mut Wanted<'_>>,
) -> Result<Vec<TraceRow>, Error> {
    let mut conditions = vec!["spans > 0".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    if let Some(service) = &filter.service {
        conditions.push("(service = ? OR id IN (SELECT trace FROM services WHERE service = ?))".to_owned());
        values.extend([service, service].map(|service| Value::Text(service.clone())));
    }
    let mut add = |condition: &str, value: Value| {
        conditions.push(condition.to_owned());
        values.push(value);
    };
    if let Some(session) = &filter.session {
        add("session = ?", Value::Text(session.clone()));
    }
    if let Some(since) = filter.since {
        add("start >= ?", Value::Integer(time(since)));
    }
    if let Some(until) = filter.until {
        add("start < ?", Value::Integer(time(until)));
    }
    if let Some(after) = filter.after.filter(|_| filter.order != Order::LatestArrivalFirst) {
        let beyond = if filter.order == Order::OldestFirst { ">" } else { "<" };
        conditions.push(format!("(start, trace) {beyond} (?, ?)"));
        values.push(Value::Integer(time(after.start)));
        values.push(Value::Blob(after.trace_id.bytes().to_vec()));
    }
    let mut table = "traces";
    if !filter.traces.is_empty() {
        // By id, in whatever order they are given.
        table = "traces NOT INDEXED";
        conditions.push(format!("id IN ({})", vec!["?"; ids.len()].join(", ")));
        values.extend(ids.iter().map(|id| Value::Integer(*id)));
    }
    if let Some(range) = filter.id.as_ref().map(IdPrefix::range) {
        table = "traces NOT INDEXED";
        conditions.push(
            "id IN (SELECT id FROM ids WHERE trace BETWEEN ? AND ?
             UNION ALL SELECT id FROM traces WHERE id > (SELECT sorted FROM covered)) AND trace BETWEEN ? AND ?"
                .to_owned(),
        );
        let bounds = [range.start(), range.end()].map(|id| Value::Blob(id.to_vec()));
        values.extend(bounds.iter().chain(&bounds).cloned());
    }
    let order = match filter.order {
        Order::NewestFirst => "start DESC, trace DESC",
        Order::OldestFirst => "start ASC, trace ASC",
        // Row ids are in order of arrival.
        Order::LatestArrivalFirst => "id DESC",
    };
    // SQLite sorts no more traces with equal starts than the limit. With `wanted`, the number of rows to read is unknown.
    let limit = filter.limit.filter(|_| wanted.is_none());
    let limit = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let text = format!(
        "SELECT trace, root, root_ended, service, session, start, end, spans, logs, errors, bytes, {}
         FROM {table} WHERE {} ORDER BY {order} LIMIT {limit}",
        revision!(),
        conditions.join(" AND ")
    );
    let mut query = || -> rusqlite::Result<Vec<TraceRow>> {
        let mut statement = connection.prepare_cached(&text)?;
        let mut rows = statement.query(params_from_iter(&values))?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        while found.len() < filter.limit.unwrap_or(usize::MAX)
            && let Some(row) = rows.next()?
        {
            let Some(cursor) = cursor_of(row)? else { continue };
            let revision = number(row, 11)?;
            match wanted
                .as_mut()
                .map_or(ControlFlow::Continue(true), |wanted| wanted(cursor, revision))
            {
                ControlFlow::Continue(true) => {}
                ControlFlow::Continue(false) => continue,
                ControlFlow::Break(()) => break,
            }
            let row = trace_row(row, cursor)?;
            bytes += [&row.root, &row.service, &row.session]
                .into_iter()
                .flatten()
                .map(String::len)
                .sum::<usize>();
            found.push(row);
            if filter.name_bytes.is_some_and(|limit| bytes >= limit) {
                break;
            }
        }
        Ok(found)
    };
    query().map_err(failure("read"))
}

fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or_default())
}

/// A row's position in the list; `None`: its trace id is invalid.
fn cursor_of(row: &Row<'_>) -> rusqlite::Result<Option<TraceCursor>> {
    let trace_id = row.get_ref(0)?.as_blob_or_null()?.and_then(TraceId::from_bytes);
    let start = number(row, 5)?;
    Ok(trace_id.map(|trace_id| TraceCursor { start, trace_id }))
}

fn trace_row(row: &Row<'_>, cursor: TraceCursor) -> rusqlite::Result<TraceRow> {
    Ok(TraceRow {
        trace_id: cursor.trace_id,
        root: row.get(1)?,
        root_ended: row.get(2)?,
        service: row.get(3)?,
        session: row.get(4)?,
        start: cursor.start,
        end: number(row, 6)?,
        spans: number(row, 7)?,
        logs: number(row, 8)?,
        errors: number(row, 9)?,
        bytes: number(row, 10)?,
        revision: number(row, 11)?,
    })
}

/// Sessions that traces name, the one with the latest trace first.
pub(in crate::store) fn sessions(connection: &Connection, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error> {
    let (last_start, session) = after.map_or((i64::MAX, ""), |after| (time(after.last_start), &after.session));
    let query = || -> rusqlite::Result<Vec<SessionRow>> {
        connection
            .prepare_cached(
                // Walks back from the latest trace, no further than the page: each session is taken at its latest trace.
                "SELECT last.session, count(*), min(of.start), max(of.start), max(of.end)
                 FROM (SELECT DISTINCT start, session FROM traces AS one
                       WHERE session IS NOT NULL AND spans > 0 AND start <= ?1 AND (start < ?1 OR session > ?2)
                       AND NOT EXISTS (SELECT 1 FROM traces AS later
                                       WHERE later.session = one.session AND later.start > one.start AND later.spans > 0)
                       ORDER BY start DESC, session LIMIT ?3) AS last
                 JOIN traces AS of ON of.session = last.session AND of.spans > 0
                 GROUP BY last.start, last.session ORDER BY last.start DESC, last.session",
            )?
            .query_map(params![last_start, session, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                let number = |index| row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or_default());
                Ok(SessionRow {
                    session: row.get(0)?,
                    traces: number(1)?,
                    start: number(2)?,
                    last_start: number(3)?,
                    end: number(4)?,
                })
            })?
            .collect()
    };
    query().map_err(failure("read"))
}

/// The cached summary of a trace, if it is of this revision.
pub(in crate::store) fn summary(connection: &Connection, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
    connection
        .prepare_cached("SELECT summary FROM summaries WHERE trace = ? AND revision = ?")
        .and_then(|mut query| {
            query
                .query_row(params![trace_id.bytes(), revision.cast_signed()], |row| row.get(0))
                .optional()
        })
        .map_err(failure("read"))
}

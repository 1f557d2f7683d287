//! Repeated queries for traces over one connection.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::connection::failure;
use super::query::{self, ChunkLocation};
use crate::hash::HashMap;
use crate::span::TraceId;
use crate::store::error::Error;
use crate::store::lists::{Filter, TraceRow, Wanted};

/// A connection for reading, with a cache of ids of traces that are not yet in the sorted table.
#[derive(Debug)]
pub(in crate::store) struct Reading {
    connection: Connection,
    recent: HashMap<TraceId, i64>,
    /// All ids up to this one are in the sorted table.
    sorted: i64,
    /// The last row id that was looked at.
    seen: i64,
}

/// Where the chunks of a trace are.
#[derive(Debug)]
pub(in crate::store) struct TraceLocation {
    /// From the start of its first span to the end of its last, in nanoseconds.
    pub(in crate::store) time: RangeInclusive<u64>,
    /// Its own chunks, in order of arrival.
    pub(in crate::store) chunks: Vec<ChunkLocation>,
    /// Chunks of log records that name only its session.
    pub(in crate::store) loose: Vec<ChunkLocation>,
}

impl Reading {
    pub(in crate::store) fn new(connection: Connection) -> Self {
        Self {
            connection,
            recent: HashMap::default(),
            sorted: 0,
            seen: 0,
        }
    }

    /// For queries that do not look up a trace by id.
    pub(in crate::store) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Traces that match the filter and have spans.
    pub(in crate::store) fn list(&mut self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        let ids = self.ids_of(filter)?;
        query::list(&self.connection, filter, &ids, None)
    }

    /// The same, limited to those that `wanted` accepts.
    pub(in crate::store) fn list_wanted(&mut self, filter: &Filter, wanted: &mut Wanted<'_>) -> Result<Vec<TraceRow>, Error> {
        let ids = self.ids_of(filter)?;
        query::list(&self.connection, filter, &ids, Some(wanted))
    }

    /// Row ids of the traces that a filter names.
    fn ids_of(&mut self, filter: &Filter) -> Result<Vec<i64>, Error> {
        let ids = filter.traces.iter().filter_map(|trace_id| self.id(*trace_id).transpose());
        ids.collect::<rusqlite::Result<_>>().map_err(failure("read"))
    }

    /// Where the chunks of a trace are; `None` if it has no spans.
    pub(in crate::store) fn trace(&mut self, trace_id: TraceId) -> Result<Option<TraceLocation>, Error> {
        let Some(id) = self.id(trace_id).map_err(failure("read"))? else {
            return Ok(None);
        };
        let Some((session, start, end)) = query::extent(&self.connection, id)? else {
            return Ok(None);
        };
        let loose = match session {
            Some(session) => query::loose_chunks(&self.connection, &session, start, end)?,
            None => Vec::new(),
        };
        Ok(Some(TraceLocation {
            time: start..=end,
            chunks: query::chunks(&self.connection, id)?,
            loose,
        }))
    }

    /// Where the chunks of a trace are, in order of arrival, even if it has no spans.
    pub(in crate::store) fn chunks(&mut self, trace_id: TraceId) -> Result<Vec<ChunkLocation>, Error> {
        let id = self.id(trace_id).map_err(failure("read"))?;
        id.map_or_else(|| Ok(Vec::new()), |id| query::chunks(&self.connection, id))
    }

    /// The revision of a trace; 0 if it has no row.
    pub(in crate::store) fn revision(&mut self, trace_id: TraceId) -> Result<u64, Error> {
        let id = self.id(trace_id).map_err(failure("read"))?;
        id.map_or(Ok(0), |id| query::revision(&self.connection, id))
            .map_err(failure("read"))
    }

    fn id(&mut self, trace_id: TraceId) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = query::sorted_id(&self.connection, trace_id)? {
            return Ok(Some(id));
        }
        self.look()?;
        if let Some(id) = self.recent.get(&trace_id)
            && let mut is_row = self.connection.prepare_cached("SELECT 1 FROM traces WHERE id = ? AND trace = ?")?
            && is_row.exists(params![id, trace_id.bytes()])?
        {
            return Ok(Some(*id));
        }
        // It was sorted meanwhile, or there is no such trace. Scanning all unsorted rows once more, as `id_of` does, would
        // make each first lookup of a trace linear in them.
        query::sorted_id(&self.connection, trace_id)
    }

    /// Reads the new rows.
    fn look(&mut self) -> rusqlite::Result<()> {
        let mut sorted = self.connection.prepare_cached("SELECT sorted FROM covered")?;
        let sorted = sorted.query_row([], |row| row.get(0)).optional()?.unwrap_or(0);
        if sorted > self.sorted {
            self.sorted = sorted;
            self.seen = self.seen.max(sorted);
            self.recent.retain(|_, id| *id > sorted);
        }
        let mut rows = self
            .connection
            .prepare_cached("SELECT id, trace FROM traces WHERE id > ? ORDER BY id")?;
        let mut rows = rows.query([self.seen])?;
        while let Some(row) = rows.next()? {
            self.seen = row.get(0)?;
            if let Some(trace_id) = row.get_ref(1)?.as_blob().ok().and_then(TraceId::from_bytes) {
                let _ = self.recent.insert(trace_id, self.seen);
            }
        }
        Ok(())
    }
}

//! The row of a trace: a summary of its chunks.

use rusqlite::{CachedStatement, Connection, params};

use crate::span::TraceId;
use crate::store::chunk::Listed;
use crate::store::chunk::kind::ChunkKind;

/// The statements that create and change rows.
pub(super) struct Rows<'a> {
    add: CachedStatement<'a>,
    add_to: CachedStatement<'a>,
    reorder: CachedStatement<'a>,
    add_service: CachedStatement<'a>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            add: connection.prepare_cached(ADD)?,
            add_to: connection.prepare_cached(ADD_TO)?,
            reorder: connection.prepare_cached(REORDER)?,
            add_service: connection.prepare_cached(ADD_SERVICE)?,
        })
    }

    /// Adds the row of a trace with its first chunk.
    pub(super) fn add(&mut self, id: i64, trace_id: TraceId, chunk: &Listed<'_>) -> rusqlite::Result<()> {
        let values = ColumnValues::of(chunk);
        self.add.execute(params![
            id,
            trace_id.bytes(),
            values.root,
            values.root_start,
            values.root_ended,
            values.service,
            values.session,
            values.start,
            values.end,
            values.spans,
            values.logs,
            values.errors,
            values.bytes,
        ])?;
        self.add_services(id, chunk.part.further_services.iter().map(|service| &**service))
    }

    /// Adds a further chunk.
    pub(super) fn add_to(&mut self, id: i64, chunk: &Listed<'_>) -> rusqlite::Result<()> {
        let values = ColumnValues::of(chunk);
        self.add_to.execute(params![
            id,
            values.root,
            values.root_start,
            values.root_ended,
            values.end,
            values.spans,
            values.logs,
            values.errors,
            values.bytes,
        ])?;
        self.reorder
            .execute(params![id, values.service, values.session, values.start, values.session_of_root])?;
        self.add_services(id, chunk.part.services())
    }

    fn add_services<'s>(&mut self, id: i64, services: impl Iterator<Item = &'s str>) -> rusqlite::Result<()> {
        for service in services {
            self.add_service.execute(params![id, service])?;
        }
        Ok(())
    }
}

/// Together with its session's, the revision is 1.
const ADD: &str = "INSERT INTO traces VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
    1 - coalesce((SELECT revision FROM session_revisions WHERE session = ?7), 0))";

const ADD_TO: &str = "
    UPDATE traces SET
        root = CASE WHEN ?3 < coalesce(root_start, 9223372036854775807) THEN ?2 ELSE root END,
        root_start = CASE WHEN ?3 < coalesce(root_start, 9223372036854775807) THEN ?3 ELSE root_start END,
        root_ended = max(root_ended, ?4),
        end = max(end, ?5),
        spans = spans + ?6,
        logs = logs + ?7,
        errors = errors + ?8,
        bytes = bytes + ?9,
        revision = revision + 1
    WHERE id = ?1";

/// Columns with SQL indexes are set only if they change, because each change also writes these indexes. A different session
/// has a different revision, so the trace's own is adjusted to keep the sum.
const REORDER: &str = "
    UPDATE traces SET
        revision = revision
            + coalesce((SELECT old.revision FROM session_revisions AS old WHERE old.session = traces.session), 0)
            - coalesce((SELECT new.revision FROM session_revisions AS new
                        WHERE new.session = CASE WHEN ?5 THEN ?3 ELSE coalesce(traces.session, ?3) END), 0),
        service = coalesce(service, ?2),
        session = CASE WHEN ?5 THEN ?3 ELSE coalesce(session, ?3) END,
        start = CASE WHEN start = 0 THEN ?4 WHEN ?4 = 0 THEN start ELSE min(start, ?4) END
    WHERE id = ?1 AND (
        (service IS NULL AND ?2 IS NOT NULL)
        OR (session IS NULL AND ?3 IS NOT NULL)
        OR (?5 AND session IS NOT ?3)
        OR (?4 <> 0 AND (start = 0 OR ?4 < start))
    )";

/// A service that is not the one in the trace's row.
const ADD_SERVICE: &str = "INSERT OR IGNORE INTO services SELECT ?2, ?1 WHERE (SELECT service FROM traces WHERE id = ?1) IS NOT ?2";

/// The values of a chunk for the columns of its trace's row.
struct ColumnValues<'a> {
    root: Option<&'a String>,
    root_start: Option<i64>,
    root_ended: bool,
    service: Option<&'a str>,
    session: Option<&'a str>,
    session_of_root: bool,
    start: i64,
    end: i64,
    spans: i64,
    logs: i64,
    errors: i64,
    bytes: i64,
}

impl<'a> ColumnValues<'a> {
    fn of(chunk: &'a Listed<'_>) -> Self {
        let part = &*chunk.part;
        let items = i64::try_from(part.items).unwrap_or(i64::MAX);
        let (spans, logs, start, end) = match chunk.kind {
            ChunkKind::Spans => (items, 0, time(part.start), time(part.end)),
            _ => (0, items, 0, 0),
        };
        let (root_start, root) = part.root.as_ref().map(|(start, name)| (time(*start), name)).unzip();
        Self {
            root,
            root_start,
            root_ended: part.root_ended,
            service: part.service.as_deref(),
            session: part.session.as_deref(),
            session_of_root: part.session_of_root,
            start,
            end,
            spans,
            logs,
            errors: i64::try_from(part.errors).unwrap_or(i64::MAX),
            bytes: i64::try_from(chunk.length).unwrap_or(i64::MAX),
        }
    }
}

/// SQLite's integers are signed; times after 2262 become the latest it can hold.
pub(super) fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

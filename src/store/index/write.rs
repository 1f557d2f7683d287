//! Rows of new chunks, in one transaction a commit.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::failure;
use crate::otlp::scan::Key;
use crate::span::TraceId;
use crate::store::log::Position;
use crate::store::{Chunk, ChunkKind, Error};

/// One transaction.
#[derive(Debug)]
pub(in crate::store) struct Writer<'a>(Transaction<'a>);

impl<'a> Writer<'a> {
    pub(in crate::store) fn begin(connection: &'a mut Connection) -> Result<Self, Error> {
        // Immediate: a transaction that reads first and then wants to write may find that another wrote in between.
        connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map(Self)
            .map_err(failure("begin"))
    }

    /// Whether a chunk with the same bytes is there.
    pub(in crate::store) fn has(&self, chunk: &Chunk) -> Result<bool, Error> {
        let found = match &chunk.part.key {
            Key::Trace(trace_id) => self
                .0
                .prepare_cached("SELECT 1 FROM chunks WHERE trace = ? AND digest = ? AND kind = ?")
                .and_then(|mut query| query.exists(params![trace_id.bytes(), chunk.digest, chunk.kind.number()])),
            Key::Session(session) => self
                .0
                .prepare_cached("SELECT 1 FROM loose WHERE session = ? AND digest = ?")
                .and_then(|mut query| query.exists(params![session, chunk.digest])),
        };
        found.map_err(failure("read"))
    }

    /// Adds a chunk that stands at this place; nothing if one with the same bytes is there.
    pub(in crate::store) fn add(&self, chunk: &Chunk, at: Position) -> Result<(), Error> {
        match &chunk.part.key {
            Key::Trace(trace_id) => self.add_to_trace(*trace_id, chunk, at),
            Key::Session(session) => self.add_loose(session, chunk, at),
        }
        .map_err(failure("write"))
    }

    fn add_to_trace(&self, trace_id: TraceId, chunk: &Chunk, at: Position) -> rusqlite::Result<()> {
        let part = &chunk.part;
        let added = self
            .0
            .prepare_cached("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?)")?
            .execute(params![
                trace_id.bytes(),
                chunk.digest,
                chunk.kind.number(),
                at.segment.cast_signed(),
                at.offset.cast_signed()
            ])?;
        if added == 0 {
            return Ok(());
        }
        let items = i64::try_from(part.items).unwrap_or(i64::MAX);
        let (spans, logs, start, end) = match chunk.kind {
            ChunkKind::Spans => (items, 0, time(part.start), time(part.end)),
            _ => (0, items, 0, 0),
        };
        let (root_start, root) = part.root.as_ref().map(|(start, name)| (time(*start), name)).unzip();
        self.0
            .prepare_cached(
                "INSERT INTO traces VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1)
                 ON CONFLICT (trace) DO UPDATE SET
                    root = CASE WHEN excluded.root_start < coalesce(root_start, 9223372036854775807) THEN excluded.root ELSE root END,
                    root_start = CASE WHEN excluded.root_start < coalesce(root_start, 9223372036854775807)
                                      THEN excluded.root_start ELSE root_start END,
                    root_ended = max(root_ended, excluded.root_ended),
                    service = coalesce(service, excluded.service),
                    session = coalesce(session, excluded.session),
                    start = CASE WHEN start = 0 THEN excluded.start WHEN excluded.start = 0 THEN start
                                 ELSE min(start, excluded.start) END,
                    end = max(end, excluded.end),
                    spans = spans + excluded.spans,
                    logs = logs + excluded.logs,
                    errors = errors + excluded.errors,
                    bytes = bytes + excluded.bytes,
                    revision = revision + 1",
            )?
            .execute(params![
                trace_id.bytes(),
                root,
                root_start,
                part.root_ended,
                part.service,
                part.session,
                start,
                end,
                spans,
                logs,
                i64::try_from(part.errors).unwrap_or(i64::MAX),
                i64::try_from(chunk.bytes.len()).unwrap_or(i64::MAX),
            ])?;
        Ok(())
    }

    fn add_loose(&self, session: &str, chunk: &Chunk, at: Position) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("INSERT OR IGNORE INTO loose VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![
                session,
                chunk.digest,
                at.segment.cast_signed(),
                at.offset.cast_signed(),
                time(chunk.part.start),
                time(chunk.part.end)
            ])?;
        // Such a record changes what the traces of its session say.
        if !session.is_empty() {
            self.0
                .prepare_cached("UPDATE traces SET revision = revision + 1 WHERE session = ?")?
                .execute([session])?;
        }
        Ok(())
    }

    /// Commits, with the position of the log that is covered now.
    pub(in crate::store) fn commit(self, covered: Position) -> Result<(), Error> {
        self.0
            .prepare_cached("UPDATE covered SET segment = ?, offset = ?")
            .and_then(|mut update| update.execute([covered.segment.cast_signed(), covered.offset.cast_signed()]))
            .map_err(failure("write"))?;
        self.0.commit().map_err(failure("commit"))
    }
}

/// SQLite's integers are signed; times after 2262 become the last it can hold.
fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// Keeps what was computed of a trace at a revision.
pub(in crate::store) fn put_summary(connection: &Connection, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)")
        .and_then(|mut insert| insert.execute(params![trace_id.bytes(), revision.cast_signed(), summary]))
        .map(|_| ())
        .map_err(failure("write"))
}

//! Rows of new chunks, in one transaction a commit.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::failure;
use super::query::Place;
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

    /// Where chunks stand that may be this one: of the same trace or session, with the same checksum.
    pub(in crate::store) fn alike(&self, chunk: &Chunk) -> Result<Vec<Position>, Error> {
        let row = |row: &Row<'_>| super::query::position(row, 0);
        let query = || -> rusqlite::Result<Vec<Position>> {
            match &chunk.part.key {
                Key::Trace(trace_id) => self
                    .0
                    .prepare_cached("SELECT segment, offset FROM chunks WHERE trace = ? AND checksum = ? AND kind = ?")?
                    .query_map(params![trace_id.bytes(), chunk.checksum, chunk.kind.number()], row)?
                    .collect(),
                Key::Session(session) => self
                    .0
                    .prepare_cached("SELECT segment, offset FROM loose WHERE session = ? AND checksum = ?")?
                    .query_map(params![session, chunk.checksum], row)?
                    .collect(),
            }
        };
        query().map_err(failure("read"))
    }

    /// Adds a chunk that stands at this place; nothing if it was added before.
    pub(in crate::store) fn add(&self, chunk: &Chunk, at: Position) -> Result<(), Error> {
        match &chunk.part.key {
            Key::Trace(trace_id) => self.add_to_trace(*trace_id, chunk, at),
            Key::Session(session) => self.add_loose(session, chunk, at),
        }
        .map_err(failure("write"))
    }

    fn add_to_trace(&self, trace_id: TraceId, chunk: &Chunk, at: Position) -> rusqlite::Result<()> {
        let added = self
            .0
            .prepare_cached("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?)")?
            .execute(params![
                trace_id.bytes(),
                chunk.checksum,
                at.segment.cast_signed(),
                at.offset.cast_signed(),
                chunk.kind.number()
            ])?;
        if added == 0 {
            return Ok(());
        }
        self.add_to_row(trace_id, chunk)
    }

    /// Adds what a chunk says to the row of its trace.
    fn add_to_row(&self, trace_id: TraceId, chunk: &Chunk) -> rusqlite::Result<()> {
        let part = &chunk.part;
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
                i64::try_from(chunk.length()).unwrap_or(i64::MAX),
            ])?;
        Ok(())
    }

    fn add_loose(&self, session: &str, chunk: &Chunk, at: Position) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("INSERT OR IGNORE INTO loose VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![
                session,
                chunk.checksum,
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

    /// Forgets the chunks of a trace that stand in a segment, and says where its others are.
    pub(in crate::store) fn forget(&self, trace_id: TraceId, segment: u64) -> Result<Vec<Place>, Error> {
        self.0
            .prepare_cached("DELETE FROM chunks WHERE trace = ? AND segment = ?")
            .and_then(|mut delete| delete.execute(params![trace_id.bytes(), segment.cast_signed()]))
            .map_err(failure("write"))?;
        super::query::traces_chunks(&self.0, trace_id)
    }

    /// Forgets the loose log records that stand in a segment.
    pub(in crate::store) fn forget_loose(&self, segment: u64) -> Result<(), Error> {
        self.0
            .execute("DELETE FROM loose WHERE segment = ?", [segment.cast_signed()])
            .map(|_| ())
            .map_err(failure("write"))
    }

    /// Makes the row of a trace anew of the chunks that are left of it; none left: none made.
    pub(in crate::store) fn remake_row(&self, trace_id: TraceId, left: &[Chunk]) -> Result<(), Error> {
        let remake = || -> rusqlite::Result<()> {
            let id = trace_id.bytes();
            let revision: Option<i64> = self
                .0
                .prepare_cached("DELETE FROM traces WHERE trace = ? RETURNING revision")?
                .query_row([id], |row| row.get(0))
                .optional()?;
            self.0.prepare_cached("DELETE FROM summaries WHERE trace = ?")?.execute([id])?;
            for chunk in left {
                self.add_to_row(trace_id, chunk)?;
            }
            // What was computed at an earlier revision must not be taken for the new state.
            self.0
                .prepare_cached("UPDATE traces SET revision = ? + 1 WHERE trace = ?")?
                .execute(params![revision.unwrap_or_default(), id])?;
            Ok(())
        };
        remake().map_err(failure("write"))
    }

    /// Commits what does not change how far the log is covered.
    pub(in crate::store) fn commit_removal(self) -> Result<(), Error> {
        self.0.commit().map_err(failure("commit"))
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

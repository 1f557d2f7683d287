//! Adds the rows of new chunks, in one transaction for each commit.

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::connection::failure;
use super::query::{self, position};
use super::recent_ids::{Index, RecentIds};
use super::rows::{Rows, time};
use crate::hash::HashMap;
use crate::otlp::scan::Key;
use crate::span::TraceId;
use crate::store::chunk::Listed;
use crate::store::chunk::kind::ChunkKind;
use crate::store::error::Error;
use crate::store::log::Position;

/// One transaction and its prepared statements.
pub(in crate::store) struct IndexTransaction<'a> {
    sort: CachedStatement<'a>,
    is_row: CachedStatement<'a>,
    find: CachedStatement<'a>,
    alike: CachedStatement<'a>,
    alike_loose: CachedStatement<'a>,
    add_chunk: CachedStatement<'a>,
    rows: Rows<'a>,
    /// A cache of row ids; `None` for traces without a row.
    ids: HashMap<TraceId, Option<i64>>,
    /// Number of rows added.
    added: usize,
    connection: &'a Connection,
    /// `None`: the last one was committed, and the next has not begun.
    transaction: Option<Transaction<'a>>,
    recent: &'a mut RecentIds,
}

/// Immediate: a transaction that reads first and writes later may fail because another one wrote in between.
fn begin(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

/// Maximum number of cached ids: enough for any commit, but not for a whole log.
const MAX_IDS: usize = 1 << 16;

/// A chunk is compared with at most this many chunks of the same trace and checksum. Equal checksums by chance are rare, each
/// comparison reads the log, and storing a chunk twice does no harm.
pub(in crate::store) const ALIKE: usize = 8;

impl<'a> IndexTransaction<'a> {
    /// Begins a transaction.
    pub(in crate::store) fn begin(index: &'a mut Index) -> Result<Self, Error> {
        let (connection, recent) = index.parts()?;
        Self::prepare(connection, recent).map_err(failure("begin"))
    }

    fn prepare(connection: &'a Connection, recent: &'a mut RecentIds) -> rusqlite::Result<Self> {
        Ok(Self {
            transaction: Some(begin(connection)?),
            sort: connection.prepare_cached("INSERT OR REPLACE INTO ids VALUES (?, ?)")?,
            is_row: connection.prepare_cached("SELECT 1 FROM traces WHERE id = ? AND trace = ?")?,
            find: connection.prepare_cached("SELECT id FROM ids WHERE trace = ?")?,
            alike: connection.prepare_cached("SELECT segment, offset FROM chunks WHERE trace = ? AND checksum = ? AND kind = ? LIMIT ?")?,
            alike_loose: connection.prepare_cached("SELECT segment, offset FROM loose WHERE session = ? AND checksum = ? LIMIT ?")?,
            add_chunk: connection.prepare_cached("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?)")?,
            rows: Rows::of(connection)?,
            ids: HashMap::default(),
            added: 0,
            connection,
            recent,
        })
    }

    /// The id of a trace's row.
    fn id(&mut self, trace_id: TraceId) -> rusqlite::Result<Option<i64>> {
        if let Some(id) = self.ids.get(&trace_id) {
            return Ok(*id);
        }
        let id = match self.recent.get(trace_id) {
            Some(id) => Some(id),
            None => self.find.query_row([trace_id.bytes()], |row| row.get(0)).optional()?,
        };
        // Another connection may have removed the row, and its id may have been reused.
        let id = match id {
            Some(id) if self.is_row.exists(params![id, trace_id.bytes()])? => Some(id),
            _ => None,
        };
        self.remember(trace_id, id);
        Ok(id)
    }

    fn remember(&mut self, trace_id: TraceId, id: Option<i64>) {
        if self.ids.len() >= MAX_IDS {
            self.ids.clear();
        }
        self.ids.insert(trace_id, id);
    }

    /// The revision of a trace; 0 if it has no row.
    pub(in crate::store) fn revision(&mut self, trace_id: TraceId) -> Result<u64, Error> {
        let id = self.id(trace_id).map_err(failure("read"))?;
        id.map_or(Ok(0), |id| query::revision(self.connection, id)).map_err(failure("read"))
    }

    /// Positions of chunks that may equal this one: same trace or session, and same checksum.
    pub(in crate::store) fn alike(&mut self, chunk: &Listed<'_>) -> Result<Vec<Position>, Error> {
        if chunk.kind == ChunkKind::Metrics {
            return Ok(Vec::new());
        }
        let row = |row: &Row<'_>| position(row, 0);
        let mut query = || -> rusqlite::Result<Vec<Position>> {
            match &chunk.part.key {
                Key::Trace(trace_id) => {
                    let Some(id) = self.id(*trace_id)? else { return Ok(Vec::new()) };
                    self.alike
                        .query_map(params![id, chunk.checksum, chunk.kind.number(), ALIKE as i64], row)?
                        .collect()
                }
                Key::Session(session) => self
                    .alike_loose
                    .query_map(params![session, chunk.checksum, ALIKE as i64], row)?
                    .collect(),
            }
        };
        query().map_err(failure("read"))
    }

    /// Adds a chunk at this position, unless it was added before. Metrics are not indexed: forwarding reads them from the
    /// log.
    pub(in crate::store) fn add(&mut self, chunk: &Listed<'_>, at: Position) -> Result<(), Error> {
        if chunk.kind == ChunkKind::Metrics {
            return Ok(());
        }
        match &chunk.part.key {
            Key::Trace(trace_id) => self.add_to_trace(*trace_id, chunk, at),
            Key::Session(session) => self.add_loose(session, chunk, at),
        }
        .map_err(failure("write"))
    }

    fn add_to_trace(&mut self, trace_id: TraceId, chunk: &Listed<'_>, at: Position) -> rusqlite::Result<()> {
        let known = self.id(trace_id)?;
        let id = match known {
            Some(id) => id,
            None => self.add_row(trace_id, chunk)?,
        };
        let added = self.add_chunk.execute(params![
            id,
            chunk.checksum,
            at.segment.cast_signed(),
            at.offset.cast_signed(),
            chunk.kind.number()
        ])?;
        if known.is_some() && added > 0 {
            self.rows.add_to(id, chunk)?;
        }
        Ok(())
    }

    /// Adds the row of a trace with its first chunk.
    fn add_row(&mut self, trace_id: TraceId, chunk: &Listed<'_>) -> rusqlite::Result<i64> {
        let id = self.recent.next_id();
        self.rows.add(id, trace_id, chunk)?;
        self.remember(trace_id, Some(id));
        self.added += 1;
        if self.recent.add(trace_id, id) {
            self.sort(usize::MAX)?;
        }
        Ok(id)
    }

    /// Inserts up to `most` of the ids being sorted.
    fn sort(&mut self, most: usize) -> rusqlite::Result<()> {
        for _ in 0..most {
            let Some((trace_id, id)) = self.recent.next() else { break };
            self.sort.execute(params![trace_id.bytes(), id])?;
        }
        if let Some(sorted) = self.recent.sorted() {
            self.connection.prepare_cached("UPDATE covered SET sorted = ?")?.execute([sorted])?;
        }
        Ok(())
    }

    /// Sorts all recent ids.
    pub(in crate::store) fn sort_all(&mut self) -> Result<(), Error> {
        self.recent.begin();
        self.sort(usize::MAX).map_err(failure("write"))
    }

    fn add_loose(&mut self, session: &str, chunk: &Listed<'_>, at: Position) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO loose VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![
                session,
                chunk.checksum,
                at.segment.cast_signed(),
                at.offset.cast_signed(),
                time(chunk.part.start),
                time(chunk.part.end)
            ])?;
        // A loose record changes the traces of its session.
        if !session.is_empty() {
            self.connection
                .prepare_cached(
                    "INSERT INTO session_revisions SELECT ?1, 1 WHERE EXISTS (SELECT 1 FROM traces WHERE session = ?1)
                     ON CONFLICT (session) DO UPDATE SET revision = revision + 1",
                )?
                .execute([session])?;
        }
        Ok(())
    }

    /// Records where the last record of a segment ends.
    pub(in crate::store) fn end(&mut self, end: Position) -> Result<(), Error> {
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO ends VALUES (?, ?)")
            .and_then(|mut insert| insert.execute([end.segment.cast_signed(), end.offset.cast_signed()]))
            .map(|_| ())
            .map_err(failure("write"))
    }

    /// Begins the next transaction, unless one is open.
    pub(in crate::store) fn go_on(&mut self) -> Result<(), Error> {
        if self.transaction.is_none() {
            self.transaction = Some(begin(self.connection).map_err(failure("begin"))?);
        }
        Ok(())
    }

    /// Commits, and records which position of the log is covered now.
    pub(in crate::store) fn commit(mut self, covered: Position) -> Result<(), Error> {
        self.commit_so_far(covered)
    }

    /// Like [`IndexTransaction::commit`]; more can be added once the next transaction has begun.
    pub(in crate::store) fn commit_so_far(&mut self, covered: Position) -> Result<(), Error> {
        // Sorting twice as many ids as were added finishes before as many have accumulated again.
        let added = std::mem::take(&mut self.added);
        self.sort(2 * added).map_err(failure("write"))?;
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO ends SELECT segment, offset FROM covered WHERE segment > 0 AND segment < ?")
            .and_then(|mut seal| seal.execute([covered.segment.cast_signed()]))
            .map_err(failure("write"))?;
        self.connection
            .prepare_cached("UPDATE covered SET segment = ?, offset = ?")
            .and_then(|mut update| update.execute([covered.segment.cast_signed(), covered.offset.cast_signed()]))
            .map_err(failure("write"))?;
        if let Some(transaction) = self.transaction.take() {
            transaction.commit().map_err(failure("commit"))?;
        }
        self.recent.committed();
        Ok(())
    }
}

/// Stores the summary of a trace at a revision.
pub(in crate::store) fn put_summary(connection: &Connection, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)")
        .and_then(|mut insert| insert.execute(params![trace_id.bytes(), revision.cast_signed(), summary]))
        .map(|_| ())
        .map_err(failure("write"))
}

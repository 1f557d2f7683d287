//! Forgetting what retention removes from the log.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::connection::failure;
use super::query::{ChunkLocation, id_of, traces_chunks};
use super::rows::Rows;
use crate::span::TraceId;
use crate::store::chunk::Listed;
use crate::store::error::Error;

/// One transaction.
#[derive(Debug)]
pub(in crate::store) struct Remover<'a>(Transaction<'a>);

impl<'a> Remover<'a> {
    pub(in crate::store) fn begin(connection: &'a mut Connection) -> Result<Self, Error> {
        connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map(Self)
            .map_err(failure("begin"))
    }

    /// Removes the chunks of a trace in a segment, and returns the locations of its other chunks.
    pub(in crate::store) fn forget(&self, trace_id: TraceId, segment: u64) -> Result<Vec<ChunkLocation>, Error> {
        let forget = || -> rusqlite::Result<()> {
            let Some(id) = id_of(&self.0, trace_id)? else { return Ok(()) };
            self.0
                .prepare_cached("DELETE FROM chunks WHERE trace = ? AND segment = ?")?
                .execute(params![id, segment.cast_signed()])?;
            Ok(())
        };
        forget().map_err(failure("write"))?;
        traces_chunks(&self.0, trace_id)
    }

    /// Removes the loose log records in a segment, and the end of the segment.
    pub(in crate::store) fn forget_loose(&self, segment: u64) -> Result<(), Error> {
        self.0
            .execute("DELETE FROM loose WHERE segment = ?", [segment.cast_signed()])
            .and_then(|_| self.0.execute("DELETE FROM ends WHERE segment = ?", [segment.cast_signed()]))
            .map(|_| ())
            .map_err(failure("write"))
    }

    /// Rebuilds the row of a trace from the chunks that are left; removes it if none are.
    pub(in crate::store) fn remake_row(&self, trace_id: TraceId, left: &[Listed<'_>]) -> Result<(), Error> {
        let remake = || -> rusqlite::Result<()> {
            let Some(id) = id_of(&self.0, trace_id)? else { return Ok(()) };
            let revision: i64 = self
                .0
                .prepare_cached("DELETE FROM traces WHERE id = ? RETURNING revision")?
                .query_row([id], |row| row.get(0))?;
            self.0
                .prepare_cached("DELETE FROM summaries WHERE trace = ?")?
                .execute([trace_id.bytes()])?;
            let Some((first, further)) = left.split_first() else {
                self.0
                    .prepare_cached("DELETE FROM ids WHERE trace = ?")?
                    .execute([trace_id.bytes()])?;
                // Those that are damaged: the id may become another trace's.
                self.0.prepare_cached("DELETE FROM chunks WHERE trace = ?")?.execute([id])?;
                return Ok(());
            };
            let mut rows = Rows::of(&self.0)?;
            rows.add(id, trace_id, first)?;
            for chunk in further {
                rows.add_to(id, chunk)?;
            }
            // What was computed at an earlier revision must not be taken for the new state.
            self.0
                .prepare_cached("UPDATE traces SET revision = ? + 1 WHERE id = ?")?
                .execute([revision, id])?;
            Ok(())
        };
        remake().map_err(failure("write"))
    }

    /// Commits. How far the log is covered stays as it is.
    pub(in crate::store) fn commit(self) -> Result<(), Error> {
        self.0.commit().map_err(failure("commit"))
    }
}

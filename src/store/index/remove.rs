//! Removes from the index what retention removed from the log.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::connection::failure;
use super::query::{ChunkLocation, chunks_of, id_of, revision};
use super::rows::Rows;
use crate::span::TraceId;
use crate::store::chunk::Listed;
use crate::store::error::Error;

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
        chunks_of(&self.0, trace_id)
    }

    /// Removes the recorded end of a segment, and its loose log records; finding those scans all of them.
    pub(in crate::store) fn forget_segment(&self, segment: u64, has_loose: bool) -> Result<(), Error> {
        let forget = || -> rusqlite::Result<()> {
            if has_loose {
                self.0.execute("DELETE FROM loose WHERE segment = ?", [segment.cast_signed()])?;
            }
            self.0.execute("DELETE FROM ends WHERE segment = ?", [segment.cast_signed()])?;
            // If no trace names a session any more, its revision has no effect.
            self.0.execute(
                "DELETE FROM session_revisions WHERE NOT EXISTS (SELECT 1 FROM traces WHERE traces.session = session_revisions.session)",
                [],
            )?;
            Ok(())
        };
        forget().map_err(failure("write"))
    }

    /// Rebuilds the row of a trace from the chunks that are left; removes it if none are.
    pub(in crate::store) fn remake_row(&self, trace_id: TraceId, left: &[Listed<'_>]) -> Result<(), Error> {
        let remake = || -> rusqlite::Result<()> {
            let Some(id) = id_of(&self.0, trace_id)? else { return Ok(()) };
            let revision = revision(&self.0, id)?.cast_signed();
            self.0.prepare_cached("DELETE FROM services WHERE trace = ?")?.execute([id])?;
            self.0.prepare_cached("DELETE FROM traces WHERE id = ?")?.execute([id])?;
            self.0
                .prepare_cached("DELETE FROM summaries WHERE trace = ?")?
                .execute([trace_id.bytes()])?;
            let Some((first, further)) = left.split_first() else {
                self.0
                    .prepare_cached("DELETE FROM ids WHERE trace = ?")?
                    .execute([trace_id.bytes()])?;
                // Remove damaged chunks, too: the id may be reused for another trace.
                self.0.prepare_cached("DELETE FROM chunks WHERE trace = ?")?.execute([id])?;
                return Ok(());
            };
            let mut rows = Rows::of(&self.0)?;
            rows.add(id, trace_id, first)?;
            for chunk in further {
                rows.add_to(id, chunk)?;
            }
            // Raise the revision, so that earlier summaries do not apply to the new state.
            self.0
                .prepare_cached(
                    "UPDATE traces SET revision = ?1 + 1
                     - coalesce((SELECT of.revision FROM session_revisions AS of WHERE of.session = traces.session), 0) WHERE id = ?2",
                )?
                .execute([revision, id])?;
            Ok(())
        };
        remake().map_err(failure("write"))
    }

    /// Commits. The covered position of the log does not change.
    pub(in crate::store) fn commit(self) -> Result<(), Error> {
        self.0.commit().map_err(failure("commit"))
    }
}

//! Erases data deleted on request: from the index first, then from the segments.

use std::io;
use std::sync::atomic::Ordering;

use super::Work;
use crate::span::TraceId;
use crate::store::error::Error;
use crate::store::index;
use crate::store::log::{self, Position};

/// The zstd level for rewritten segments if segments are not compressed otherwise.
const LEVEL: i32 = 1;

impl Work {
    /// Erases what deletions have left to erase, once while the store is open. What cannot be done yet is left for the next time.
    ///
    /// # Errors
    ///
    /// The disk or the index failed, or the store was closed before everything was erased.
    pub(super) fn erase(&mut self) -> Result<(), Error> {
        let unfinished = self.state.deletions().and_then(|deletions| deletions.unfinished());
        let Some(work) = unfinished.filter(|work| work.deletions > self.erased) else {
            return Ok(());
        };
        let traces: Vec<TraceId> = work.traces.iter().copied().collect();
        let loose: Vec<Position> = work.loose.iter().copied().collect();
        {
            let _turn = self.state.turns.take();
            let mut index = index::open(&self.directory)?;
            // This commit makes all earlier ones durable.
            index::make_durable(&index)?;
            index::delete(&mut index, &traces, &loose)?;
        }
        let active = self.state.segment.load(Ordering::Acquire);
        for number in work.segments.iter().copied().filter(|number| *number < active) {
            if self.stopping.load(Ordering::Relaxed) {
                // The caller must not take the data for erased.
                return Err(Error::Closed);
            }
            let segment = match self.segments.segment(number) {
                // Retention removed it first.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                segment => segment?,
            };
            let is_erased = |offset, head: &log::Head| work.erases(Position { segment: number, offset }, head);
            log::erase(&*self.disk, &segment, self.level.unwrap_or(LEVEL), &is_erased).map_err(self.failure("rewrite", number))?;
            self.segments.forget(number);
            self.settled.insert(number);
        }
        {
            let _turn = self.state.turns.take();
            index::leave_nothing_behind(&index::open(&self.directory)?)?;
        }
        if work.segments.last().is_none_or(|last| *last < active) {
            self.erased = work.deletions;
        }
        Ok(())
    }
}

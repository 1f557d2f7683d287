//! Removing from a bridge's local log what the bucket has.

use std::sync::atomic::Ordering;

use super::error::Error;
use super::index;
use super::local::Local;
use super::log::Position;

impl Local {
    /// Removes the segments before this one, except for the active one.
    pub(super) fn remove_before(&self, segment: u64) -> Result<(), Error> {
        let writer = self.writer().ok_or(Error::ReadOnly)?;
        writer.state.spent.fetch_max(segment, Ordering::AcqRel);
        writer.maintenance.now().map(|_| ())
    }

    /// Removes log records without a trace from the index: if they arrive again, they are new.
    pub(super) fn forget_loose(&self, places: &[Position]) -> Result<(), Error> {
        let writer = self.writer().ok_or(Error::ReadOnly)?;
        let mut index = index::open(self.directory())?;
        let _turn = writer.state.turns.take();
        index::delete(&mut index, &[], places)
    }
}

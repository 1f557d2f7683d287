//! How much is not sent yet.

use std::path::Path;

use crate::store::log::{self, Position};

/// Bytes of the log's files behind a position. In a compressed segment the position is not one of the file, so it counts in
/// proportion at most with the whole file.
#[must_use]
pub fn backlog_bytes(store: &Path, position: Position) -> u64 {
    let segments = log::segments(store).unwrap_or_default();
    let behind = segments.into_iter().filter(|segment| *segment >= position.segment);
    let sizes = behind.map(|segment| {
        let size = std::fs::metadata(store.join(log::file_name(segment))).map_or(0, |data| data.len());
        match segment == position.segment {
            true => size.saturating_sub(position.offset),
            false => size,
        }
    });
    sizes.sum()
}

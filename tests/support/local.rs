//! What a local store has on the disk and in its index.
#![expect(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::Path;

use spanbridge::store::{Filter, Local, Read as _, TraceRow};

/// Bytes of the log.
pub(crate) fn log_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("lists").map(|entry| entry.expect("an entry"));
    let logs = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
    logs.map(|entry| entry.metadata().expect("a file").len()).sum()
}

/// The rows of all traces.
pub(crate) fn rows(store: &Local) -> Vec<TraceRow> {
    let mut rows = store.list(&Filter::default()).expect("lists");
    rows.sort_by_key(|row| row.trace_id);
    rows
}

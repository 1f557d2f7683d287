//! Operating it, as the real program: metrics, readiness, the doctor, manual pages and completions, backup and restore.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]
#![cfg(feature = "server")]

mod backup;
mod copy;
mod crowd;
mod disk;
mod doctor;
mod files;
mod losses;
mod metrics;

use std::path::Path;
use std::process::Output;

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

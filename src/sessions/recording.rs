//! The content of a session's files.

use std::path::PathBuf;

use super::lines::Left;
use super::note::Note;
use crate::events::Thread;

/// The result of reading the files of one session.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) threads: Vec<Thread>,
    /// Parts that were not read, by file.
    pub(super) left: Vec<(PathBuf, Left)>,
    /// Other data that the spans lack.
    pub(super) notes: Vec<Note>,
}

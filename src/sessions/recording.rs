//! What the files of a session have.

use std::path::PathBuf;

use super::lines::Left;
use super::note::Note;
use crate::events::Thread;

/// What a reader gives of the files of one session.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) threads: Vec<Thread>,
    /// What was left out, by file.
    pub(super) left: Vec<(PathBuf, Left)>,
    /// What else the spans do not have.
    pub(super) notes: Vec<Note>,
}

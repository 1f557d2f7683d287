//! Deletion on request: requests, results, and the file that records them.
//!
//! What is deleted stays deleted: later spans and log records of a deleted trace are not stored. So `deletions.json`, next
//! to the log, keeps the ids of deleted traces, each with the digest of its session. A deletion interrupted by a crash is
//! recorded there as unfinished, with the segments to rewrite, and the next start continues it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::deletion_files::{self, Deletion, Unfinished};
use super::error::Error;
use super::log::{Head, Position};
use crate::span::TraceId;

/// What to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwanted {
    /// A trace. Log records that name only its session stay.
    Trace(TraceId),
    /// All traces of a session, and the log records that name only the session.
    Session(String),
}

impl Unwanted {
    /// A name for logs and files, which must not repeat user input: the trace's id, or the digest of the session's name.
    #[must_use]
    pub fn pseudonym(&self) -> String {
        match self {
            Self::Trace(trace_id) => trace_id.to_string(),
            Self::Session(session) => digest_of(session),
        }
    }
}

/// The SHA-256 of a session's name, in hex.
pub(super) fn digest_of(session: &str) -> String {
    let digest = Sha256::digest(session.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What was, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// The traces.
    pub traces: Vec<TraceId>,
    /// Number of their spans.
    pub spans: u64,
    /// Number of their log records, plus chunks of log records that name only the session.
    pub log_records: u64,
    /// Size of their messages, before compression.
    pub bytes: u64,
}

impl Deleted {
    /// Whether there is nothing to delete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty() && self.log_records == 0
    }
}

/// Removes traces from data kept outside a store: the search index, dead letters.
pub type Beside<'a> = dyn FnMut(&[TraceId]) -> Result<(), Error> + 'a;

/// Earlier deletions of a trace or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedBefore {
    /// How many traces.
    pub traces: u64,
    /// When the last of them was deleted, in nanoseconds since 1970.
    pub time: u64,
}

impl DeletedBefore {
    fn and(before: Option<Self>, time: u64) -> Self {
        Self {
            traces: before.map_or(0, |before| before.traces) + 1,
            time: before.map_or(0, |before| before.time).max(time),
        }
    }
}

/// All deletions of a store, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Deletions {
    deletions: Vec<Deletion>,
    known: DeletedIds,
    /// Faults found in the files.
    faults: Vec<String>,
}

/// Index of the deletions by what was deleted.
#[derive(Debug, Clone, Default)]
struct DeletedIds {
    traces: HashMap<TraceId, u64>,
    sessions: HashMap<String, DeletedBefore>,
}

impl Deletions {
    /// Reads the deletions of the store in a directory.
    pub(super) fn of(directory: &Path) -> Result<Self, Error> {
        let read = deletion_files::read(directory)?;
        let mut deletions = Self {
            faults: read.faults,
            ..Self::default()
        };
        for deletion in read.deletions {
            deletions.know(&deletion);
            deletions.deletions.push(deletion);
        }
        Ok(deletions)
    }

    /// Rewrites the files if one had a fault; returns the faults.
    pub(super) fn mend(&mut self, directory: &Path) -> Result<Vec<String>, Error> {
        if !self.faults.is_empty() {
            self.write(directory)?;
        }
        Ok(std::mem::take(&mut self.faults))
    }

    fn know(&mut self, deletion: &Deletion) {
        for of in &deletion.of {
            self.known
                .traces
                .extend(TraceId::from_hex(&of.trace_id).map(|trace_id| (trace_id, deletion.time_unix_nano)));
            if let Some(session) = &of.session {
                let before = self.known.sessions.get(session).copied();
                let now = DeletedBefore::and(before, deletion.time_unix_nano);
                self.known.sessions.insert(session.clone(), now);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.deletions.is_empty()
    }

    pub(super) fn has(&self, trace_id: TraceId) -> bool {
        self.known.traces.contains_key(&trace_id)
    }

    /// Whether this record without a trace belongs to an unfinished deletion.
    pub(super) fn has_loose(&self, at: Position) -> bool {
        let mut unfinished = self.deletions.iter().filter_map(|deletion| deletion.unfinished.as_ref());
        unfinished.any(|left| left.loose.contains(&(at.segment, at.offset)))
    }

    /// An earlier deletion of this, if any.
    pub(super) fn before(&self, what: &Unwanted) -> Option<DeletedBefore> {
        match what {
            Unwanted::Trace(trace_id) => {
                let time = *self.known.traces.get(trace_id)?;
                Some(DeletedBefore { traces: 1, time })
            }
            Unwanted::Session(session) => self.known.sessions.get(&digest_of(session)).copied(),
        }
    }

    /// The remaining work of all deletions; `None`: there is none.
    pub(super) fn unfinished(&self) -> Option<Work> {
        let mut work = Work {
            deletions: self.deletions.len(),
            ..Work::default()
        };
        for deletion in self.deletions.iter().filter(|deletion| deletion.unfinished.is_some()) {
            work.traces
                .extend(deletion.of.iter().filter_map(|of| TraceId::from_hex(&of.trace_id)));
            let left = deletion.unfinished.iter();
            for Unfinished { segments, loose } in left {
                work.segments.extend(segments);
                let places = loose.iter().map(|(segment, offset)| Position {
                    segment: *segment,
                    offset: *offset,
                });
                work.loose.extend(places);
            }
        }
        (!work.traces.is_empty() || !work.loose.is_empty()).then_some(work)
    }

    /// Adds a deletion. It is on disk when this returns, or nothing has changed.
    pub(super) fn begin(&mut self, directory: &Path, deletion: Deletion) -> Result<(), Error> {
        let mut with = self.clone();
        with.know(&deletion);
        with.deletions.push(deletion);
        with.write(directory)?;
        *self = with;
        Ok(())
    }

    /// Marks the `first` oldest deletions as finished.
    pub(super) fn finish(&mut self, directory: &Path, first: usize) -> Result<(), Error> {
        self.deletions
            .iter_mut()
            .take(first)
            .for_each(|deletion| deletion.unfinished = None);
        self.write(directory)
    }

    fn write(&self, directory: &Path) -> Result<(), Error> {
        deletion_files::write(directory, self.deletions.clone())
    }
}

/// Faults in the files that record deletions.
///
/// # Errors
///
/// They cannot be used.
pub(crate) fn faults_of_deletions(directory: &Path) -> Result<Vec<String>, Error> {
    deletion_files::read(directory).map(|read| read.faults)
}

/// Work to be done for deletions.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Number of deletions at that time; this is the work of all of them.
    pub(super) deletions: usize,
    pub(super) traces: HashSet<TraceId>,
    pub(super) segments: BTreeSet<u64>,
    /// Log records without a trace.
    pub(super) loose: HashSet<Position>,
}

impl Work {
    /// Whether a record is to be erased.
    pub(super) fn erases(&self, at: Position, head: &Head) -> bool {
        head.trace_id.is_some_and(|trace_id| self.traces.contains(&trace_id)) || self.loose.contains(&at)
    }
}

//! The progress of a destination: a small JSON file next to the store, replaced atomically, so that a crash leaves the old
//! or the new file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ForwardError;
use crate::store::{Position, Store};

/// How far a destination has been fed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Everything before this segment and
    pub segment: u64,
    /// this byte of it was sent or given up.
    pub offset: u64,
    /// Spans ever accepted by the destination.
    pub sent_spans: u64,
    /// Log records ever accepted.
    pub sent_log_records: u64,
    /// Data points of metrics ever accepted.
    pub sent_metric_points: u64,
    /// Spans, log records and data points ever refused for good.
    pub failed: u64,
    /// Spans sent as received, because they could not be translated.
    pub as_received_spans: u64,
    /// Segments that retention removed before they were sent.
    pub removed_segments: u64,
    /// The error of the last attempt, if it failed.
    pub last_error: Option<String>,
    /// When this was written, in nanoseconds since 1970.
    pub updated: u64,
}

impl Progress {
    /// The position up to which everything was sent or given up.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            segment: self.segment,
            offset: self.offset,
        }
    }

    /// Moves to a position.
    pub fn set_position(&mut self, position: Position) {
        (self.segment, self.offset) = (position.segment, position.offset);
    }
}

/// Path of a destination's file.
#[must_use]
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.progress.json"))
}

/// The names of all destinations that ever existed here.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".progress.json")?.to_owned());
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

/// Reads a destination's progress; `None`: it is new.
///
/// # Errors
///
/// The file cannot be read, or is damaged.
pub fn read(folder: &Path, name: &str) -> Result<Option<Progress>, ForwardError> {
    let path = path(folder, name);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ForwardError::io("read", path)(error)),
    };
    match serde_json::from_slice(&bytes) {
        Ok(progress) => Ok(Some(progress)),
        Err(error) => Err(ForwardError::Progress {
            path,
            reason: error.to_string(),
        }),
    }
}

/// Reads a destination's progress; `None`: it is new. A damaged file is renamed, and everything stored is sent again:
/// nothing is lost, but something may arrive twice.
pub(super) fn read_or_begin_again(folder: &Path, name: &str) -> Result<Option<Progress>, ForwardError> {
    let (path, reason) = match read(folder, name) {
        Err(ForwardError::Progress { path, reason }) => (path, reason),
        known => return known,
    };
    let aside = path.with_extension("damaged");
    fs::rename(&path, &aside).map_err(ForwardError::io("put aside", &path))?;
    tracing::error!(
        destination = name,
        reason,
        path = %aside.display(),
        "the file with the destination's position is damaged and was put aside; everything that is stored is sent to it again"
    );
    Ok(Some(Progress::default()))
}

/// A destination's progress as stored by the store; `None`: it stored none.
///
/// # Errors
///
/// The store cannot be read.
pub(crate) fn kept(store: &dyn Store, name: &str) -> Result<Option<Progress>, ForwardError> {
    let kept = store.kept_progress(name)?;
    Ok(kept.map(|kept| parse_or_begin_again(name, &kept)))
}

/// Parses progress from a store. If it is damaged, everything stored is sent again.
fn parse_or_begin_again(name: &str, bytes: &[u8]) -> Progress {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        tracing::error!(
            destination = name,
            %error,
            "the position of the destination in the store is damaged; everything that is stored is sent to it again"
        );
        Progress::default()
    })
}

/// The progress in its stored form.
pub(super) fn to_bytes(progress: &Progress) -> Vec<u8> {
    serde_json::to_vec_pretty(progress).unwrap_or_default()
}

/// Writes the progress; it is on disk when this returns.
///
/// # Errors
///
/// The disk failed.
pub fn write(folder: &Path, name: &str, progress: &Progress) -> Result<(), ForwardError> {
    replace(&path(folder, name), &to_bytes(progress))
}

/// Records the error of the last attempt, leaving the recorded position unchanged.
pub(super) fn note_failure(folder: &Path, name: &str, reason: &str, at: u64) -> Result<(), ForwardError> {
    let mut progress = match read(folder, name) {
        // The damaged file is replaced when the next position is saved.
        Err(ForwardError::Progress { .. }) => return Ok(()),
        known => known?.unwrap_or_default(),
    };
    progress.last_error = Some(reason.to_owned());
    progress.updated = at;
    write(folder, name, &progress)
}

/// Replaces a file atomically.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ForwardError> {
    replace_with(path, |file, new| file.write_all(bytes).map_err(ForwardError::io("write", new)))
}

/// The same, with content written by a function.
pub(super) fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>, &Path) -> Result<(), ForwardError>,
) -> Result<(), ForwardError> {
    let new = path.with_extension("new");
    let failed = || ForwardError::io("write", &new);
    let mut file = BufWriter::new(File::create(&new).map_err(failed())?);
    write(&mut file, &new)?;
    let synced = file
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all());
    synced.map_err(failed())?;
    fs::rename(&new, path).map_err(ForwardError::io("replace", path))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(ForwardError::io("sync", folder))
}

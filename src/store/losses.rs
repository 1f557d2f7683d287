//! Losses are reported until an operator acknowledges them. A rebuilt index no longer shows earlier losses, so a file next
//! to the log keeps them, and records which losses were acknowledged.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::clock::now;
use super::error::{Error, of_io};
use super::log::Lost;

/// Name of the file in the data directory, and of an unreadable one.
const FILE: &str = "losses.json";
const DAMAGED: &str = "losses.json.damaged";

/// A recorded loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// What was lost.
    #[serde(flatten)]
    pub lost: Lost,
    /// When it was found, in nanoseconds since 1970.
    pub found_unix_nano: u64,
    /// When an operator acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_unix_nano: Option<u64>,
}

/// The recorded losses of a store, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    losses: Vec<Loss>,
    /// An earlier file was damaged, so some losses may be unknown.
    #[serde(skip)]
    is_incomplete: bool,
}

impl Losses {
    /// Reads the losses of the store in a directory. A damaged file counts as incomplete.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn of(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let read = match fs::read(&path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => return Err(of_io("read", &path, source)),
            Ok(text) => serde_json::from_slice(&text),
        };
        let is_damaged = read.is_err();
        Ok(Self {
            is_incomplete: is_damaged || directory.join(DAMAGED).exists(),
            ..read.unwrap_or_default()
        })
    }

    /// Losses not yet acknowledged.
    pub fn open(&self) -> impl Iterator<Item = &Loss> {
        self.losses.iter().filter(|loss| loss.acknowledged_unix_nano.is_none())
    }

    /// Whether an earlier file was damaged, so that some losses may be unknown.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Whether an operator has acknowledged this loss, however it was found: at least as many records of its segment.
    #[must_use]
    pub fn is_acknowledged(&self, lost: &Lost) -> bool {
        let of_it = |loss: &&Loss| loss.lost.segment == lost.segment && loss.lost.records >= lost.records;
        self.losses.iter().filter(of_it).any(|loss| loss.acknowledged_unix_nano.is_some())
    }

    /// Whether an operator has acknowledged a loss in this segment.
    #[must_use]
    pub fn is_segment_acknowledged(&self, segment: u64) -> bool {
        let is_of_it = |loss: &Loss| loss.lost.segment == segment && loss.acknowledged_unix_nano.is_some();
        self.losses.iter().any(is_of_it)
    }

    /// Losses not yet acknowledged, plus the newly found ones.
    pub(super) fn with(&self, found: Vec<Lost>) -> Vec<Lost> {
        let kept: Vec<Lost> = self.open().map(|loss| loss.lost.clone()).collect();
        let is_new = |lost: &Lost| !self.is_acknowledged(lost) && !kept.contains(lost);
        let new: Vec<Lost> = found.into_iter().filter(is_new).collect();
        kept.into_iter().chain(new).collect()
    }
}

/// Records losses that the index no longer shows.
pub(super) fn keep(directory: &Path, lost: &[Lost]) -> Result<(), Error> {
    if lost.is_empty() {
        return Ok(());
    }
    let mut losses = Losses::of(directory)?;
    losses.losses.extend(lost.iter().map(|lost| Loss {
        lost: lost.clone(),
        found_unix_nano: now(),
        acknowledged_unix_nano: None,
    }));
    write(directory, &losses)
}

/// Acknowledges all recorded losses and the newly found ones, so that they are no longer reported. Returns those newly
/// acknowledged.
///
/// # Errors
///
/// The file cannot be read or written.
pub fn acknowledge(directory: &Path, found: &[Lost]) -> Result<Vec<Lost>, Error> {
    let mut losses = Losses::of(directory)?;
    let acknowledged = losses.with(found.to_vec());
    let now = now();
    losses.losses.retain(|loss| loss.acknowledged_unix_nano.is_some());
    losses.losses.extend(acknowledged.iter().map(|lost| Loss {
        lost: lost.clone(),
        found_unix_nano: now,
        acknowledged_unix_nano: Some(now),
    }));
    if !acknowledged.is_empty() || losses.is_incomplete {
        write(directory, &losses)?;
    }
    match fs::remove_file(directory.join(DAMAGED)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(of_io("remove", &directory.join(DAMAGED), source)),
        _ => Ok(acknowledged),
    }
}

/// Replaces the file once the new one is on disk; a damaged one is renamed.
fn write(directory: &Path, losses: &Losses) -> Result<(), Error> {
    let path = directory.join(FILE);
    let text = serde_json::to_vec_pretty(losses).map_err(|error| of_io("write", &path, error.into()))?;
    let beside = directory.join(format!("{FILE}.new"));
    let written = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        let is_damaged = fs::read(&path).is_ok_and(|text| serde_json::from_slice::<Losses>(&text).is_err());
        if is_damaged {
            fs::rename(&path, directory.join(DAMAGED))?;
        }
        fs::rename(&beside, &path)?;
        File::open(directory)?.sync_all()
    };
    written().map_err(|source| of_io("write", &path, source))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::store::log::Fault;

    fn lost(segment: u64, records: u64) -> Lost {
        Lost {
            segment,
            fault: Fault::Cut { bytes: 7 },
            records,
            traces: 1,
        }
    }

    #[test]
    fn a_loss_is_told_until_it_is_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        keep(path, &[lost(1, 5)]).unwrap();
        keep(path, &[lost(2, 6)]).unwrap();
        let reported = |found: &[Lost]| Losses::of(path).unwrap().with(found.to_vec());
        assert_eq!(reported(&[lost(2, 6), lost(3, 1)]), [lost(1, 5), lost(2, 6), lost(3, 1)]);
        assert_eq!(acknowledge(path, &[lost(3, 1)]).unwrap(), [lost(1, 5), lost(2, 6), lost(3, 1)]);
        assert_eq!(reported(&[lost(1, 5), lost(3, 1)]), []);
        assert_eq!(reported(&[lost(3, 2)]), [lost(3, 2)], "more of it is lost now");
        keep(path, &[lost(4, 1)]).unwrap();
        assert_eq!(reported(&[]), [lost(4, 1)]);
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        keep(path, &[lost(1, 5)]).unwrap();
        fs::write(path.join(FILE), b"{\"losses\":[\xff").unwrap();
        assert!(Losses::of(path).unwrap().is_incomplete());
        keep(path, &[lost(2, 6)]).unwrap();
        let losses = Losses::of(path).unwrap();
        assert!(losses.is_incomplete() && path.join(DAMAGED).exists());
        assert_eq!(losses.with(Vec::new()), [lost(2, 6)]);
        let _ = acknowledge(path, &[]).unwrap();
        assert_eq!(Losses::of(path).unwrap().with(Vec::new()), []);
        assert!(!Losses::of(path).unwrap().is_incomplete());
    }
}

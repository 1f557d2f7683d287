//! The files that record deletions: two copies, each with a digest of its content, so that deleted data does not come back
//! because one is damaged.
//!
//! The copy is written first, so it has everything that was acknowledged; the main file is authoritative while it is intact.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::{Error, of_io};
use crate::span::hex;

/// Name of the file in the data directory, and of its copy.
const FILE: &str = "deletions.json";
const COPY: &str = "deletions.copy.json";

/// One request to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Deletion {
    /// When it was requested, in nanoseconds since 1970.
    pub(super) time_unix_nano: u64,
    pub(super) spans: u64,
    pub(super) log_records: u64,
    pub(super) bytes: u64,
    pub(super) of: Vec<OfTrace>,
    /// The work that remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unfinished: Option<Unfinished>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OfTrace {
    pub(super) trace_id: String,
    /// Digest of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
}

/// Remaining work of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unfinished {
    /// Segments with records to erase.
    pub(super) segments: BTreeSet<u64>,
    /// Its log records without a trace, as segment and offset.
    pub(super) loose: BTreeSet<(u64, u64)>,
}

/// Content of each file.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    deletions: Vec<Deletion>,
    /// Digest of the deletions as compact JSON; missing in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// The result of reading both files.
#[derive(Debug, Default)]
pub(super) struct ReadFiles {
    pub(super) deletions: Vec<Deletion>,
    /// Faults of the file or its copy.
    pub(super) faults: Vec<String>,
}

/// Reads the deletions of the store in a directory.
pub(super) fn read(directory: &Path) -> Result<ReadFiles, Error> {
    let path = directory.join(FILE);
    let (own, copy) = (content(&path), content(&directory.join(COPY)));
    let both_are_gone = |own: &io::Error, copy: &io::Error| [own, copy].iter().all(|error| error.kind() == io::ErrorKind::NotFound);
    let mut faults = Vec::new();
    let deletions = match (own, copy) {
        (Ok(own), Ok(copy)) if own.sha256.is_none() && copy.sha256.is_some() => {
            faults.push(format!("{FILE} has no digest, which its copy has"));
            copy.deletions
        }
        (Ok(own), copy) => {
            let is_new = matches!(&copy, Err(error) if error.kind() == io::ErrorKind::NotFound) && own.sha256.is_none();
            faults.extend(copy.err().filter(|_| !is_new).map(|error| format!("{COPY}: {error}")));
            own.deletions
        }
        (Err(own), Ok(copy)) => {
            faults.push(format!("{FILE}: {own}"));
            copy.deletions
        }
        (Err(own), Err(copy)) if both_are_gone(&own, &copy) => Vec::new(),
        (Err(own), Err(copy)) if copy.kind() == io::ErrorKind::NotFound && own.kind() != io::ErrorKind::InvalidData => {
            return Err(of_io("read", &path, own));
        }
        (Err(source), Err(_)) => {
            return Err(Error::Deletions {
                path,
                source: source.into(),
            });
        }
    };
    Ok(ReadFiles { deletions, faults })
}

fn content(path: &Path) -> io::Result<Content> {
    let damaged = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let content: Content = serde_json::from_slice(&fs::read(path)?).map_err(|error| damaged(error.to_string()))?;
    match &content.sha256 {
        Some(digest) if *digest != digest_of(&content.deletions) => Err(damaged("its content does not fit its digest".to_owned())),
        _ => Ok(content),
    }
}

fn digest_of(deletions: &[Deletion]) -> String {
    hex(&Sha256::digest(serde_json::to_vec(deletions).unwrap_or_default()))
}

/// Writes both files. They are on disk when this returns.
pub(super) fn write(directory: &Path, deletions: Vec<Deletion>) -> Result<(), Error> {
    let content = Content {
        sha256: Some(digest_of(&deletions)),
        deletions,
    };
    let text = serde_json::to_vec_pretty(&content).unwrap_or_default();
    let put = |path: &PathBuf, beside: &PathBuf| -> io::Result<()> {
        let mut file = File::create(beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(beside, path)?;
        File::open(directory)?.sync_all()
    };
    for name in [COPY, FILE] {
        let (path, beside) = (directory.join(name), directory.join(format!("{name}.new")));
        if path.is_dir() {
            // This program never writes a directory there.
            let _ = fs::rename(&path, directory.join(format!("{name}.damaged")));
        }
        put(&path, &beside).map_err(|source| of_io("write", &path, source))?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn deletion() -> Deletion {
        Deletion {
            time_unix_nano: 1,
            spans: 2,
            log_records: 0,
            bytes: 3,
            of: vec![OfTrace {
                trace_id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
                session: None,
            }],
            unfinished: None,
        }
    }

    #[test]
    fn one_of_the_files_is_enough() {
        for name in [FILE, COPY] {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), vec![deletion()]).unwrap();
            assert_eq!(read(directory.path()).unwrap().faults, Vec::<String>::new());
            let path = directory.path().join(name);
            let whole = fs::read(&path).unwrap();
            let other_id = String::from_utf8(whole.clone()).unwrap().replace("0af7", "0bf7").into_bytes();
            let half = whole.get(..whole.len() / 2).unwrap().to_vec();
            for damaged in [other_id, half, Vec::new(), b"[]".to_vec(), b"null".to_vec(), b"{}".to_vec()] {
                fs::write(&path, &damaged).unwrap();
                let found = read(directory.path()).unwrap();
                assert_eq!((found.deletions, found.faults.len()), (vec![deletion()], 1), "{name}");
            }
            fs::remove_file(&path).unwrap();
            let found = read(directory.path()).unwrap();
            assert_eq!((found.deletions, found.faults.len()), (vec![deletion()], 1), "{name} is gone");
            fs::create_dir(&path).unwrap();
            assert_eq!(read(directory.path()).unwrap().deletions, vec![deletion()]);
            write(directory.path(), vec![deletion()]).unwrap();
            assert_eq!(read(directory.path()).unwrap().faults, Vec::<String>::new());
        }
    }

    #[test]
    fn a_file_of_an_older_version_is_read_and_both_damaged_say_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let older = serde_json::to_vec(&serde_json::json!({ "deletions": [deletion()] })).unwrap();
        fs::write(directory.path().join(FILE), older).unwrap();
        let found = read(directory.path()).unwrap();
        assert_eq!((found.deletions.len(), found.faults.len()), (1, 0));
        fs::write(directory.path().join(FILE), b"no").unwrap();
        let error = read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("backup") && error.contains(COPY), "{error}");
    }
}

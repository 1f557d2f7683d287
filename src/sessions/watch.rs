//! Detects sessions that change while their clients work.
//!
//! Each look asks the file system for the state of all known folders and files: a folder is listed again when its time changed, and a
//! file's session counts as changed when the file's inode, length or time did. That costs a few microseconds per file, and needs no
//! feature that some file systems lack. Above [`MAX_CHECKED`] files, each look checks those that changed last, and the others in turn.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::group::Sessions;
use super::recognise::{Found, recognised};
use crate::hash::HashMap;

/// Maximum number of files checked per look.
const MAX_CHECKED: usize = 1_000;

/// Maximum number of new files checked per look.
const MAX_NEW_CHECKED: usize = 10_000;

/// Maximum number of files from before the watch that are opened per look.
const MAX_OPENED: usize = 64;

/// Watches folders of session files.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    roots: Vec<PathBuf>,
    /// The folders below the roots, with their state when they were listed.
    folders: HashMap<PathBuf, FileState>,
    files: Vec<Watched>,
    known: HashMap<PathBuf, usize>,
    /// The position of the next look among files that changed long ago.
    turn: usize,
    /// The number of first files already opened.
    looked_into: usize,
}

/// The compared state of a file or folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FileState {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    state: FileState,
    found: Option<Found>,
    /// Whether it was opened.
    looked: bool,
    /// Set if it cannot be read: it is not checked before this.
    paused: Option<Instant>,
}

/// The result of a look.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// The sessions with a changed file since the last look, each with all its files.
    pub(crate) changed: Sessions,
    /// Files from before the watch that were opened now, with the time of their last change in nanoseconds.
    pub(crate) met: Vec<(Found, u64)>,
}

impl FileState {
    fn of(about: &Metadata) -> Self {
        Self {
            inode: about.ino(),
            length: about.len(),
            changed: (about.mtime(), about.mtime_nsec()),
        }
    }

    /// The time of the last change, in nanoseconds since 1970.
    fn changed_at(&self) -> u64 {
        let (seconds, nanos) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::try_from(nanos).unwrap_or_default())
    }
}

impl Watch {
    /// Watches these folders from now on. `take_all`: the first look also returns existing sessions.
    pub(crate) fn new(roots: Vec<PathBuf>, take_all: bool) -> Self {
        let mut out = Self { roots, ..Self::default() };
        if !take_all {
            out.list_folders();
            for index in 0..out.files.len() {
                let Some(file) = out.files.get_mut(index) else { continue };
                file.state = fs::metadata(&file.path).map(|about| FileState::of(&about)).unwrap_or_default();
            }
        }
        out
    }

    /// Returns changes since the last look, and files from before the watch.
    pub(crate) fn look(&mut self) -> Look {
        self.list_folders();
        let mut changed: BTreeSet<Found> = BTreeSet::new();
        let mut near: BTreeSet<PathBuf> = BTreeSet::new();
        let now = Instant::now();
        for file in &mut self.files {
            file.paused = file.paused.filter(|until| now < *until);
        }
        let paused = self.paused();
        for index in self.due() {
            let Some(file) = self.files.get_mut(index).filter(|file| file.paused.is_none()) else {
                continue;
            };
            // Do not follow a link that has replaced a file.
            let about = match self.roots.contains(&file.path) {
                true => fs::metadata(&file.path),
                false => fs::symlink_metadata(&file.path),
            };
            let Some(about) = about.ok().filter(Metadata::is_file) else {
                continue;
            };
            let state = FileState::of(&about);
            if state == file.state {
                continue;
            }
            let found = recognised(&file.path).or_else(|| of_database_beside(&file.path));
            if found.as_ref().is_some_and(|found| paused.contains(found)) {
                continue;
            }
            (file.state, file.looked, file.found) = (state, true, found.clone());
            if let Some(found) = found {
                changed.insert(found);
                near.extend(file.path.parent().map(Path::to_owned));
            }
        }
        let met = self.recognise(&near);
        Look {
            changed: self.sessions_of(&changed),
            met,
        }
    }

    /// These sessions, each with all its files, except those with a file that cannot be read.
    pub(crate) fn sessions_of(&self, wanted: &BTreeSet<Found>) -> Sessions {
        let mut out = Sessions::default();
        if wanted.is_empty() {
            return out;
        }
        let paused: BTreeSet<&Found> = self
            .files
            .iter()
            .filter(|file| file.paused.is_some())
            .flat_map(|file| &file.found)
            .collect();
        for file in &self.files {
            file.found.iter().for_each(|found| out.know(found));
            if let Some(found) = file
                .found
                .as_ref()
                .filter(|found| wanted.contains(found) && !paused.contains(found))
                && of_database_beside(&file.path).is_none()
            {
                out.add(&file.path, found.clone());
            }
        }
        out
    }

    /// The sessions with a file that cannot be read.
    fn paused(&self) -> BTreeSet<Found> {
        let paused = self.files.iter().filter(|file| file.paused.is_some());
        paused.filter_map(|file| file.found.clone()).collect()
    }

    /// Skips a file until this time, because reading it takes long and fails.
    pub(crate) fn pause(&mut self, path: &Path, until: Instant) {
        let index = self.known.get(path).copied();
        if let Some(file) = index.and_then(|index| self.files.get_mut(index)) {
            file.paused = Some(until);
        }
    }

    /// The files to check: all, or new ones, the newest of the others and some of the rest.
    fn due(&mut self) -> Vec<usize> {
        let count = self.files.len();
        if count <= MAX_CHECKED {
            return (0..count).collect();
        }
        let mut by_time: Vec<usize> = (0..count).collect();
        let is_new = |index: &usize| self.files.get(*index).is_some_and(|file| file.state == FileState::default());
        let new: Vec<usize> = (0..count).rev().filter(is_new).take(MAX_NEW_CHECKED).collect();
        let time = |index: &usize| self.files.get(*index).map(|file| std::cmp::Reverse(file.state.changed));
        by_time.select_nth_unstable_by_key(MAX_CHECKED / 2, time);
        by_time.truncate(MAX_CHECKED / 2);
        by_time.extend((0..MAX_CHECKED / 2).map(|step| (self.turn + step) % count));
        self.turn = (self.turn + MAX_CHECKED / 2) % count;
        by_time.extend(new);
        by_time
    }

    /// Opens files from before the watch: those below the folders of changed files, which may belong to the same session, and some
    /// others per look. Returns the session files among them.
    fn recognise(&mut self, near: &BTreeSet<PathBuf>) -> Vec<(Found, u64)> {
        let (mut met, mut others) = (Vec::new(), MAX_OPENED);
        for file in self.files.iter_mut().skip(self.looked_into) {
            let is_near = file.path.ancestors().any(|folder| near.contains(folder));
            if !file.looked && (is_near || others > 0) {
                others -= usize::from(!is_near);
                file.looked = true;
                file.found = recognised(&file.path).or_else(|| of_database_beside(&file.path));
                met.extend(file.found.clone().map(|found| (found, file.state.changed_at())));
            }
        }
        let looked = self.files.iter().skip(self.looked_into).take_while(|file| file.looked);
        self.looked_into += looked.count();
        met
    }

    /// Lists new and changed folders.
    fn list_folders(&mut self) {
        let mut waiting: Vec<PathBuf> = self.roots.clone();
        waiting.extend(self.folders.keys().cloned());
        while let Some(folder) = waiting.pop() {
            let Ok(about) = fs::metadata(&folder) else {
                self.folders.remove(&folder);
                continue;
            };
            let state = FileState::of(&about);
            if self.folders.get(&folder) == Some(&state) {
                continue;
            }
            // A root may be a file.
            if !about.is_dir() {
                self.add(folder);
                continue;
            }
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && !self.folders.contains_key(&entry.path()) => waiting.push(entry.path()),
                    Ok(kind) if kind.is_file() => self.add(entry.path()),
                    _ => {}
                }
            }
            self.folders.insert(folder, state);
        }
    }

    fn add(&mut self, path: PathBuf) {
        if self.known.contains_key(&path) {
            return;
        }
        self.known.insert(path.clone(), self.files.len());
        self.files.push(Watched {
            path,
            state: FileState::default(),
            found: None,
            looked: false,
            paused: None,
        });
    }
}

/// The database of a journal, which receives new data first.
fn of_database_beside(path: &Path) -> Option<Found> {
    let name = path.to_str()?.strip_suffix("-wal")?;
    recognised(Path::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_beside_very_many_is_seen_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..3 * MAX_CHECKED {
            fs::write(folder.path().join(format!("{number}.txt")), "").expect("written");
        }
        let mut watch = Watch::new(vec![folder.path().to_owned()], false);
        let line = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-11-21T10:00:00Z","cwd":"/x","version":"2.1","message":{"role":"user","content":"q"}}"#;
        assert_eq!(watch.look().changed.len(), 0);
        fs::write(folder.path().join("new.jsonl"), format!("{line}\n")).expect("written");
        assert_eq!(watch.look().changed.len(), 1);
    }
}

//! Which sessions change while their clients work.
//!
//! A look asks the file system for the state of the folders and files that it knows: a folder is listed again when its time changed, a
//! file belongs to a changed session when its inode, length or time did. That costs a few microseconds a file, and needs nothing of the
//! system that some file systems do not have. Above [`AT_ONCE`] files, those that changed last are looked at each time and the others in
//! turn.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::group::Sessions;
use super::recognise::{Found, recognised};
use crate::hash::HashMap;

/// So many files are looked at each time.
const AT_ONCE: usize = 1_000;

/// So many files that are new are looked at each time.
const NEW_AT_ONCE: usize = 10_000;

/// So many files that were there before the watch began are looked into each time.
const LOOKED_INTO: usize = 64;

/// Folders of session files that are looked at again and again.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    roots: Vec<PathBuf>,
    /// The folders below the roots, and what each was when it was listed.
    folders: HashMap<PathBuf, State>,
    files: Vec<Watched>,
    known: HashMap<PathBuf, usize>,
    /// Where the next look goes on among the files that changed long ago.
    turn: usize,
    /// So many of the first files were looked into.
    looked_into: usize,
}

/// What is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    state: State,
    found: Option<Found>,
    /// Whether it was looked into.
    looked: bool,
    /// It cannot be read, and is not looked at before this.
    paused: Option<Instant>,
}

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// The sessions of which a file changed since the last look, each with all its files.
    pub(crate) changed: Sessions,
    /// Files that were there before the watch began and were looked into now, with the time of their last change in nanoseconds.
    pub(crate) met: Vec<(Found, u64)>,
}

impl State {
    fn of(about: &Metadata) -> Self {
        Self {
            inode: about.ino(),
            length: about.len(),
            changed: (about.mtime(), about.mtime_nsec()),
        }
    }

    /// When it was changed, in nanoseconds since 1970.
    fn changed_at(&self) -> u64 {
        let (seconds, nanos) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::try_from(nanos).unwrap_or_default())
    }
}

impl Watch {
    /// Watches what is in these folders from now on. `take_all`: the first look gives what is there already.
    pub(crate) fn new(roots: Vec<PathBuf>, take_all: bool) -> Self {
        let mut out = Self { roots, ..Self::default() };
        if !take_all {
            out.list_folders();
            for index in 0..out.files.len() {
                let Some(file) = out.files.get_mut(index) else { continue };
                file.state = fs::metadata(&file.path).map(|about| State::of(&about)).unwrap_or_default();
            }
        }
        out
    }

    /// What changed since the last look, and what was there before.
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
            // A link that took a file's place leads elsewhere.
            let about = match self.roots.contains(&file.path) {
                true => fs::metadata(&file.path),
                false => fs::symlink_metadata(&file.path),
            };
            let Some(about) = about.ok().filter(Metadata::is_file) else {
                continue;
            };
            let state = State::of(&about);
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

    /// These sessions, each with all its files. One with a file that cannot be read waits for that.
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

    /// Does not look at a file before this: reading it takes long, and fails.
    pub(crate) fn pause(&mut self, path: &Path, until: Instant) {
        let index = self.known.get(path).copied();
        if let Some(file) = index.and_then(|index| self.files.get_mut(index)) {
            file.paused = Some(until);
        }
    }

    /// The files to look at: all, or those that are new, the newest of the others and some of the rest.
    fn due(&mut self) -> Vec<usize> {
        let count = self.files.len();
        if count <= AT_ONCE {
            return (0..count).collect();
        }
        let mut by_time: Vec<usize> = (0..count).collect();
        let is_new = |index: &usize| self.files.get(*index).is_some_and(|file| file.state == State::default());
        let new: Vec<usize> = (0..count).rev().filter(is_new).take(NEW_AT_ONCE).collect();
        let time = |index: &usize| self.files.get(*index).map(|file| std::cmp::Reverse(file.state.changed));
        by_time.select_nth_unstable_by_key(AT_ONCE / 2, time);
        by_time.truncate(AT_ONCE / 2);
        by_time.extend((0..AT_ONCE / 2).map(|step| (self.turn + step) % count));
        self.turn = (self.turn + AT_ONCE / 2) % count;
        by_time.extend(new);
        by_time
    }

    /// Looks into files that were there before the watch began: those below the folders of what changed, which may be of the same
    /// session, and some others each time. Gives those of sessions.
    fn recognise(&mut self, near: &BTreeSet<PathBuf>) -> Vec<(Found, u64)> {
        let (mut met, mut others) = (Vec::new(), LOOKED_INTO);
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

    /// Lists the folders that are new or changed.
    fn list_folders(&mut self) {
        let mut waiting: Vec<PathBuf> = self.roots.clone();
        waiting.extend(self.folders.keys().cloned());
        while let Some(folder) = waiting.pop() {
            let Ok(about) = fs::metadata(&folder) else {
                self.folders.remove(&folder);
                continue;
            };
            let state = State::of(&about);
            if self.folders.get(&folder) == Some(&state) {
                continue;
            }
            // Of a file that is a root.
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
            state: State::default(),
            found: None,
            looked: false,
            paused: None,
        });
    }
}

/// The database that a journal beside it is of: what is new is in the journal first.
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
        for number in 0..3 * AT_ONCE {
            fs::write(folder.path().join(format!("{number}.txt")), "").expect("written");
        }
        let mut watch = Watch::new(vec![folder.path().to_owned()], false);
        let line = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-11-21T10:00:00Z","cwd":"/x","version":"2.1","message":{"role":"user","content":"q"}}"#;
        assert_eq!(watch.look().changed.len(), 0);
        fs::write(folder.path().join("new.jsonl"), format!("{line}\n")).expect("written");
        assert_eq!(watch.look().changed.len(), 1);
    }
}

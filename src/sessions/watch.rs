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

use super::group::Sessions;
use super::recognise::{Found, recognised};
use crate::hash::HashMap;

/// So many files are looked at each time.
const AT_ONCE: usize = 1_000;

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
}

impl State {
    fn of(about: &Metadata) -> Self {
        Self {
            inode: about.ino(),
            length: about.len(),
            changed: (about.mtime(), about.mtime_nsec()),
        }
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

    /// The sessions of which a file changed since the last look, each with all its files.
    pub(crate) fn look(&mut self) -> Sessions {
        self.list_folders();
        let mut changed: BTreeSet<Found> = BTreeSet::new();
        let mut near: BTreeSet<PathBuf> = BTreeSet::new();
        for index in self.due() {
            let Some(file) = self.files.get_mut(index) else { continue };
            let Ok(about) = fs::metadata(&file.path) else { continue };
            let state = State::of(&about);
            if state == file.state {
                continue;
            }
            (file.state, file.looked) = (state, true);
            file.found = recognised(&file.path).or_else(|| of_database_beside(&file.path));
            if let Some(found) = file.found.clone() {
                changed.insert(found);
                near.extend(file.path.parent().map(Path::to_owned));
            }
        }
        self.recognise(&near);
        let mut out = Sessions::default();
        if !changed.is_empty() {
            for file in &self.files {
                file.found.iter().for_each(|found| out.know(found));
                if let Some(found) = file.found.as_ref().filter(|found| changed.contains(found))
                    && of_database_beside(&file.path).is_none()
                {
                    out.add(&file.path, found.clone());
                }
            }
        }
        out
    }

    /// The files to look at: all, or the newest and some of the others.
    fn due(&mut self) -> Vec<usize> {
        let count = self.files.len();
        if count <= AT_ONCE {
            return (0..count).collect();
        }
        let mut by_time: Vec<usize> = (0..count).collect();
        let time = |index: &usize| self.files.get(*index).map(|file| std::cmp::Reverse(file.state.changed));
        by_time.select_nth_unstable_by_key(AT_ONCE / 2, time);
        by_time.truncate(AT_ONCE / 2);
        by_time.extend((0..AT_ONCE / 2).map(|step| (self.turn + step) % count));
        self.turn = (self.turn + AT_ONCE / 2) % count;
        by_time
    }

    /// Looks into files that were there before the watch began: those below the folders of what changed, which may be of the same
    /// session, and some others each time.
    fn recognise(&mut self, near: &BTreeSet<PathBuf>) {
        let mut others = LOOKED_INTO;
        for file in self.files.iter_mut().skip(self.looked_into) {
            let is_near = file.path.ancestors().any(|folder| near.contains(folder));
            if !file.looked && (is_near || others > 0) {
                others -= usize::from(!is_near);
                file.looked = true;
                file.found = recognised(&file.path);
            }
        }
        let looked = self.files.iter().skip(self.looked_into).take_while(|file| file.looked);
        self.looked_into += looked.count();
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
        });
    }
}

/// The database that a journal beside it is of: what is new is in the journal first.
fn of_database_beside(path: &Path) -> Option<Found> {
    let name = path.to_str()?.strip_suffix("-wal")?;
    recognised(Path::new(name))
}

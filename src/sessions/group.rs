//! Files of sessions, grouped by session, and read one session at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::client::Client;
use super::error::SessionError;
use super::lines;
use super::note::Note;
use super::recognise::{Found, Within};
use super::recording::Recorded;
use super::{claude_code, codex, copilot_cli, gemini_cli, opencode, pi, qwen_code, spans};
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::span::Span;

/// Files of sessions that belong to one reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    groups: BTreeMap<Key, Vec<PathBuf>>,
    /// The session that a session is a part of.
    within: BTreeMap<Key, Within>,
    /// Sessions that are read for themselves another time.
    elsewhere: BTreeSet<Key>,
}

/// What the files of one session have in common.
type Key = (Client, String);

/// One session as spans.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    /// The spans of all its turns.
    pub(crate) spans: Vec<Span>,
    /// What they do not have.
    pub(crate) notes: Vec<Note>,
}

impl Sessions {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: &Path, found: Found) {
        let key = (found.client, found.key);
        if let Some(within) = found.within {
            self.within.insert(key.clone(), within);
        }
        let files = self.groups.entry(key).or_default();
        if !files.iter().any(|file| file == path) || files.is_empty() {
            files.push(path.to_owned());
        }
    }

    /// Notes a session that is read for itself another time: copies of its turns are not of others.
    pub(super) fn know(&mut self, found: &Found) {
        self.elsewhere.insert((found.client, found.key.clone()));
    }

    /// Adds the sessions of others, with all their files.
    pub(crate) fn merge(&mut self, others: &Self) {
        self.groups
            .extend(others.groups.iter().map(|(key, files)| (key.clone(), files.clone())));
        self.within
            .extend(others.within.iter().map(|(key, within)| (key.clone(), within.clone())));
        self.elsewhere.extend(others.elsewhere.iter().cloned());
    }

    /// The sessions, each with the files of those that are a part of it.
    fn whole(&self, limit: usize) -> BTreeMap<Key, Vec<PathBuf>> {
        let mut out = self.groups.clone();
        let mut homes: BTreeMap<&Key, Key> = BTreeMap::new();
        for (key, within) in &self.within {
            let home = match within {
                Within::Session(session) => Some((key.0, session.clone())),
                Within::Unknown => self.naming(key, limit),
            };
            homes.extend(home.filter(|home| self.groups.contains_key(home)).map(|home| (key, home)));
        }
        for part in homes.keys() {
            let mut key: &Key = part;
            // No longer way than there are parts, whatever the files say of each other.
            for _ in 0..homes.len() {
                key = homes.get(key).unwrap_or(key);
            }
            if key != *part
                && let Some(files) = out.remove(part)
            {
                out.entry(key.clone()).or_default().extend(files);
            }
        }
        out
    }

    /// The session of the same client that has this session's id in a file.
    fn naming(&self, part: &Key, limit: usize) -> Option<Key> {
        let id = format!("\"{}\"", part.1);
        let finder = memchr::memmem::Finder::new(&id);
        let has = |path: &PathBuf| lines::any(path, limit, |line| finder.find(line).is_some());
        let mut others = self.groups.iter().filter(|(key, _)| key.0 == part.0 && *key != part);
        others.find(|(_, files)| files.iter().any(has)).map(|(key, _)| key.clone())
    }

    /// How many sessions there are; all of a database are one.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Reads them, a session at a time: no more than one is in memory. `limit`: the most bytes of a line. Errors are given with the
    /// others, and end nothing.
    pub(crate) fn read_each(&self, limit: usize, take: &mut dyn FnMut(Result<Imported, SessionError>)) {
        let writer = AttributeWriter::new(Vocabulary::GenAi);
        for ((client, key), mut files) in self.whole(limit) {
            files.sort();
            let read = match client {
                Client::ClaudeCode => claude_code::read(&files, limit),
                Client::Codex => codex::read(&files, limit),
                Client::GeminiCli => gemini_cli::read(&files, limit),
                Client::QwenCode => qwen_code::read(&files, limit),
                Client::CopilotCli => copilot_cli::read(&files, limit),
                Client::OpenCode => opencode::read(&key, &files, limit),
                Client::Pi => pi::read(&files, limit),
            };
            // A turn that is a copy is read where it comes from, if that is here too.
            let is_elsewhere = |session: &str| {
                let other = (client, session.to_owned());
                session != key && (self.groups.contains_key(&other) || self.elsewhere.contains(&other))
            };
            take(read.map(|read| Imported {
                notes: notes(&read),
                spans: spans::of(client, read.threads, &writer, &is_elsewhere),
            }));
        }
    }
}

fn notes(read: &Recorded) -> Vec<Note> {
    let mut out = Vec::new();
    for (path, left) in &read.left {
        let place = path.display().to_string();
        if left.broken > 0 {
            let lines = if left.broken == 1 { "line is" } else { "lines are" };
            out.push(Note {
                place: place.clone(),
                detail: format!("{} {lines} no JSON, and left out", left.broken),
            });
        }
        if left.unfinished {
            out.push(Note {
                place,
                detail: "the last line is not complete; the next reading takes it".to_owned(),
            });
        }
    }
    for thread in &read.threads {
        if let Some(words) = thread.unknown.words() {
            out.push(Note {
                place: format!("session {}", thread.session),
                detail: format!("records of unknown types: {words}"),
            });
        }
    }
    out
}

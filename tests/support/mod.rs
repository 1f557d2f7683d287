//! What several test programs share: the case folders of `tests/corpus`, a small seeded source of chance.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use spanbridge::documents::Vocabulary;
use spanbridge::formats::Options;
use spanbridge::run::Run;
use spanbridge::span::{LogRecord, Span, json};

/// A folder of `tests/corpus`.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// All spans, in order of arrival.
    pub(crate) spans: Vec<Span>,
    /// All log records, in order of arrival.
    pub(crate) logs: Vec<LogRecord>,
    /// What `options.json` says.
    pub(crate) options: Options,
}

impl Case {
    /// The runs of these spans and records.
    pub(crate) fn runs(&self) -> Vec<Run> {
        Vocabulary::built_in().runs(self.spans.clone(), self.logs.clone())
    }
}

/// The cases whose name passes, in order of name. Panics when there are fewer than `at_least`.
pub(crate) fn cases(at_least: usize, wanted: impl Fn(&str) -> bool) -> Vec<Case> {
    // `tests/tables` builds this, too.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest
        .ancestors()
        .map(|folder| folder.join("tests/corpus"))
        .find(|folder| folder.is_dir())
        .unwrap();
    let mut folders: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && wanted(path.file_name().unwrap().to_str().unwrap()))
        .collect();
    folders.sort();
    assert!(folders.len() >= at_least, "only {} cases", folders.len());
    folders.into_iter().map(load).collect()
}

fn load(folder: PathBuf) -> Case {
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let read = || fs::read(&file).unwrap();
        if name.ends_with(".traces.json") {
            let decoded = json::traces(&read()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(decoded.refused.is_empty(), "{}: {:?}", file.display(), decoded.refused);
            spans.extend(decoded.items);
        } else if name.ends_with(".logs.json") {
            let decoded = json::logs(&read()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(decoded.refused.is_empty(), "{}: {:?}", file.display(), decoded.refused);
            logs.extend(decoded.items);
        }
    }
    let options = match fs::read(folder.join("options.json")) {
        Ok(text) => Options::of(serde_json::from_slice::<std::collections::BTreeMap<_, _>>(&text).unwrap()).unwrap(),
        Err(_) => Options::default(),
    };
    Case {
        name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
        folder,
        spans,
        logs,
        options,
    }
}

/// The first line that differs, for people.
pub(crate) fn first_difference(want: &str, have: &str) -> String {
    let line = want.lines().zip(have.lines()).take_while(|(a, b)| a == b).count();
    format!(
        "line {}:\n    expected {}\n    but have {}",
        line + 1,
        want.lines().nth(line).unwrap_or("the end"),
        have.lines().nth(line).unwrap_or("the end")
    )
}

/// Numbers that look like chance and are the same on every run (xorshift).
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Starts at this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound
    }

    /// The same items in another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// What the work gives for each item, in their order. It is done on all cores.
pub(crate) fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let items = std::iter::from_fn(|| {
            let place = next.fetch_add(1, Ordering::Relaxed);
            Some((place, items.get(place)?))
        });
        items.map(|(place, item)| (place, work(item))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

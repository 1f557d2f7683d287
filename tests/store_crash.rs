//! Every image that a crash may leave: a disk that remembers what was asked of it, and what of that a loss of power may
//! keep. Writes that were not synced are there, gone, torn or in pieces; names that were not synced are there or not. What
//! was acknowledged is there, whole, from each of them.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use crate::memory_disk;
use crate::spans;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memory_disk::{Dice, Image, MemoryDisk, Op};
use spanbridge::span::Resource;
use spanbridge::store::disk::Disk;
use spanbridge::store::{Administer as _, Append as _, Local, OpenOptions, Read as _, Retention};
use spans::{KEYS, chunks, span, trace};

/// Small segments, so that a short run has many of them.
fn options(directory: &Path, disk: &MemoryDisk) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        segment_size: 3_000,
        disk: Some(Arc::new(disk.clone())),
        ..OpenOptions::new(directory)
    }
}

/// What a run did, and what it was told.
struct Run {
    ops: Vec<Op>,
    /// After so many operations, so many spans of each trace were acknowledged.
    acknowledged: Vec<(usize, BTreeMap<u8, usize>)>,
    /// Copies of the index after so many operations.
    indexes: Vec<(usize, PathBuf)>,
    _directory: tempfile::TempDir,
}

const TRACES: u8 = 5;

/// What the resource of a request says first.
fn words_of(request: usize) -> String {
    format!("resource {request:04}")
}

/// How many requests have several traces and put their resource into the log once.
fn requests_that_share(run: &Run) -> usize {
    let shares = |request: usize| {
        let ((from, before), (to, after)) = (&run.acknowledged[request], &run.acknowledged[request + 1]);
        let traces = after.iter().filter(|(of, count)| before.get(of) != Some(count)).count();
        let words = words_of(request);
        let copies = |op: &Op| match op {
            Op::Write { bytes, .. } => bytes.windows(words.len()).filter(|window| *window == words.as_bytes()).count(),
            _ => 0,
        };
        traces > 1 && run.ops[*from..*to].iter().map(copies).sum::<usize>() == 1
    };
    (0..run.acknowledged.len() - 1).filter(|request| shares(*request)).count()
}

fn run(seed: u64, requests: usize) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let disk = MemoryDisk::default();
    let store = Local::open(&options(&data, &disk)).expect("opens").store;
    let mut dice = Dice::new(seed);
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut acknowledged = vec![(0, counts.clone())];
    let mut indexes = Vec::new();
    for request in 0..requests {
        // Every third request has a resource so large that its traces share one copy of it.
        let mut resource = Resource::default();
        if request % 3 == 0 {
            let words = format!("{} {}", words_of(request), "r".repeat(2_000));
            resource.attributes.push("service.description", words);
        }
        let resource = Arc::new(resource);
        let spans: Vec<_> = (0..1 + dice.below(4))
            .map(|_| {
                let of = 1 + u8::try_from(dice.below(u64::from(TRACES))).expect("small");
                let id = counts.entry(of).or_default();
                *id += 1;
                let mut span = span(of, u8::try_from(*id).expect("small"));
                span.name = "x".repeat(usize::try_from(dice.below(600)).expect("small"));
                span.resource = Arc::clone(&resource);
                span
            })
            .collect();
        store.append(chunks(&spans)).expect("appends");
        acknowledged.push((disk.ops().len(), counts.clone()));
        if request % 7 == 0 {
            let copy = directory.path().join(format!("index {request}"));
            fs::create_dir(&copy).expect("makes");
            for entry in fs::read_dir(&data).expect("lists") {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_owned();
                if name.to_string_lossy().starts_with("index") {
                    fs::copy(&path, copy.join(name)).expect("copies");
                }
            }
            indexes.push((disk.ops().len(), copy));
        }
        if request % 11 == 10 {
            store.maintain().expect("maintains");
        }
    }
    store.close();
    Run {
        ops: disk.ops(),
        acknowledged,
        indexes,
        _directory: directory,
    }
}

/// Opens an image and checks it; then opens what that left, in which nothing is to be mended any more.
fn check(run: &Run, crash: usize, image: &Image, index: Option<&Path>, what: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    for entry in index.iter().flat_map(|index| fs::read_dir(index).expect("lists")) {
        let path = entry.expect("an entry").path();
        fs::copy(&path, directory.path().join(path.file_name().expect("a name"))).expect("copies");
    }
    let (_, wanted) = run.acknowledged.iter().rev().find(|(ops, _)| *ops <= crash).expect("the beginning");
    let disk = MemoryDisk::of_image(image);
    for again in [false, true] {
        let opened = Local::open(&options(directory.path(), &disk)).unwrap_or_else(|error| panic!("{what}: {error}"));
        if again {
            assert_eq!(opened.recovery.torn, None, "{what}: nothing is left to be cut");
        }
        for of in 1..=TRACES {
            let stored = opened.store.read_trace(trace(of)).expect("reads").unwrap_or_default();
            // Without an index nobody knows whether a record that lost its envelope was acknowledged.
            if index.is_some() {
                assert_eq!(stored.damaged, [] as [String; 0], "{what}, trace {of}");
            }
            let mut ids: Vec<u8> = stored.spans.iter().map(|span| span.span_id.bytes()[0]).collect();
            ids.sort_unstable();
            let least = wanted.get(&of).copied().unwrap_or_default();
            let all: Vec<u8> = (1..=u8::try_from(ids.len()).expect("small")).collect();
            assert!(
                ids.len() >= least,
                "{what}, trace {of}: {least} spans were acknowledged, {} are there",
                ids.len()
            );
            assert!(ids[..least] == all[..least], "{what}, trace {of}: {ids:?}");
            ids.dedup();
            assert_eq!(ids.len(), stored.spans.len(), "{what}, trace {of}: a span is there twice");
        }
        if again {
            // It goes on as if nothing had been.
            let next = span(1, 250);
            opened.store.append(chunks(std::slice::from_ref(&next))).expect("appends");
            let stored = opened.store.read_trace(trace(1)).expect("reads").expect("is there");
            assert!(stored.spans.contains(&next));
        }
    }
}

#[test]
fn what_was_acknowledged_survives_every_crash() {
    let full = crate::long_form::is_long_form();
    let (runs, dice_per_crash) = if full { (20, 6) } else { (2, 1) };
    for seed in 0..runs {
        let run = run(seed, 40);
        assert!(run.ops.iter().any(|op| matches!(op, Op::Rename { .. })), "a segment was compressed");
        assert!(requests_that_share(&run) > 3, "requests share their resource");
        for crash in 1..=run.ops.len() {
            for throw in 0..dice_per_crash {
                let mut dice = Dice::new(seed * 1_000_003 + crash as u64 * 101 + throw);
                let image = Image::after_crash(&run.ops[..crash], &mut dice);
                let index = run
                    .indexes
                    .iter()
                    .rev()
                    .find(|(ops, _)| *ops <= crash)
                    .map(|(_, path)| path.as_path());
                let index = if dice.below(3) == 0 { None } else { index };
                let what = format!(
                    "run {seed}, crash after operation {crash}, throw {throw}, index {}",
                    index.is_some()
                );
                check(&run, crash, &image, index, &what);
            }
        }
    }
}

#[test]
fn a_crash_while_segments_are_removed_leaves_traces_that_can_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = MemoryDisk::default();
    let keep = Retention {
        bytes: Some(4_000),
        ..Retention::default()
    };
    let options = |directory: &Path, disk: &MemoryDisk| OpenOptions {
        retention: keep,
        ..options(directory, disk)
    };
    let store = Local::open(&options(&directory.path().join("data"), &disk)).expect("opens").store;
    for id in 1..=40 {
        let mut long = span(1 + id % 3, id);
        long.name = "x".repeat(500);
        store.append(chunks(&[long])).expect("appends");
        if id % 10 == 0 {
            store.maintain().expect("maintains");
        }
    }
    let removed = store.maintained().removed_segments;
    assert!(removed > 3, "{removed}");
    drop(store);
    let ops = disk.ops();
    for crash in 1..=ops.len() {
        let disk = MemoryDisk::of_image(&Image::after_crash(&ops[..crash], &mut Dice::new(crash as u64)));
        let data = directory.path().join(format!("crash {crash}"));
        let opened = Local::open(&options(&data, &disk)).expect("opens");
        for of in 1..=3 {
            let stored = opened.store.read_trace(trace(of)).expect("reads").unwrap_or_default();
            assert_eq!(stored.damaged, [] as [String; 0], "crash after operation {crash}");
        }
        opened.store.maintain().expect("maintains");
        opened.store.append(chunks(&[span(1, 250)])).expect("appends");
        drop(opened);
        fs::remove_dir_all(&data).expect("removes");
    }
}

#[test]
fn a_disk_that_reads_short_or_not_at_all_is_told_and_recovers() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = MemoryDisk::default();
    let options = options(directory.path(), &disk);
    let store = Local::open(&options).expect("opens").store;
    store.append(chunks(&[span(1, 1), span(1, 2)])).expect("appends");
    disk.fail_reads(true);
    let error = store.read_trace(trace(1)).expect_err("the disk does not read");
    assert!(error.to_string().starts_with("cannot read "), "{error}");
    // A replay cannot be compared with what cannot be read: better twice than not at all.
    store.append(chunks(&[span(1, 1), span(1, 2)])).expect("appends");
    disk.fail_reads(false);
    assert_eq!(store.read_trace(trace(1)).expect("reads").expect("is there").spans.len(), 4);
    drop(store);
    // The file is shorter than the index says.
    let name = disk.list().expect("lists").pop().expect("a segment");
    let file = disk.open(&name).expect("opens");
    file.truncate(file.size().expect("a size") - 10).expect("cuts");
    let opened = Local::open(&options).expect("opens");
    assert!(opened.recovery.index_rebuilt.is_some());
    assert_eq!(opened.store.read_trace(trace(1)).expect("reads").expect("is there").spans.len(), 2);
}

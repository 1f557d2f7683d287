//! Deletion on request from the store of one machine: the bytes are gone from every file, others stay where they are, and a crash in the
//! middle changes nothing of that.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use spanbridge::span::{AnyValue, Resource, Span};
use spanbridge::store::disk::{Directory, Disk, DiskFile};
use spanbridge::store::{
    Administer as _, Append as _, ArrivalLimits, Error, Filter, Local, OpenOptions, Position, Read as _, Subscribe as _, Unwanted,
};

use crate::spans::{KEYS, chunks, loose, span, trace};

fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        segment_size: 20_000,
        ..OpenOptions::new(directory)
    }
}

fn open(directory: &Path) -> Local {
    Local::open(&options(directory)).expect("opens").store
}

/// Bytes that no compression makes shorter, so that they can be looked for in files.
fn marked(of: u8, about: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (u64::from(of) << 8) ^ about;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..256).flat_map(|_| next().to_le_bytes()).collect()
}

/// A span that is marked in its attributes and in its name, and with a resource of its trace alone that is stored once.
fn marked_span(of: u8, id: u8) -> Span {
    let mut span = span(of, id);
    span.attributes.push("said", AnyValue::Bytes(marked(of, u64::from(id))));
    span.name = format!("name of trace {of}");
    let mut resource = Resource::default();
    resource.attributes.push("of", AnyValue::Bytes(marked(of, 1_000)));
    resource.attributes.push("much", "r".repeat(3_000));
    span.resource = Arc::new(resource);
    span
}

fn holds(directory: &Path, wanted: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_file() && fs::read(&path).expect("reads").windows(wanted.len()).any(|window| window == wanted) {
            found.push(path.file_name().expect("a name").to_string_lossy().into_owned());
        }
    }
    found
}

const TRACES: u8 = 6;

/// Segments that are compressed, sealed and written to, with records of all traces in each.
fn fill(store: &Local) {
    for id in 1..=9 {
        // Two requests: one divides among traces and shares what stands around, the other is of documents, and packed.
        let spans: Vec<Span> = (1..=TRACES).map(|of| marked_span(of, id)).collect();
        store.append(chunks(&spans)).expect("appends");
        let packed = chunks(&[marked_span(1, 100 + id)])
            .into_iter()
            .map(spanbridge::store::Chunk::packed);
        store.append(packed.collect()).expect("appends");
        if id == 3 {
            store.maintain().expect("maintains");
        }
    }
    store.append(loose("session 1", 3)).expect("appends");
    store
        .put_summary(trace(1), store.revision(trace(1)).expect("reads"), "a summary of one")
        .expect("keeps");
}

fn all_others_are_there(store: &Local, deleted: &[u8]) {
    for of in (1..=TRACES).filter(|of| !deleted.contains(of)) {
        let stored = store.read_trace(trace(of)).expect("reads").expect("is there");
        assert_eq!(stored.damaged, [] as [String; 0]);
        let mut wanted: Vec<Span> = (1..=9).map(|id| marked_span(of, id)).collect();
        if of == 1 {
            wanted = wanted
                .into_iter()
                .zip(101..)
                .flat_map(|(span, id)| [span, marked_span(1, id)])
                .collect();
        }
        assert_eq!(stored.spans, wanted, "trace {of}");
    }
    let limits = ArrivalLimits {
        bytes: 10_000,
        latest: u64::MAX,
    };
    let mut position = Position::default();
    loop {
        let arrivals = store.read_arrivals(position, limits).expect("reads");
        assert_eq!((arrivals.damaged_bytes, arrivals.removed_segments), (0, 0));
        let is_deleted = |chunk: &spanbridge::store::Arrival| chunk.trace_id.is_some_and(|id| deleted.contains(&id.bytes()[0]));
        assert!(!arrivals.chunks.iter().any(is_deleted));
        if arrivals.next <= position {
            break;
        }
        position = arrivals.next;
    }
}

/// Nothing of a trace is in any file.
fn nothing_is_left(directory: &Path, of: u8) {
    for about in (1..=9).chain(if of == 1 { 101..=109 } else { 1..=1 }).chain([1_000]) {
        assert_eq!(holds(directory, &marked(of, about)[..64]), [] as [String; 0], "{of} {about}");
    }
    assert_eq!(holds(directory, format!("name of trace {of}").as_bytes()), [] as [String; 0]);
}

#[test]
fn the_bytes_of_a_deleted_trace_are_in_no_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let store = open(path);
    fill(&store);
    assert!(holds(path, &marked(1, 2)[..64]).len() == 1 && !holds(path, b"name of trace 1").is_empty());
    assert!(!holds(path, b"a summary of one").is_empty());
    let places = store.chunks_of(trace(2)).expect("reads");
    store.delete(&Unwanted::Trace(trace(1)), &mut |_| Ok(())).expect("deletes");
    nothing_is_left(path, 1);
    assert_eq!(holds(path, b"a summary of one"), [] as [String; 0]);
    assert_eq!(store.chunks_of(trace(2)).expect("reads"), places, "others stay where they are");
    all_others_are_there(&store, &[1]);
    // What comes later goes into another segment; a session takes its log records.
    store.append(chunks(&[marked_span(2, 20)])).expect("appends");
    assert!(!holds(path, b"session 1").is_empty());
    let session = Unwanted::Session("session 1".to_owned());
    let deleted = store.delete(&session, &mut |_| Ok(())).expect("deletes");
    assert_eq!((deleted.traces.len(), deleted.log_records), (2, 1));
    for of in [1, 3, 5] {
        nothing_is_left(path, of);
    }
    assert_eq!(holds(path, b"session 1"), [] as [String; 0]);
    let rows = store.list(&Filter::default()).expect("lists");
    store.maintain().expect("maintains");
    drop(store);
    let store = open(path);
    assert_eq!(store.list(&Filter::default()).expect("lists"), rows);
    assert_eq!(store.append(chunks(&[marked_span(3, 30)])).expect("answers").deleted, 1);
    drop(store);
    let store = Local::reindex(&options(path)).expect("opens");
    assert!(store.recovery.damaged.is_empty() && store.recovery.lost.is_empty());
    let traces: Vec<_> = store
        .store
        .list(&Filter::default())
        .expect("lists")
        .iter()
        .map(|row| row.trace_id)
        .collect();
    assert_eq!(traces, rows.iter().map(|row| row.trace_id).collect::<Vec<_>>());
}

/// A disk on which nothing can be changed any more after so many changes.
#[derive(Debug)]
struct Ending {
    inner: Directory,
    left: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct EndingFile(Box<dyn DiskFile>, Arc<AtomicUsize>);

fn change(left: &AtomicUsize) -> io::Result<()> {
    let one_less = |left: usize| left.checked_sub(1);
    let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    taken.map(|_| ()).map_err(|_| io::Error::other("the machine ended"))
}

impl Disk for Ending {
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        change(&self.left)?;
        Ok(Box::new(EndingFile(self.inner.create(name)?, Arc::clone(&self.left))))
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(EndingFile(self.inner.open(name)?, Arc::clone(&self.left))))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        change(&self.left)?;
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        change(&self.left)?;
        self.inner.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        change(&self.left)?;
        self.inner.sync_names()
    }
}

impl DiskFile for EndingFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        change(&self.1)?;
        self.0.write_all_at(pieces, offset)
    }
    fn sync(&self) -> io::Result<()> {
        change(&self.1)?;
        self.0.sync()
    }
    fn truncate(&self, size: u64) -> io::Result<()> {
        change(&self.1)?;
        self.0.truncate(size)
    }
    fn leave_cache(&self) {
        self.0.leave_cache();
    }
}

#[test]
fn a_deletion_that_ended_in_the_middle_is_finished_at_the_next_start() {
    let whole = tempfile::tempdir().expect("a directory");
    let store = open(whole.path());
    fill(&store);
    drop(store);
    let mut interrupted = 0;
    for changes in (0..).step_by(4) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        for entry in fs::read_dir(whole.path()).expect("lists") {
            let from = entry.expect("an entry").path();
            fs::copy(&from, path.join(from.file_name().expect("a name"))).expect("copies");
        }
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let disk = Ending {
            inner: Directory::new(path),
            left: Arc::clone(&left),
        };
        let ending = OpenOptions {
            disk: Some(Arc::new(disk)),
            compression: None,
            ..options(path)
        };
        let store = Local::open(&ending).expect("opens").store;
        left.store(changes, Ordering::SeqCst);
        let deleted = store.delete(&Unwanted::Trace(trace(1)), &mut |_| Ok(()));
        drop(store);
        interrupted += usize::from(deleted.is_err());

        // What was begun is read no more, from the first moment on.
        let store = open(path);
        assert!(store.read_trace(trace(1)).expect("reads").is_none());
        assert_eq!(store.append(chunks(&[marked_span(1, 50)])).expect("answers").deleted, 1);
        let mut beside = Vec::new();
        let finished = store.finish_deletions(&mut |traces| {
            beside.extend_from_slice(traces);
            Ok(())
        });
        finished.expect("finishes");
        assert_eq!(beside, if deleted.is_err() { vec![trace(1)] } else { Vec::new() });
        nothing_is_left(path, 1);
        all_others_are_there(&store, &[1]);
        if deleted.is_ok() {
            break;
        }
    }
    assert!(interrupted > 10, "{interrupted}");
}

#[test]
fn what_is_beside_the_store_is_asked_for_again_where_it_failed() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    store.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    let failed = store.delete(&Unwanted::Trace(trace(1)), &mut |_| Err(Error::Slow));
    assert!(matches!(failed, Err(Error::Slow)));
    assert!(store.read_trace(trace(1)).expect("reads").is_none());
    let mut beside = Vec::new();
    let mut keep = |traces: &[spanbridge::span::TraceId]| {
        beside.extend_from_slice(traces);
        Ok(())
    };
    store.delete(&Unwanted::Trace(trace(1)), &mut keep).expect("finishes");
    store.finish_deletions(&mut keep).expect("has nothing to do");
    assert_eq!(beside, [trace(1)]);
}

/// As where another deletion finishes one that was begun a moment ago.
#[test]
fn what_was_begun_while_its_segment_was_written_to_is_finished_by_the_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let disk = Ending {
        inner: Directory::new(path),
        left: Arc::clone(&left),
    };
    let ending = OpenOptions {
        disk: Some(Arc::new(disk)),
        ..options(path)
    };
    let store = Local::open(&ending).expect("opens").store;
    fill(&store);
    left.store(0, Ordering::SeqCst);
    let begun = store.delete(&Unwanted::Trace(trace(1)), &mut |_| Ok(()));
    assert!(begun.is_err(), "its segment cannot be sealed");
    left.store(usize::MAX, Ordering::SeqCst);
    store.delete(&Unwanted::Trace(trace(2)), &mut |_| Ok(())).expect("deletes");
    for of in [1, 2] {
        nothing_is_left(path, of);
    }
    all_others_are_there(&store, &[1, 2]);
}

#[test]
fn deletions_at_the_same_time_leave_nothing_when_they_return() {
    for _ in 0..6 {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let store = open(path);
        fill(&store);
        std::thread::scope(|threads| {
            for of in 1..=4 {
                let store = &store;
                threads.spawn(move || {
                    store.delete(&Unwanted::Trace(trace(of)), &mut |_| Ok(())).expect("deletes");
                    assert!(store.read_trace(trace(of)).expect("reads").is_none());
                });
            }
        });
        for of in 1..=4 {
            nothing_is_left(path, of);
        }
        all_others_are_there(&store, &[1, 2, 3, 4]);
    }
}

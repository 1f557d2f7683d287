//! What holds of every store, and that the one of this machine keeps what it acknowledged: crashes, failing disks, replays, a second writer.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use crate::failing_disk::{Failing, Faults};
use crate::spans;
use crate::store_suite;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use spanbridge::span::Span;
use spanbridge::store::disk::Directory;
use spanbridge::store::{Administer as _, Append as _, Error, Filter, Local, OpenOptions, Opened, Read as _, Receipt, acknowledge};
use spans::{KEYS, chunks, span, trace};

fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        ..OpenOptions::new(directory)
    }
}

fn open(directory: &Path) -> Opened {
    Local::open(&options(directory)).expect("opens")
}

fn spans_of(store: &Local, of: u8) -> Vec<Span> {
    store
        .read_trace(trace(of))
        .expect("reads")
        .map_or_else(Vec::new, |stored| stored.spans)
}

store_suite::suite!(local, {
    let directory = tempfile::tempdir().expect("a directory");
    let opened = spanbridge::store::open(&crate::store::options(directory.path())).expect("opens");
    (opened.store, directory)
});

store_suite::suite!(memory, {
    let store: std::sync::Arc<dyn spanbridge::store::Store> = std::sync::Arc::new(crate::memory_store::Memory::default());
    (store, ())
});

store_suite::suite!(deletion: local_deletes, {
    let directory = tempfile::tempdir().expect("a directory");
    let opened = spanbridge::store::open(&crate::store::options(directory.path())).expect("opens");
    (opened.store, directory)
});

store_suite::suite!(deletion: memory_deletes, {
    let store: std::sync::Arc<dyn spanbridge::store::Store> = std::sync::Arc::new(crate::memory_store::Memory::default());
    (store, ())
});

fn last_segment(directory: &Path) -> std::path::PathBuf {
    let mut logs: Vec<_> = fs::read_dir(directory)
        .expect("lists")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    logs.pop().expect("a segment")
}

#[test]
fn what_was_appended_is_found_after_reopening() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    let spans = [span(1, 1), span(2, 1), span(1, 2)];
    let receipt = store.append(chunks(&spans)).expect("appends");
    assert_eq!(
        receipt,
        Receipt {
            stored: 3,
            duplicates: 0,
            deleted: 0
        }
    );
    let mut store = Some(store);
    for _ in 0..2 {
        let store = store.take().unwrap_or_else(|| open(directory.path()).store);
        assert_eq!(spans_of(&store, 1), [spans[0].clone(), spans[2].clone()]);
        assert_eq!(spans_of(&store, 3), []);
        let rows = store.list(&Filter::default()).expect("lists");
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.trace_id, row.root.as_deref(), row.spans, row.revision))
            .collect();
        assert_eq!(rows, [(trace(2), Some("span 1"), 1, 1), (trace(1), Some("span 1"), 2, 1)]);
    }
}

#[test]
fn a_replay_takes_no_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    let spans = [span(1, 1), span(1, 2)];
    store.append(chunks(&spans)).expect("appends");
    let size = || fs::metadata(last_segment(directory.path())).expect("a segment").len();
    let before = size();
    store.append(chunks(&spans)).expect("appends");
    assert_eq!(size(), before);
}

#[test]
fn a_torn_tail_is_cut_and_reported_wherever_it_is_torn() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    store.append(chunks(&[span(1, 1)])).expect("appends");
    let whole = fs::metadata(last_segment(directory.path())).expect("a segment").len();
    store.append(chunks(&[span(2, 1)])).expect("appends");
    drop(store);
    let segment = last_segment(directory.path());
    let bytes = fs::read(&segment).expect("reads");
    for cut in usize::try_from(whole).expect("small")..bytes.len() {
        let copy = tempfile::tempdir().expect("a directory");
        fs::write(copy.path().join(segment.file_name().expect("a name")), &bytes[..cut]).expect("writes");
        let opened = open(copy.path());
        assert_eq!(spans_of(&opened.store, 1).len(), 1, "cut at {cut}");
        assert_eq!(spans_of(&opened.store, 2), [], "cut at {cut}");
        let torn = opened.recovery.torn.map(|torn| torn.bytes);
        assert_eq!(torn, Some(cut as u64 - whole).filter(|bytes| *bytes > 0));
        assert_eq!(opened.recovery.damaged, []);
        opened.store.append(chunks(&[span(3, 1)])).expect("appends");
        drop(opened);
        let again = open(copy.path());
        assert_eq!(again.recovery.torn, None);
        assert_eq!(spans_of(&again.store, 3).len(), 1);
    }
}

#[test]
fn a_damaged_record_is_skipped_and_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    let mut starts = Vec::new();
    for of in 1..=3 {
        starts.push(usize::try_from(fs::metadata(last_segment(directory.path())).expect("a segment").len()).expect("small"));
        store.append(chunks(&[span(of, 1)])).expect("appends");
    }
    drop(store);
    let segment = last_segment(directory.path());
    let bytes = fs::read(&segment).expect("reads");
    // In the message, and in the head.
    for at in [starts[1] + 50, starts[1] + 2] {
        let copy = tempfile::tempdir().expect("a directory");
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        fs::write(copy.path().join(segment.file_name().expect("a name")), &bytes).expect("writes");
        let opened = open(copy.path());
        assert_eq!(opened.recovery.damaged.len(), 1);
        assert_eq!(opened.recovery.damaged[0].at.offset, starts[1] as u64);
        assert_eq!(opened.recovery.torn, None);
        assert_eq!(
            (
                spans_of(&opened.store, 1).len(),
                spans_of(&opened.store, 2).len(),
                spans_of(&opened.store, 3).len()
            ),
            (1, 0, 1)
        );
    }
    // Damage that comes after the index was made is found on reading.
    let mut damaged = bytes.clone();
    damaged[starts[1] + 50] ^= 0x40;
    fs::write(&segment, &damaged).expect("writes");
    let store = open(directory.path()).store;
    let stored = store.read_trace(trace(2)).expect("reads").expect("a row");
    assert_eq!((stored.spans.len(), stored.damaged.len()), (0, 1));
}

#[test]
fn a_second_writer_is_refused_with_the_process_that_holds_the_lock() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    store.append(chunks(&[span(1, 1)])).expect("appends");
    let refused = Local::open(&options(directory.path())).expect_err("refused");
    assert!(matches!(refused, Error::Locked { .. }));
    assert!(
        refused.to_string().contains(&format!("process {}", std::process::id())),
        "{refused}"
    );
    let reader = Local::open_to_read(directory.path()).expect("reads beside the writer");
    assert_eq!(spans_of(&reader, 1).len(), 1);
    store.append(chunks(&[span(1, 2)])).expect("appends");
    assert_eq!(spans_of(&reader, 1).len(), 2);
    assert!(matches!(reader.append(chunks(&[span(1, 3)])), Err(Error::ReadOnly)));
}

#[test]
fn the_lock_holds_when_its_file_is_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    fs::remove_file(directory.path().join("lock")).expect("removes");
    for _ in 0..2 {
        let refused = Local::open(&options(directory.path())).expect_err("refused");
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    }
    assert!(matches!(Local::reindex(&options(directory.path())), Err(Error::Locked { .. })));
    drop(store);
    drop(open(directory.path()));
}

#[test]
fn a_reader_keeps_nobody_from_writing_and_brings_the_index_up_to_date() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    store.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    drop(store);
    // As after a crash: the log is ahead of the index.
    fs::remove_file(directory.path().join("index.sqlite")).expect("removes");
    let reader = Local::open_up_to_date(&options(directory.path())).expect("opens");
    assert_eq!(reader.recovery.replayed, 2);
    let writer = open(directory.path()).store;
    let second = Local::open_up_to_date(&options(directory.path())).expect("opens").store;
    writer.append(chunks(&[span(1, 2)])).expect("appends");
    for reader in [&reader.store, &second] {
        assert_eq!((spans_of(reader, 1).len(), spans_of(reader, 2).len()), (2, 1));
    }
}

/// A store of nine traces in segments of two, and the directory it is in.
fn nine_traces() -> (tempfile::TempDir, OpenOptions) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = options(directory.path());
    options.segment_size = 400;
    // Segments are compressed when a test asks for it, not before.
    let level = options.compression.take();
    let store = Local::open(&options).expect("opens").store;
    for of in 1..=9 {
        store.append(chunks(&[span(of, 1), span(of, 2)])).expect("appends");
    }
    drop(store);
    options.compression = level;
    (directory, options)
}

#[test]
fn acknowledged_records_that_the_log_lost_are_said_at_the_start() {
    let said = |options: &OpenOptions| -> Vec<String> {
        let recovery = Local::open(options).expect("opens").recovery;
        let torn = recovery.torn.iter().map(ToString::to_string);
        torn.chain(recovery.lost.iter().map(ToString::to_string)).collect()
    };
    // The last segment, in a record and between two.
    let (directory, options) = nine_traces();
    let last = last_segment(directory.path());
    let whole = fs::read(&last).expect("reads");
    assert_eq!(said(&options), [] as [&str; 0]);
    fs::write(&last, &whole[..whole.len() - 9]).expect("cuts");
    let lines = said(&options);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("the rest of an acknowledged record"), "{lines:?}");
    assert!(
        lines[1].starts_with("segment 5: ") && lines[1].contains("1 acknowledged records of 1 traces are lost"),
        "{lines:?}"
    );
    let again = said(&options);
    assert_eq!(again, lines[1..], "until it is acknowledged");
    acknowledge(directory.path(), &[]).expect("acknowledges");
    assert_eq!(said(&options), [] as [&str; 0]);
    let (directory, options) = nine_traces();
    fs::write(last_segment(directory.path()), &whole[..16]).expect("cuts");
    let lines = said(&options);
    assert!(
        lines.len() == 1 && lines[0].contains("1 acknowledged records of 1 traces are lost"),
        "{lines:?}"
    );
    // A write that was never acknowledged.
    let (directory, options) = nine_traces();
    fs::write(last_segment(directory.path()), [&whole[..], &whole[16..60]].concat()).expect("adds");
    let lines = said(&options);
    assert!(
        lines.len() == 1 && lines[0].contains("nothing acknowledged was in them"),
        "{lines:?}"
    );
    // A sealed segment, as it came and compressed: cut, and gone.
    for compressed in [false, true] {
        let (directory, mut options) = nine_traces();
        let level = options.compression.take();
        if compressed {
            options.compression = level;
        }
        let store = Local::open(&options).expect("opens").store;
        if compressed {
            assert_eq!(store.maintain().expect("works").compressed_segments, 4);
        }
        drop(store);
        let segment = directory.path().join("0000000002.log");
        let bytes = fs::read(&segment).expect("reads");
        fs::write(&segment, &bytes[..bytes.len() / 2]).expect("cuts");
        fs::remove_file(directory.path().join("0000000003.log")).expect("removes");
        for _ in 0..2 {
            // The new index does not know them: that they are lost is told until somebody acknowledges it.
            let of_losses = |lines: Vec<String>| -> Vec<String> { lines.into_iter().filter(|line| line.ends_with(" are lost")).collect() };
            let lines = of_losses(said(&options));
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert!(
                lines[0].starts_with("segment 2: ") && lines[1].starts_with("segment 3: the file is gone; 2 "),
                "{lines:?}"
            );
            assert!(
                lines[0].starts_with("segment 2: the file was cut off") && lines[0].contains(" acknowledged records of "),
                "{lines:?}"
            );
            assert!(
                lines[1].starts_with("segment 3: the file is gone; 2 acknowledged records of 2 traces"),
                "{lines:?}"
            );
        }
        // Of a compressed segment the first half holds the first record.
        let left = if compressed { 6 } else { 5 };
        assert_eq!(
            Local::reindex(&options)
                .expect("opens")
                .store
                .list(&Filter::default())
                .expect("lists")
                .len(),
            left
        );
        // The new index does not know them: that they are lost is told until somebody acknowledges it.
        let of_losses = |lines: Vec<String>| -> Vec<String> { lines.into_iter().filter(|line| line.ends_with(" are lost")).collect() };
        let lines = of_losses(said(&options));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("segment 2: ") && lines[1].starts_with("segment 3: the file is gone; 2 "),
            "{lines:?}"
        );
        assert_eq!(acknowledge(directory.path(), &[]).expect("acknowledges").len(), 2);
        assert_eq!(of_losses(said(&options)), [] as [&str; 0]);
    }
}

#[test]
fn a_damaged_page_of_the_index_is_mended_by_the_next_start() {
    const PAGE: usize = 4_096;
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    let spans = spans::lone(0..600);
    store.append(chunks(&spans)).expect("appends");
    let rows = store.list(&Filter::default()).expect("lists");
    drop(store);
    let index = directory.path().join("index.sqlite");
    let whole = fs::read(&index).expect("reads");
    // Leaves of tables and of indexes begin so.
    let leaves: Vec<usize> = (1..whole.len() / PAGE)
        .filter(|page| matches!(whole[page * PAGE], 10 | 13))
        .collect();
    assert!(leaves.len() > 10, "{leaves:?}");
    for page in leaves {
        let mut bytes = whole.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        fs::write(&index, &bytes).expect("writes");
        let opened = open(directory.path());
        assert!(opened.recovery.index_rebuilt.is_some(), "page {page}");
        assert_eq!(opened.store.list(&Filter::default()).expect("lists"), rows, "page {page}");
    }
    // A check beside the work found it.
    drop(open(directory.path()));
    fs::write(directory.path().join("index.damaged"), "").expect("writes");
    assert!(open(directory.path()).recovery.index_rebuilt.is_some());
    assert!(open(directory.path()).recovery.index_rebuilt.is_none());
}

#[test]
fn the_index_is_rebuilt_from_the_log_when_it_is_lost_or_broken() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = options(directory.path());
    options.segment_size = 400;
    let store = Local::open(&options).expect("opens").store;
    for of in 1..=9 {
        store.append(chunks(&[span(of, 1), span(of, 2)])).expect("appends");
    }
    let rows = store.list(&Filter::default()).expect("lists");
    drop(store);
    assert!(
        last_segment(directory.path()).ends_with("0000000005.log"),
        "{:?}",
        last_segment(directory.path())
    );

    let index = directory.path().join("index.sqlite");
    fs::write(&index, b"this is no database, whatever its name says").expect("writes");
    let opened = Local::open(&options).expect("opens");
    assert!(opened.recovery.index_rebuilt.is_some());
    assert_eq!(opened.store.list(&Filter::default()).expect("lists"), rows);
    drop(opened);

    let opened = Local::reindex(&options).expect("opens");
    assert_eq!(opened.recovery.replayed, 9);
    assert_eq!(opened.store.list(&Filter::default()).expect("lists"), rows);
    drop(opened);

    // The last segment is gone: the index says more than there is.
    fs::remove_file(last_segment(directory.path())).expect("removes");
    let opened = Local::open(&options).expect("opens");
    assert!(opened.recovery.index_rebuilt.is_some());
    assert_eq!(opened.store.list(&Filter::default()).expect("lists").len(), 8);
}

#[test]
fn an_index_of_another_version_is_made_anew_and_not_read_as_if_it_were_ours() {
    // Where SQLite keeps `user_version`.
    const VERSION: std::ops::Range<usize> = 60..64;
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    store.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    let rows = store.list(&Filter::default()).expect("lists");
    drop(store);
    let index = directory.path().join("index.sqlite");
    let mut bytes = fs::read(&index).expect("reads");
    bytes[VERSION].copy_from_slice(&2_u32.to_be_bytes());
    fs::write(&index, &bytes).expect("writes");
    let refused = Local::open_to_read(directory.path()).expect_err("refused");
    assert!(matches!(refused, Error::IndexVersion { version: 2, .. }), "{refused}");
    let opened = open(directory.path());
    assert_eq!(opened.recovery.replayed, 2);
    assert_eq!(opened.store.list(&Filter::default()).expect("lists"), rows);
    assert_eq!(spans_of(&opened.store, 1), [span(1, 1)]);
    let reader = Local::open_to_read(directory.path()).expect("opens");
    assert_eq!(reader.list(&Filter::default()).expect("lists"), rows);
}

#[test]
fn a_segment_of_a_later_version_is_not_touched() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(open(directory.path()));
    let segment = last_segment(directory.path());
    let mut bytes = fs::read(&segment).expect("reads");
    bytes[7] = 9;
    fs::write(&segment, &bytes).expect("writes");
    let refused = Local::open(&options(directory.path())).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "segment 1 has version 9, and this program reads versions up to 2; use a newer spanbridge"
    );
    assert_eq!(fs::read(&segment).expect("reads"), bytes);
}

fn open_failing(directory: &Path) -> (Local, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let mut options = options(directory);
    options.disk = Some(Arc::new(Failing {
        inner: Directory::new(directory),
        faults: Arc::clone(&faults),
    }));
    (Local::open(&options).expect("opens").store, faults)
}

#[test]
fn of_the_sealed_segments_the_last_ones_stay_in_the_systems_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let faults = Arc::new(Faults::default());
    let open = |compression| {
        let mut options = options(directory.path());
        options.segment_size = 100;
        options.compression = compression;
        options.disk = Some(Arc::new(Failing {
            inner: Directory::new(directory.path()),
            faults: Arc::clone(&faults),
        }));
        Local::open(&options).expect("opens").store
    };
    let fill = |store: &Local, ids: std::ops::RangeInclusive<u8>| {
        for id in ids {
            store.append(chunks(&[span(1, id)])).expect("appends");
        }
    };
    let store = open(None);
    // A segment each, of which the last is not sealed.
    fill(&store, 1..=10);
    assert_eq!(faults.left_cache.load(Ordering::SeqCst), 5, "the 1st to the 5th");
    drop(store);
    let store = open(Some(3));
    assert_eq!(store.maintain().expect("maintains").compressed_segments, 9);
    drop(store);
    let store = open(None);
    fill(&store, 11..=20);
    assert_eq!(
        faults.left_cache.load(Ordering::SeqCst),
        5 + 6,
        "the 10th to the 15th; those between are compressed"
    );
    assert_eq!(spans_of(&store, 1).len(), 20);
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults) = open_failing(directory.path());
    store.append(chunks(&[span(1, 1)])).expect("appends");
    faults.full.store(true, Ordering::SeqCst);
    let refused = store.append(chunks(&[span(2, 1)])).expect_err("refused");
    assert!(matches!(refused, Error::Full { .. }) && refused.is_transient(), "{refused}");
    assert_eq!(spans_of(&store, 2), []);
    faults.full.store(false, Ordering::SeqCst);
    assert_eq!(store.append(chunks(&[span(2, 1)])).expect("appends").stored, 1);
    drop(store);
    let opened = open(directory.path());
    assert_eq!((opened.recovery.torn, opened.recovery.damaged.len()), (None, 0));
    assert_eq!((spans_of(&opened.store, 1).len(), spans_of(&opened.store, 2).len()), (1, 1));
}

#[test]
fn after_a_failed_sync_the_log_takes_no_more_until_it_is_opened_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults) = open_failing(directory.path());
    store.append(chunks(&[span(1, 1)])).expect("appends");
    faults.sync.store(true, Ordering::SeqCst);
    assert!(matches!(store.append(chunks(&[span(2, 1)])), Err(Error::Poisoned { .. })));
    faults.sync.store(false, Ordering::SeqCst);
    assert!(matches!(store.append(chunks(&[span(3, 1)])), Err(Error::Poisoned { .. })));
    assert_eq!(spans_of(&store, 1).len(), 1);
    drop(store);
    let store = open(directory.path()).store;
    assert_eq!(spans_of(&store, 1).len(), 1);
    store.append(chunks(&[span(3, 1)])).expect("appends");
    assert_eq!(spans_of(&store, 3).len(), 1);
}

#[test]
fn requests_that_wait_share_a_sync() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults) = open_failing(directory.path());
    let before = faults.syncs.load(Ordering::SeqCst);
    let (sender, receiver) = std::sync::mpsc::channel();
    for of in 1..=200 {
        let sender = sender.clone();
        store.submit(
            chunks(&[span(of, 1)]),
            Box::new(move |result| sender.send(result.is_ok()).expect("listens")),
        );
    }
    assert!(receiver.iter().take(200).all(|stored| stored));
    let syncs = faults.syncs.load(Ordering::SeqCst) - before;
    assert!(syncs < 150, "{syncs} syncs for 200 requests");
    assert_eq!(store.list(&Filter::default()).expect("lists").len(), 200);
}

#[test]
fn closing_writes_what_waits() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path()).store;
    for of in 1..=100 {
        store.submit(chunks(&[span(of, 1)]), Box::new(|result| assert!(result.is_ok())));
    }
    store.close();
    assert!(matches!(store.append(chunks(&[span(101, 1)])), Err(Error::Closed)));
    drop(store);
    assert_eq!(open(directory.path()).store.list(&Filter::default()).expect("lists").len(), 100);
}

/// So many that their ids are put in order meanwhile, and more than once.
#[test]
fn every_trace_of_very_many_is_found_at_once_and_known_again() {
    const TRACES: u32 = 80_000;
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path()).store;
    let one = |number: u32| spans::lone(number..number + 1);
    let found = |store: &Local, number: u32| {
        let stored = store.read_trace(one(number)[0].trace_id).expect("reads");
        stored.is_some_and(|stored| stored.spans == one(number))
    };
    for (round, first) in (0..TRACES).step_by(4_000).enumerate() {
        let end = first + 4_000;
        let many = chunks(&spans::lone(first..end));
        assert_eq!(store.append(many.clone()).expect("appends").stored, 4_000);
        let beside = Local::open_to_read(directory.path()).expect("opens beside");
        for number in [0, first / 3, first / 2, first, end - 1] {
            assert!(found(&store, number) && found(&beside, number), "trace {number} of {end}");
        }
        assert!(!found(&store, end) && !found(&beside, end));
        assert_eq!(store.append(many).expect("appends").duplicates, 4_000);
        if round % 7 == 6 {
            drop(beside);
            drop(store);
            store = open(directory.path()).store;
        }
    }
    // A further span of an early trace, and of a late one.
    for number in [5, TRACES - 5] {
        let mut more = one(number);
        more[0].span_id = spanbridge::span::SpanId::from_bytes(&[9; 8]).expect("an id");
        store.append(chunks(&more)).expect("appends");
        let filter = Filter {
            traces: vec![more[0].trace_id],
            ..Filter::default()
        };
        let rows = store.list(&filter).expect("lists");
        assert_eq!(rows.iter().map(|row| (row.spans, row.revision)).collect::<Vec<_>>(), [(2, 2)]);
    }
    let rows = store.list(&Filter::default()).expect("lists");
    assert_eq!(rows.len(), TRACES as usize);
    drop(store);
    let again = Local::reindex(&options(directory.path())).expect("reindexes").store;
    assert_eq!(again.list(&Filter::default()).expect("lists"), rows);
    assert!((0..TRACES).step_by(997).all(|number| number == 5 || found(&again, number)));
}

/// A log record without a trace changes what all traces of its session say. That takes no longer for many of them.
#[test]
fn a_loose_log_record_of_a_session_with_many_traces_is_quick() {
    let took = |traces: u32| {
        let directory = tempfile::tempdir().expect("a directory");
        let store = open(directory.path()).store;
        let mut spans = spans::lone(0..traces);
        spans.iter_mut().for_each(|span| span.attributes.push("session.id", "one"));
        store.append(chunks(&spans)).expect("appends");
        let revision = store.revision(spans[0].trace_id).expect("reads");
        let begin = std::time::Instant::now();
        for number in 0..50 {
            store.append(spans::loose("one", number)).expect("appends");
        }
        let took = begin.elapsed();
        assert_eq!(store.revision(spans[0].trace_id).expect("reads"), revision + 50);
        took
    };
    // Another program may have the processor for a while.
    let quick = (0..3).any(|_| took(20_000) < 3 * took(20) + std::time::Duration::from_millis(200));
    assert!(quick, "{:?} with 20,000 traces, {:?} with 20", took(20_000), took(20));
}

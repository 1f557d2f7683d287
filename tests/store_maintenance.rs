//! Sealed segments are compressed and, in time, removed; what is left reads as before. Stores of the first version open.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]
#![cfg(feature = "server")]

use crate::spans;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use spanbridge::span::{AnyValue, Span, SpanId};
use spanbridge::store::{Administer as _, Append as _, Filter, Local, OpenOptions, Order, Read as _, Receipt, Retention, log};
use spans::{KEYS, chunks, span, trace};

fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        segment_size: 4_000,
        ..OpenOptions::new(directory)
    }
}

/// Spans of 1 KB that compress well, in order of arrival.
fn spans(number: u8) -> Vec<Span> {
    (1..=number)
        .map(|id| {
            let mut span = span(1 + id % 3, id);
            span.attributes.push("input.value", "say it again, ".repeat(70));
            span
        })
        .collect()
}

fn fill(store: &Local, spans: &[Span]) {
    for span in spans {
        store.append(chunks(std::slice::from_ref(span))).expect("appends");
    }
}

/// The same, before anything is compressed.
fn fill_raw(directory: &Path, spans: &[Span]) {
    let options = OpenOptions {
        compression: None,
        ..options(directory)
    };
    fill(&Local::open(&options).expect("opens").store, spans);
}

fn of(spans: &[Span], number: u8) -> Vec<Span> {
    spans.iter().filter(|span| span.trace_id == trace(number)).cloned().collect()
}

fn read(store: &Local, number: u8) -> Vec<Span> {
    let stored = store.read_trace(trace(number)).expect("reads").unwrap_or_default();
    assert_eq!(stored.damaged, [] as [String; 0]);
    stored.spans
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut logs: Vec<_> = fs::read_dir(directory)
        .expect("lists")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    logs
}

/// The segments with their sizes. One may be removed meanwhile.
fn segment_sizes(directory: &Path) -> Vec<(u64, PathBuf)> {
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
    let sized = |path: PathBuf| (size(&path), path);
    segments(directory).into_iter().map(sized).collect()
}

#[test]
fn compressed_segments_read_as_before_and_replays_are_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = spans(30);
    fill_raw(directory.path(), &spans);
    let before: Vec<u64> = segments(directory.path())
        .iter()
        .map(|path| fs::metadata(path).expect("a file").len())
        .collect();
    let store = Local::open(&options(directory.path())).expect("opens").store;
    let done = store.maintain().expect("maintains");
    let after: Vec<u64> = segments(directory.path())
        .iter()
        .map(|path| fs::metadata(path).expect("a file").len())
        .collect();
    assert_eq!(
        done.compressed_segments,
        before.len() as u64 - 1,
        "all but the one that is written to"
    );
    assert!(done.compressed_to_bytes * 3 < done.compressed_from_bytes, "{done:?}");
    assert!(after[0] * 3 < before[0] && after.last() == before.last(), "{before:?} {after:?}");
    assert_eq!(
        store.maintain().expect("maintains").compressed_segments,
        done.compressed_segments,
        "nothing is left to do"
    );
    for number in 1..=3 {
        assert_eq!(read(&store, number), of(&spans, number));
    }
    let again = store.append(chunks(&spans[..1])).expect("appends");
    assert_eq!(
        again,
        Receipt {
            stored: 0,
            duplicates: 1,
            deleted: 0
        }
    );
    drop(store);
    // Another process reads it, and the index is made anew from compressed segments.
    let reader = Local::open_to_read(directory.path()).expect("opens");
    assert_eq!(read(&reader, 2), of(&spans, 2));
    let opened = Local::reindex(&options(directory.path())).expect("reindexes");
    assert_eq!((opened.recovery.replayed, opened.recovery.damaged.len()), (30, 0));
    for number in 1..=3 {
        assert_eq!(read(&opened.store, number), of(&spans, number));
    }
}

#[test]
fn a_segment_with_damage_is_not_compressed_and_one_without_its_table_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = spans(20);
    fill_raw(directory.path(), &spans);
    let paths = segments(directory.path());
    let mut bytes = fs::read(&paths[0]).expect("reads");
    bytes[300] ^= 0xff;
    fs::write(&paths[0], &bytes).expect("writes");
    let store = Local::open(&options(directory.path())).expect("opens").store;
    let done = store.maintain().expect("maintains");
    assert_eq!((done.damaged_segments, done.compressed_segments), (1, paths.len() as u64 - 2));
    assert_eq!(fs::read(&paths[0]).expect("reads"), bytes, "as it was");
    drop(store);
    // The table at the end of a compressed segment is damaged: its records tell the same.
    let mut bytes = fs::read(&paths[1]).expect("reads");
    let end = bytes.len();
    bytes[end - 30] ^= 0xff;
    fs::write(&paths[1], &bytes).expect("writes");
    let store = Local::open(&options(directory.path())).expect("opens").store;
    let stored: Vec<Span> = (1..=3)
        .flat_map(|number| store.read_trace(trace(number)).expect("reads").expect("is there").spans)
        .collect();
    assert_eq!(stored.len(), spans.len() - 1, "all but the damaged one");
}

/// Writes the byte of a segment's head that says if its records are compressed, and gives the file's bytes.
fn with_head(path: &Path, version: u8) -> Vec<u8> {
    let mut bytes = fs::read(path).expect("reads");
    bytes[7] = version;
    fs::write(path, &bytes).expect("writes");
    bytes
}

#[test]
fn raw_records_are_found_behind_a_head_that_says_they_are_compressed() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = spans(20);
    fill_raw(directory.path(), &spans[..17]);
    let paths = segments(directory.path());
    assert!(paths.len() > 2, "{paths:?}");
    for path in &paths {
        let _ = with_head(path, 2);
    }
    let opened = Local::reindex(&options(directory.path())).expect("reindexes");
    assert_eq!((opened.recovery.replayed, opened.recovery.damaged.len()), (17, 0));
    fill(&opened.store, &spans[17..]);
    let _ = opened.store.maintain().expect("maintains");
    for number in 1..=3 {
        assert_eq!(read(&opened.store, number), of(&spans, number));
    }
    drop(opened);
    let again = Local::reindex(&options(directory.path())).expect("reindexes");
    assert_eq!((again.recovery.replayed, again.recovery.damaged.len()), (20, 0));
}

#[test]
fn a_compressed_segment_behind_a_head_that_says_it_is_raw_is_told_and_not_cut() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = spans(20);
    let store = Local::open(&options(directory.path())).expect("opens").store;
    fill(&store, &spans);
    let _ = store.maintain().expect("maintains");
    drop(store);
    // The one that was written to is lost, too: this one is the last.
    let paths = segments(directory.path());
    let [.., last, open] = &paths[..] else {
        panic!("too few segments: {paths:?}")
    };
    fs::remove_file(open).expect("removes");
    let bytes = with_head(last, 1);
    let opened = Local::reindex(&options(directory.path())).expect("reindexes");
    assert!(
        !opened.recovery.damaged.is_empty() && opened.recovery.torn.is_none(),
        "{:?}",
        opened.recovery
    );
    fill(&opened.store, &spans[19..]);
    assert_eq!(fs::read(last).expect("reads"), bytes, "as it was");
    drop(opened);
    let inspected = log::inspect(directory.path(), paths.len() as u64 - 1)
        .expect("reads")
        .expect("is there");
    assert_eq!(inspected.head_should_say, Some(log::Form::Compressed));
    let _ = with_head(last, 2);
    let mended = Local::reindex(&options(directory.path())).expect("reindexes");
    assert_eq!(mended.recovery.damaged.len(), 0, "the byte alone was wrong");
}

#[test]
fn what_comes_after_the_segment_that_was_written_to_is_gone_has_a_segment_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = spans(20);
    fill_raw(directory.path(), &spans[..18]);
    // A segment that lost its end, and stays raw, stands before one that is compressed; and the one that is written to is lost.
    let paths = segments(directory.path());
    let [.., raw, _, open] = &paths[..] else {
        panic!("too few segments: {paths:?}")
    };
    let mut bytes = fs::read(raw).expect("reads");
    bytes.truncate(bytes.len() / 2);
    fs::write(raw, &bytes).expect("writes");
    let store = Local::open(&options(directory.path())).expect("opens").store;
    let _ = store.maintain().expect("maintains");
    drop(store);
    fs::remove_file(open).expect("removes");
    for file in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = fs::remove_file(directory.path().join(file));
    }
    let store = Local::open(&options(directory.path())).expect("opens").store;
    fill(&store, &spans[18..]);
    assert_eq!(fs::read(raw).expect("reads"), bytes, "as it was");
    let last = |store: &Local| -> usize {
        let ids: Vec<_> = (1..=3).flat_map(|number| read(store, number)).map(|span| span.span_id).collect();
        spans[18..].iter().filter(|span| ids.contains(&span.span_id)).count()
    };
    assert_eq!(last(&store), 2);
    drop(store);
    assert_eq!(last(&Local::reindex(&options(directory.path())).expect("reindexes").store), 2);
}

#[test]
fn the_oldest_segments_go_when_there_is_too_much() {
    let directory = tempfile::tempdir().expect("a directory");
    let keep = Retention {
        bytes: Some(10_000),
        ..Retention::default()
    };
    let options = OpenOptions {
        retention: keep,
        compression: None,
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    let spans = spans(40);
    fill(&store, &spans);
    let done = store.maintain().expect("maintains");
    let left: u64 = segments(directory.path())
        .iter()
        .map(|path| fs::metadata(path).expect("a file").len())
        .sum();
    assert!(left <= 10_000 && done.removed_segments > 5, "{left} {done:?}");
    // The newest are there, each trace's row says what is left of it, and a replay of what was removed is new.
    let rows = store.list(&Filter::default()).expect("lists");
    for row in &rows {
        let number = row.trace_id.bytes()[0];
        let stored = read(&store, number);
        let all = of(&spans, number);
        assert_eq!(stored, all[all.len() - stored.len()..]);
        assert_eq!(row.spans, stored.len() as u64);
        assert_eq!(row.start, stored[0].start.0);
        assert!(
            row.revision > all.len() as u64,
            "what was computed before does not count: {}",
            row.revision
        );
    }
    assert_eq!(store.append(chunks(&spans[..1])).expect("appends").stored, 1);
    drop(store);
    let opened = Local::open(&options).expect("opens");
    assert_eq!(opened.recovery.index_rebuilt, None);
    assert_eq!(opened.store.list(&Filter::default()).expect("lists").len(), rows.len());
}

/// The row of a trace of which a part was removed is what a new index says of the rest: the trace is still one of its session.
#[test]
fn what_is_left_of_a_trace_is_of_its_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        retention: Retention {
            bytes: Some(10_000),
            ..Retention::default()
        },
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    let mut spans = spans(60);
    spans.iter_mut().for_each(|span| span.attributes.push(KEYS[0], "chat-17"));
    fill(&store, &spans);
    assert!(store.maintain().expect("maintains").removed_segments > 0);
    let rows = |store: &Local| {
        let of_session = Filter {
            session: Some("chat-17".to_owned()),
            ..Filter::default()
        };
        let rows = store.list(&of_session).expect("lists");
        let row = |row: &spanbridge::store::TraceRow| (row.trace_id, row.service.clone(), row.spans, row.start, row.end);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let left = rows(&store);
    assert_eq!(left.len(), 3);
    drop(store);
    let store = Local::reindex(&options).expect("reindexes").store;
    assert_eq!(rows(&store), left);
}

#[test]
fn what_is_too_old_goes_however_small_its_segment_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let keep = Retention {
        age: Some(Duration::from_millis(1_500)),
        ..Retention::default()
    };
    let options = OpenOptions {
        retention: keep,
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    fill(&store, &spans(10));
    store.maintain().expect("maintains");
    assert_eq!(store.maintained().removed_segments, 0, "nothing is old yet");
    std::thread::sleep(Duration::from_millis(1_700));
    // A chunk that comes later seals the segment before it, however small it is.
    let late = span(9, 1);
    store.append(chunks(std::slice::from_ref(&late))).expect("appends");
    std::thread::sleep(Duration::from_millis(1_700));
    store.append(chunks(&[span(9, 2)])).expect("appends");
    store.maintain().expect("maintains");
    assert_eq!((read(&store, 1), read(&store, 9)), (vec![], vec![late, span(9, 2)]));
    std::thread::sleep(Duration::from_millis(1_700));
    store.append(chunks(&[span(9, 3)])).expect("appends");
    store.maintain().expect("maintains");
    assert_eq!(
        (read(&store, 1), read(&store, 2), read(&store, 9)),
        (vec![], vec![], vec![span(9, 2), span(9, 3)])
    );
    assert_eq!(store.list(&Filter::default()).expect("lists").len(), 1);
}

#[test]
fn what_is_too_old_goes_when_nothing_comes_any_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        retention: Retention {
            age: Some(Duration::from_millis(400)),
            ..Retention::default()
        },
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    store.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    store.maintain().expect("maintains");
    assert_eq!(read(&store, 1), [span(1, 1)], "nothing is old yet");
    let begin = std::time::Instant::now();
    while store.maintain().expect("maintains").removed_segments == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the only segment stays");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begin.elapsed() > Duration::from_millis(300), "it went too early");
    assert_eq!((read(&store, 1), read(&store, 2)), (vec![], vec![]));
    assert_eq!(store.list(&Filter::default()).expect("lists"), []);
    store.append(chunks(&[span(1, 1)])).expect("appends");
    assert_eq!(read(&store, 1), [span(1, 1)]);
}

/// Appends from several threads without a pause, and calls `look` meanwhile with the bytes of the segments, and how many are sealed.
/// Five minutes if `SPANBRIDGE_FULL` is set. Gives the bytes that were appended.
fn under_load(options: &OpenOptions, mut look: impl FnMut(&Local, u64, u64)) -> u64 {
    let duration = Duration::from_secs(if crate::long_form::is_long_form() { 300 } else { 4 });
    let store = Local::open(options).expect("opens").store;
    let over = AtomicBool::new(false);
    let requests = AtomicU32::new(0);
    let begin = std::time::Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, over, requests) = (&store, &over, &requests);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let number = requests.fetch_add(1, Ordering::Relaxed);
                    // A trace of its own, and one that goes on for ever.
                    let mut spans = spans::lone(number * 10..number * 10 + 10);
                    let mut long = span(1 + thread, 1);
                    long.span_id = SpanId::from_bytes(&(u64::from(number) + 1).to_be_bytes()).expect("an id");
                    spans.push(long);
                    for span in &mut spans {
                        span.attributes
                            .push("input.value", format!("{number} {}", "say it again, ".repeat(200)));
                    }
                    store.append(chunks(&spans)).expect("appends");
                }
            });
        }
        let (mut outcome, mut looks) = (Ok(()), 0);
        while outcome.is_ok() && (begin.elapsed() < duration || looks < 20) {
            let sizes = segment_sizes(&options.directory);
            // Sizes that were never there together are not counted: retention or compression changed one meanwhile.
            let again = segment_sizes(&options.directory);
            let (Some((written, sealed)), Some((_, sealed_again))) = (sizes.split_last(), again.split_last()) else {
                continue;
            };
            if sealed == sealed_again {
                let bytes = written.0 + sealed.iter().map(|(bytes, _)| bytes).sum::<u64>();
                outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&store, bytes, sealed.len() as u64)));
                looks += 1;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    store.appended_bytes()
}

/// Retention does not wait for a pause between requests: there is none.
#[test]
fn under_load_the_log_keeps_to_its_limit() {
    let (segment_size, limit) = if crate::long_form::is_long_form() {
        (16 << 20, 95_000_000)
    } else {
        (1 << 20, 6_000_000)
    };
    for compression in [None, Some(3)] {
        let directory = tempfile::tempdir().expect("a directory");
        let options = OpenOptions {
            segment_size,
            compression,
            retention: Retention {
                bytes: Some(limit),
                ..Retention::default()
            },
            ..OpenOptions::new(directory.path())
        };
        let mut most = 0;
        let appended = under_load(&options, |_, bytes, _| {
            most = most.max(bytes);
            assert!(
                bytes <= limit + limit / 10 + 2 * segment_size,
                "{bytes} bytes with a limit of {limit}"
            );
        });
        assert!(appended > limit + limit / 2, "{appended} bytes are no load");
        eprintln!("compression {compression:?}: {appended} bytes came, the log had {most} at most");
        let store = Local::open(&options).expect("opens");
        assert_eq!(store.recovery.index_rebuilt, None);
        for row in store.store.list(&Filter::default()).expect("lists") {
            let stored = store.store.read_trace(row.trace_id).expect("reads").expect("is there");
            assert_eq!((stored.damaged.len(), stored.spans.len() as u64), (0, row.spans));
        }
    }
}

/// What is computed of a trace at a revision is never taken for another state, also where retention removed what raised it.
#[test]
fn revisions_rise_where_loose_log_records_and_traces_of_a_session_go() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        retention: Retention {
            bytes: Some(10_000),
            ..Retention::default()
        },
        compression: None,
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    let spans = spans(90);
    let mut before = 0;
    for (number, span) in spans.iter().enumerate() {
        store.append(chunks(std::slice::from_ref(span))).expect("appends");
        if number % 5 == 0 {
            store.append(spans::loose("session 1", number as u64)).expect("appends");
            store.append(spans::loose("session 0", number as u64)).expect("appends");
        }
        store.maintain().expect("maintains");
        let revision = store.revision(trace(2)).expect("reads");
        assert!(revision >= before, "{revision} after {before}");
        before = revision;
    }
    assert!(store.maintained().removed_segments > 5);
    assert!(before > 30, "each chunk and each record counts: {before}");
}

/// Compression goes on under load, and no more than some segments wait for it.
#[test]
fn under_load_segments_are_compressed() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        segment_size: if crate::long_form::is_long_form() { 16 << 20 } else { 512 << 10 },
        ..OpenOptions::new(directory.path())
    };
    let mut most = 0;
    let appended = under_load(&options, |store, _, sealed| {
        let waiting = sealed.saturating_sub(store.maintained().compressed_segments);
        most = most.max(waiting);
        assert!(waiting <= 16, "{waiting} of {sealed} segments wait");
    });
    assert!(appended > 6 << 20, "{appended} bytes are no load");
    eprintln!("{appended} bytes came, {most} segments waited at most");
}

/// So many that their ids are put in order meanwhile.
#[test]
fn of_very_many_traces_those_of_removed_segments_go_and_the_others_stay() {
    const TRACES: u32 = 50_000;
    let directory = tempfile::tempdir().expect("a directory");
    let options = OpenOptions {
        segment_size: 500_000,
        compression: None,
        ..options(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    for first in (0..TRACES).step_by(2_000) {
        store.append(chunks(&spans::lone(first..first + 2_000))).expect("appends");
    }
    drop(store);
    let keep = Retention {
        bytes: Some(
            segments(directory.path())
                .iter()
                .map(|path| fs::metadata(path).expect("a file").len())
                .sum::<u64>()
                - 1_500_000,
        ),
        ..Retention::default()
    };
    let store = Local::open(&OpenOptions {
        retention: keep,
        ..options.clone()
    })
    .expect("opens")
    .store;
    let done = store.maintain().expect("maintains");
    assert!(done.removed_segments >= 3, "{done:?}");
    let rows = store
        .list(&Filter {
            order: Order::OldestFirst,
            ..Filter::default()
        })
        .expect("lists");
    let gone = TRACES - u32::try_from(rows.len()).expect("few");
    assert!((2_000..20_000).contains(&gone), "{gone}");
    let there = |store: &Local, number: u32| {
        let span = spans::lone(number..number + 1).pop().expect("one");
        let stored = store.read_trace(span.trace_id).expect("reads");
        stored.is_some_and(|stored| stored.damaged.is_empty() && stored.spans == [span])
    };
    for number in (0..TRACES).step_by(499) {
        assert_eq!(there(&store, number), number >= gone, "trace {number} of those from {gone} on");
    }
    // What was removed may come again, and what is there is known again.
    let again = store.append(chunks(&spans::lone(gone - 1_000..gone + 1_000))).expect("appends");
    assert_eq!(
        again,
        Receipt {
            stored: 1_000,
            duplicates: 1_000,
            deleted: 0,
        }
    );
    assert!(there(&store, gone - 1) && there(&store, gone));
    let rows = store.list(&Filter::default()).expect("lists");
    drop(store);
    let store = Local::reindex(&options).expect("reindexes").store;
    assert_eq!(ids(&store.list(&Filter::default()).expect("lists")), ids(&rows));
}

fn ids(rows: &[spanbridge::store::TraceRow]) -> Vec<(spanbridge::span::TraceId, u64, u64)> {
    rows.iter().map(|row| (row.trace_id, row.spans, row.start)).collect()
}

/// A copy of a store that an earlier version wrote, and where it was copied from.
fn fixture(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store_fixtures").join(name);
    for entry in fs::read_dir(&fixture).expect("lists") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, directory.path().join(path.file_name().expect("a name"))).expect("copies");
    }
    (directory, fixture)
}

/// `tests/store_fixtures/v2` was written before chunks shared what stands around their items: four compressed segments, and
/// a raw one with eight traces of one request, a log record of the first of them and a loose one of their session.
#[test]
fn a_store_from_before_chunks_shared_anything_opens() {
    for anew in [false, true] {
        let (directory, fixture) = fixture("v2");
        let opened = match anew {
            false => Local::open(&options(directory.path())),
            true => Local::reindex(&options(directory.path())),
        };
        let store = opened.expect("opens").store;
        let mut lines = String::new();
        for row in store.list(&Filter::default()).expect("lists") {
            let stored = store.read_trace(row.trace_id).expect("reads").expect("is there");
            assert_eq!((stored.damaged.len(), stored.spans.len() as u64), (0, row.spans));
            lines.push_str(&format!("{} {} {} {}\n", row.trace_id, row.spans, row.logs, stored.logs.len()));
        }
        assert_eq!(
            lines,
            fs::read_to_string(fixture.join("traces.txt")).expect("reads"),
            "made anew: {anew}"
        );
        assert_eq!(read(&store, 1), of(&spans(12), 1));
        // What it holds is known again.
        let again = store.append(chunks(&spans(12)[..1])).expect("appends");
        assert_eq!(
            again,
            Receipt {
                stored: 0,
                duplicates: 1,
                deleted: 0
            }
        );
    }
}

/// `tests/store_fixtures/v1` was written by the first version: one raw segment of spans, log records and loose ones.
#[test]
fn a_store_of_the_first_version_opens() {
    let (directory, fixture) = fixture("v1");
    let opened = Local::open(&OpenOptions {
        session_keys: vec!["session.id".to_owned()],
        ..OpenOptions::new(directory.path())
    })
    .expect("opens");
    assert_eq!((opened.recovery.torn, opened.recovery.damaged.len()), (None, 0));
    let rows = opened.store.list(&Filter::default()).expect("lists");
    let seen: Vec<(String, u64, u64)> = rows.iter().map(|row| (row.trace_id.to_string(), row.spans, row.logs)).collect();
    let expected = fs::read_to_string(fixture.join("traces.txt")).expect("reads");
    let lines: Vec<String> = seen.iter().map(|(id, spans, logs)| format!("{id} {spans} {logs}\n")).collect();
    assert_eq!(lines.concat(), expected);
    for row in &rows {
        let stored = opened.store.read_trace(row.trace_id).expect("reads").expect("is there");
        assert_eq!(stored.damaged, [] as [String; 0]);
        assert_eq!(stored.spans.len() as u64, row.spans);
        assert!(
            stored
                .spans
                .iter()
                .all(|span| span.attributes.0.iter().all(|(_, value)| *value != AnyValue::Empty))
        );
    }
    assert!(rows.iter().any(|row| row.logs > 0), "log records of a trace");
}

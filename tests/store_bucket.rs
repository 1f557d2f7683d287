//! The store in a bucket: the laws of every store over memory and over a folder, and what several bridges do with one bucket.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a test, which prints why it did not run")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spanbridge::span::Span;
use spanbridge::store::{BucketOptions, Error, Filter, OpenOptions, Receipt, Store, Unwanted};

use crate::s3_server::{S3, VERSITYGW};
use crate::spans::{KEYS, chunks, span, trace};
use crate::store_suite;

/// A store of a bridge whose data directory is here. Flushes and polls are quick, so that tests are.
pub(crate) fn options(directory: &Path, url: &str, writer: &str) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        bucket: Some(BucketOptions {
            writer: Some(writer.to_owned()),
            flush_interval: Duration::from_millis(5),
            poll_interval: Duration::from_millis(50),
            ..BucketOptions::new(url)
        }),
        ..OpenOptions::new(directory)
    }
}

fn open(options: &OpenOptions) -> Arc<dyn Store> {
    spanbridge::store::open(options).expect("opens").store
}

store_suite::suite!(memory, {
    let directory = tempfile::tempdir().expect("a directory");
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), "memory:///laws", "one")),
        directory,
    )
});

store_suite::suite!(folder, {
    let directory = tempfile::tempdir().expect("a directory");
    let url = format!("file://{}/bucket", directory.path().display());
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), &url, "one")),
        directory,
    )
});

store_suite::suite!(deletion: memory_deletes, {
    let directory = tempfile::tempdir().expect("a directory");
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), "memory:///laws", "one")),
        directory,
    )
});

store_suite::suite!(deletion: folder_deletes, {
    let directory = tempfile::tempdir().expect("a directory");
    let url = format!("file://{}/bucket", directory.path().display());
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), &url, "one")),
        directory,
    )
});

/// Set where an S3 server is there and the variables of its client are.
const HAS_S3: &str = "SPANBRIDGE_TEST_HAS_S3";

/// A bucket of its own on the S3 server, if there is one. The laws are run there by a process of their own, which has the variables.
fn s3_or_memory(directory: &Path) -> String {
    let name = directory.file_name().expect("a name").to_string_lossy().replace('.', "");
    match std::env::var_os(HAS_S3) {
        Some(_) => format!("s3://traces/{name}"),
        None => format!("memory:///{name}"),
    }
}

store_suite::suite!(s3, {
    let directory = tempfile::tempdir().expect("a directory");
    let url = crate::store_bucket::s3_or_memory(directory.path());
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), &url, "one")),
        directory,
    )
});

store_suite::suite!(deletion: s3_deletes, {
    let directory = tempfile::tempdir().expect("a directory");
    let url = crate::store_bucket::s3_or_memory(directory.path());
    (
        crate::store_bucket::open(&crate::store_bucket::options(directory.path(), &url, "one")),
        directory,
    )
});

#[test]
fn the_laws_hold_on_a_real_s3_server() {
    let Some(server) = S3::start() else {
        println!("did not run: there is neither versitygw ({VERSITYGW}) nor moto_server");
        return;
    };
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["store_bucket::s3", "--test-threads", "4"])
        .envs(server.variables())
        .env(HAS_S3, "yes")
        .output()
        .expect("runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !printed.contains("running 0 tests"), "{printed}");
}

/// A folder as a bucket, and bridges on it.
struct Folder {
    directory: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn options(&self, writer: &str) -> OpenOptions {
        let url = format!("file://{}/bucket", self.directory.path().display());
        options(self.directory.path(), &url, writer)
    }

    fn bridge(&self, writer: &str) -> Arc<dyn Store> {
        open(&self.options(writer))
    }
}

fn spans_of(store: &Arc<dyn Store>, of: u8) -> Vec<Span> {
    let stored = store.read_trace(trace(of)).expect("reads");
    stored.map_or_else(Vec::new, |stored| stored.spans)
}

/// Waits for what others have written to be seen.
fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn spans_of_one_trace_that_came_to_two_bridges_are_one_trace_on_both() {
    let folder = Folder::new();
    let (one, two) = (folder.bridge("one"), folder.bridge("two"));
    one.append(chunks(&[span(1, 1)])).expect("appends");
    two.append(chunks(&[span(1, 2), span(2, 1)])).expect("appends");
    for store in [&one, &two] {
        eventually("both chunks are seen", || {
            spans_of(store, 1).len() == 2 && spans_of(store, 2).len() == 1
        });
        let row = store.row(trace(1)).expect("reads").expect("a row");
        assert_eq!((row.spans, row.root.as_deref(), row.revision), (2, Some("span 1"), 2));
        let listed = store.list(&Filter::default()).expect("lists");
        assert_eq!(listed.iter().map(|row| row.trace_id).collect::<Vec<_>>(), [trace(2), trace(1)]);
    }
    // A replay that comes to another bridge is stored there too, and is no second one to anyone.
    two.append(chunks(&[span(1, 1)])).expect("appends");
    eventually("the replay is one chunk", || {
        let row = one.row(trace(1)).expect("reads").expect("a row");
        (row.spans, spans_of(&one, 1).len()) == (2, 2)
    });
}

#[test]
fn the_databases_of_bridges_that_are_gone_are_read_also_without_a_bridge() {
    let folder = Folder::new();
    let one = folder.bridge("one");
    one.append(chunks(&[span(1, 1)])).expect("appends");
    drop(one);
    let two = folder.bridge("two");
    assert_eq!(spans_of(&two, 1).len(), 1);
    two.append(chunks(&[span(2, 1)])).expect("appends");
    let reading = spanbridge::store::open_up_to_date(&folder.options("three")).expect("opens").store;
    assert_eq!((spans_of(&reading, 1).len(), spans_of(&reading, 2).len()), (1, 1));
    assert!(matches!(reading.append(chunks(&[span(3, 1)])), Err(Error::ReadOnly)));
    assert_eq!(reading.list(&Filter::default()).expect("lists").len(), 2);
}

#[test]
fn a_writer_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let one = folder.bridge("one");
    one.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    let end = *one.watch_end().expect("writes").borrow();
    drop(one);
    let again = folder.bridge("one");
    assert_eq!(*again.watch_end().expect("writes").borrow(), end);
    let receipt = again.append(chunks(&[span(1, 1), span(3, 1)])).expect("appends");
    assert_eq!(
        receipt,
        Receipt {
            stored: 1,
            duplicates: 1,
            deleted: 0
        }
    );
    assert!(*again.watch_end().expect("writes").borrow() > end);
}

#[test]
fn a_second_process_shuts_the_first_out_and_the_first_says_why() {
    let folder = Folder::new();
    let first = folder.bridge("one");
    first.append(chunks(&[span(1, 1)])).expect("appends");
    let second = folder.bridge("one");
    let refused = first.append(chunks(&[span(1, 2)]));
    assert!(matches!(&refused, Err(Error::Fenced { writer }) if writer == "one"), "{refused:?}");
    assert!(matches!(first.ready(), Err(Error::Fenced { .. })));
    second.append(chunks(&[span(1, 3)])).expect("appends");
    assert_eq!(spans_of(&second, 1), [span(1, 1), span(1, 3)]);
}

#[test]
fn of_appends_at_a_revision_on_two_bridges_one_wins_and_all_are_in_one_order() {
    const APPENDS: u8 = 12;
    let folder = Folder::new();
    let bridges = [folder.bridge("one"), folder.bridge("two"), folder.bridge("three")];
    // Each reads the trace and appends one span that says how many were there; whoever lost reads again.
    std::thread::scope(|scope| {
        for (number, store) in bridges.iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..APPENDS {
                    append_counted(store, u8::try_from(number).expect("small"));
                }
            });
        }
    });
    let all = usize::from(APPENDS) * bridges.len();
    for store in &bridges {
        eventually("all are seen", || spans_of(store, 1).len() == all);
        let mut counts: Vec<u64> = spans_of(store, 1).iter().map(|span| span.start.0).collect();
        counts.sort_unstable();
        assert_eq!(counts, (1..=all as u64).collect::<Vec<_>>(), "each saw all before it");
    }
}

/// Appends a span that starts at how many there are with it.
fn append_counted(store: &Arc<dyn Store>, writer: u8) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < until, "some append wins");
        let revision = store.revision(trace(1)).expect("reads");
        let before = spans_of(store, 1).len();
        if revision != store.revision(trace(1)).expect("reads") {
            continue;
        }
        let mut new = span(1, u8::try_from(before + 1).expect("few"));
        new.start.0 = before as u64 + 1;
        new.end.0 = new.start.0;
        new.attributes.push("writer", i64::from(writer));
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |result: Result<u64, Error>| sender.send(result).expect("listens"));
        store.submit_at(revision, chunks(&[new]).pop().expect("a chunk"), done);
        match receiver.recv().expect("an answer") {
            Ok(_) => return,
            Err(Error::Changed { .. }) => std::thread::sleep(Duration::from_millis(3)),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn more_than_may_wait_is_refused_and_nothing_else() {
    let folder = Folder::new();
    let mut options = folder.options("one");
    let bucket = options.bucket.as_mut().expect("a bucket");
    bucket.in_flight_bytes = 1;
    bucket.flush_interval = Duration::from_millis(300);
    let store = open(&options);
    let (sender, receiver) = std::sync::mpsc::channel();
    for number in 1..=8 {
        let sender = sender.clone();
        let done = Box::new(move |result: Result<Receipt, Error>| sender.send((number, result)).expect("listens"));
        store.submit(chunks(&[span(number, 1)]), done);
    }
    let answers: Vec<_> = receiver.iter().take(8).collect();
    for (number, result) in answers {
        match result {
            Ok(_) => assert_eq!(spans_of(&store, number).len(), 1),
            Err(error) => assert!(matches!(error, Error::Slow) && error.is_transient(), "{error}"),
        }
    }
    assert!(store.append(chunks(&[span(9, 1)])).is_ok());
}

#[test]
fn what_is_older_than_retention_is_gone_from_lists_traces_and_arrivals() {
    let folder = Folder::new();
    let mut options = folder.options("one");
    options.retention.age = Some(Duration::from_secs(2));
    let store = open(&options);
    store.append(chunks(&[span(1, 1)])).expect("appends");
    assert_eq!(
        (spans_of(&store, 1).len(), store.list(&Filter::default()).expect("lists").len()),
        (1, 1)
    );
    eventually("it is gone", || spans_of(&store, 1).is_empty());
    store.append(chunks(&[span(2, 1)])).expect("appends");
    let listed = store.list(&Filter::default()).expect("lists");
    assert_eq!(listed.iter().map(|row| row.trace_id).collect::<Vec<_>>(), [trace(2)]);
    let limits = spanbridge::store::ArrivalLimits {
        bytes: usize::MAX,
        latest: u64::MAX,
    };
    let arrivals = store.read_arrivals(spanbridge::store::Position::default(), limits).expect("reads");
    assert_eq!(
        arrivals.chunks.iter().filter_map(|chunk| chunk.trace_id).collect::<Vec<_>>(),
        [trace(2)]
    );
    assert_eq!(arrivals.next, *store.watch_end().expect("writes").borrow());
}

#[test]
fn what_one_bridge_deletes_is_gone_from_the_databases_of_all() {
    let folder = Folder::new();
    let (one, two) = (folder.bridge("one"), folder.bridge("two"));
    let gone = folder.bridge("gone");
    gone.append(chunks(&[span(1, 3), span(2, 3)])).expect("appends");
    gone.close();
    drop(gone);
    one.append(chunks(&[span(1, 1), span(2, 1)])).expect("appends");
    two.append(chunks(&[span(1, 2), span(2, 2)])).expect("appends");
    let until = |holds: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until(&|| spans_of(&one, 1).len() == 3 && spans_of(&two, 1).len() == 3);
    let what = Unwanted::Trace(trace(1));
    let deleted = one.delete(&what, &mut |_| Ok(())).expect("deletes");
    assert_eq!((deleted.traces.len(), deleted.spans), (1, 3));
    assert_eq!(spans_of(&one, 1), []);
    // The other hears of it, and removes what is its own; what comes to it later is refused.
    until(&|| spans_of(&two, 1).is_empty() && two.chunks_of(trace(1)).expect("reads").is_empty());
    until(&|| two.append(chunks(&[span(1, 9)])).expect("answers").deleted == 1);
    assert_eq!((spans_of(&one, 2).len(), spans_of(&two, 2).len()), (3, 3));
    assert!(two.deleted(&what).expect("reads").is_some());
    // The database of the one that is gone has it until a server opens it again.
    let again = folder.bridge("gone");
    assert!(spans_of(&again, 1).is_empty() && again.chunks_of(trace(1)).expect("reads").is_empty());
    assert_eq!(again.chunks_of(trace(2)).expect("reads").len(), 1);
    let reader = spanbridge::store::open_up_to_date(&folder.options("none")).expect("opens").store;
    assert!(spans_of(&reader, 1).is_empty() && spans_of(&reader, 2).len() == 3);
}

//! What comes while the disk syncs is written meanwhile, and answered only once it is on the disk and in the index itself.
#![expect(clippy::expect_used, reason = "a test")]
#![cfg(feature = "server")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use spanbridge::span::TraceId;
use spanbridge::store::disk::Directory;
use spanbridge::store::{Administer as _, Append as _, Error, Filter, Local, OpenOptions, Read as _, Receipt, Unwanted};

use crate::failing_disk::{Failing, Faults};
use crate::spans::{chunks, span, trace};

fn open(directory: &Path) -> (Local, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let options = OpenOptions {
        disk: Some(Arc::new(Failing {
            inner: Directory::new(directory),
            faults: Arc::clone(&faults),
        })),
        ..OpenOptions::new(directory)
    };
    (Local::open(&options).expect("opens").store, faults)
}

type Answers = Receiver<(u8, Result<Receipt, Error>)>;

/// A store whose disk waits with the sync of trace 1, while trace `of` has come. Answers are those of requests, by their traces.
fn in_a_sync(directory: &Path, of: &[u8], then: impl FnOnce(&Faults)) -> (Local, Arc<Faults>, Answers) {
    let (store, faults) = open(directory);
    let (sender, answers) = channel();
    let submit = |of: u8| {
        let sender = sender.clone();
        let answer = move |result| sender.send((of, result)).expect("listens");
        store.submit(chunks(&[span(of, 1)]), Box::new(answer));
    };
    let (writes, syncs) = (faults.writes.load(Ordering::SeqCst), faults.syncs.load(Ordering::SeqCst));
    faults.hold();
    submit(1);
    wait_until(&faults.syncs, syncs + 1);
    wait_until(&faults.writes, writes + 1);
    then(&faults);
    of.iter().for_each(|of| submit(*of));
    (store, faults, answers)
}

fn wait_until(counter: &AtomicUsize, count: usize) {
    let begin = Instant::now();
    while counter.load(Ordering::SeqCst) < count {
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing happens");
        std::thread::yield_now();
    }
}

fn is_quiet(answers: &Answers) -> bool {
    answers.recv_timeout(Duration::from_millis(50)).err() == Some(RecvTimeoutError::Timeout)
}

fn traces(store: &Local) -> Vec<TraceId> {
    let mut traces: Vec<TraceId> = store
        .list(&Filter::default())
        .expect("lists")
        .iter()
        .map(|row| row.trace_id)
        .collect();
    traces.sort_unstable();
    traces
}

#[test]
fn what_comes_during_a_sync_is_written_meanwhile_and_answered_after_the_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults, answers) = in_a_sync(directory.path(), &[2, 2, 1, 3], |_| {});
    // The segment's head, the first request, and one of those behind it at least.
    wait_until(&faults.writes, 3);
    assert!(is_quiet(&answers));
    assert_eq!(traces(&store), []);
    faults.release();
    let results: Vec<_> = answers
        .iter()
        .take(5)
        .map(|(of, result)| (of, result.expect("is stored")))
        .collect();
    let results: Vec<_> = results
        .iter()
        .map(|(of, receipt)| (*of, receipt.stored, receipt.duplicates))
        .collect();
    assert_eq!(results, [(1, 1, 0), (2, 1, 0), (2, 0, 1), (1, 0, 1), (3, 1, 0)]);
    assert_eq!(traces(&store), [trace(1), trace(2), trace(3)]);
    drop(store);
    let store = open(directory.path()).0;
    assert_eq!(traces(&store), [trace(1), trace(2), trace(3)]);
}

#[test]
fn a_request_that_brings_nothing_new_is_not_answered_before_the_one_that_brought_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults, answers) = in_a_sync(directory.path(), &[1], |_| {});
    assert!(is_quiet(&answers));
    faults.release();
    for (stored, duplicates) in [(1, 0), (0, 1)] {
        let receipt = answers.recv().expect("an answer").1.expect("is stored");
        assert_eq!((receipt.stored, receipt.duplicates), (stored, duplicates));
    }
    drop(store);
}

#[test]
fn if_a_sync_fails_what_was_written_behind_it_is_not_stored_either() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults, answers) = in_a_sync(directory.path(), &[2], |_| {});
    wait_until(&faults.writes, 3);
    faults.sync.store(true, Ordering::SeqCst);
    faults.release();
    for of in [1, 2] {
        let (answered, result) = answers.recv().expect("an answer");
        assert!(
            answered == of && matches!(result, Err(Error::Poisoned { .. })),
            "{answered} {result:?}"
        );
    }
    assert_eq!(traces(&store), []);
    drop(store);
    let store = open(directory.path()).0;
    store.append(chunks(&[span(3, 1)])).expect("appends");
    assert!(traces(&store).contains(&trace(3)));
}

#[test]
fn what_finds_the_disk_full_during_a_sync_is_cut_off_and_what_is_synced_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults, answers) = in_a_sync(directory.path(), &[2], |faults| faults.full.store(true, Ordering::SeqCst));
    wait_until(&faults.writes, 3);
    faults.release();
    let mut results: Vec<_> = answers.iter().take(2).collect();
    results.sort_by_key(|(of, _)| *of);
    assert!(matches!(&results[..], [(1, Ok(_)), (2, Err(Error::Full { .. }))]), "{results:?}");
    faults.full.store(false, Ordering::SeqCst);
    store.append(chunks(&[span(3, 1)])).expect("appends");
    drop(store);
    let opened = Local::open(&OpenOptions::new(directory.path())).expect("opens");
    assert_eq!((opened.recovery.torn, opened.recovery.damaged.len()), (None, 0));
    assert_eq!(traces(&opened.store), [trace(1), trace(3)]);
}

#[test]
fn a_deletion_gets_its_turn_while_requests_keep_coming() {
    let directory = tempfile::tempdir().expect("a directory");
    let (store, faults) = open(directory.path());
    store.append(chunks(&[span(1, 1)])).expect("appends");
    let is_deleted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for of in (2..=200).cycle() {
                    store.append(chunks(&[span(of, 1)])).expect("appends");
                    if is_deleted.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        let syncs = faults.syncs.load(Ordering::SeqCst);
        wait_until(&faults.syncs, syncs + 20);
        let deleted = store.delete(&Unwanted::Trace(trace(1)), &mut |_| Ok(()));
        is_deleted.store(true, Ordering::SeqCst);
        assert_eq!(deleted.expect("deletes").traces, [trace(1)]);
    });
    assert!(!traces(&store).contains(&trace(1)));
}

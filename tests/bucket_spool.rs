//! Requests that are answered before the bucket has what they bring: `--ack local`.
#![expect(clippy::expect_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spanbridge::store::{Ack, OpenOptions, Store};

use crate::requests::{get, send, span};
use crate::serving::{ANY_PORTS, Serving, program};
use crate::store_suite;

/// A store in a folder that answers from its own log.
pub(crate) fn options(directory: &Path) -> OpenOptions {
    let url = format!("file://{}/bucket", directory.display());
    let mut options = crate::store_bucket::options(&directory.join("data"), &url, "one");
    if let Some(bucket) = &mut options.bucket {
        bucket.ack = Ack::Local;
    }
    options
}

fn open(directory: &Path) -> Arc<dyn Store> {
    spanbridge::store::open(&options(directory)).expect("opens").store
}

store_suite::suite!(late arrivals: spool, {
    let directory = tempfile::tempdir().expect("a directory");
    (crate::bucket_spool::open(directory.path()), directory)
});

store_suite::suite!(deletion: spool_deletes, {
    let directory = tempfile::tempdir().expect("a directory");
    (crate::bucket_spool::open(directory.path()), directory)
});

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("text").to_owned()
    }

    fn serve(&self, data: &str, flags: &[&str]) -> Serving {
        let url = format!("file://{}", self.path("bucket"));
        let mut command = program();
        command.args(["serve", "--data-dir", &self.path(data), "--store", &url, "--writer", data]);
        command.args(["--store-poll-milliseconds", "50"]).args(flags);
        Serving::launch(command.args(ANY_PORTS))
    }

    /// Traces that a command reads from the bucket.
    fn in_the_bucket(&self) -> usize {
        let url = format!("file://{}", self.path("bucket"));
        let output = program()
            .args(["ls", "--json", "--limit", "1000", "--store", &url])
            .output()
            .expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().count()
    }

    /// Segments of the log that waits for the bucket which have something.
    fn segments(&self, data: &str) -> usize {
        let entries = std::fs::read_dir(Path::new(&self.path(data)).join("spool")).expect("a spool");
        let entries = entries.map(|entry| entry.expect("an entry"));
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
        logs.filter(|log| log.metadata().is_ok_and(|data| data.len() > 16)).count()
    }
}

/// A bucket that takes nothing for this test: it would be written to in an hour.
const AWAY: [&str; 4] = ["--ack", "local", "--store-flush-milliseconds", "3600000"];

fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn spans(traces: std::ops::RangeInclusive<u8>) -> Vec<spanbridge::span::Span> {
    traces.map(|trace| span(trace, 1)).collect()
}

fn listed(serving: &Serving) -> usize {
    get(serving, "/api/v1/traces?limit=1000").1.matches("\"trace_id\"").count()
}

fn metric(serving: &Serving, name: &str) -> u64 {
    let (_, metrics) = get(serving, "/metrics");
    let line = metrics.lines().find(|line| line.starts_with(name)).expect("the metric");
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
}

#[test]
fn what_was_answered_is_read_at_once_and_reaches_the_bucket_after_a_kill() {
    let place = Place::new();
    let mut bridge = place.serve("one", &AWAY);
    let begin = Instant::now();
    assert_eq!(send(&bridge, &spans(1..=20)), 200);
    assert!(begin.elapsed() < Duration::from_secs(10), "the bucket takes nothing for an hour");
    assert_eq!(listed(&bridge), 20);
    assert_eq!(get(&bridge, &format!("/api/v1/traces/{}", span(7, 1).trace_id)).0, 200);
    assert!(metric(&bridge, "spanbridge_store_bucket_spool_bytes") > 0);
    assert_eq!(place.in_the_bucket(), 0);
    bridge.child.kill().expect("kills");
    bridge.wait();
    assert_eq!(place.in_the_bucket(), 0);

    let two = place.serve("two", &[]);
    assert_eq!(send(&two, &[span(3, 2)]), 200);
    let bridge = place.serve("one", &["--ack", "local", "--store-flush-milliseconds", "20"]);
    assert_eq!(listed(&bridge), 20, "at once");
    eventually("all is in the bucket", || {
        metric(&bridge, "spanbridge_store_bucket_spool_bytes") == 0 && place.in_the_bucket() == 20
    });
    eventually("both bridges read one trace", || {
        [&bridge, &two].iter().all(|bridge| {
            let (_, text) = get(bridge, &format!("/api/v1/traces/{}", span(3, 1).trace_id));
            text.matches("\"spanId\"").count() == 2
        })
    });
    bridge.stop();
    two.stop();
}

#[test]
fn what_the_bucket_has_leaves_the_disk_and_is_read_all_the_while() {
    let place = Place::new();
    let bridge = place.serve("one", &["--ack", "local", "--store-flush-milliseconds", "20"]);
    for trace in 1..=40 {
        assert_eq!(send(&bridge, &[span(trace, 1)]), 200);
        assert_eq!(listed(&bridge), usize::from(trace));
    }
    // 60 polls of 50 ms.
    eventually("the disk has none of it", || {
        assert_eq!(listed(&bridge), 40);
        let (status, text) = get(&bridge, &format!("/api/v1/traces/{}", span(1, 1).trace_id));
        assert!(status == 200 && text.contains("\"damaged\":[]"), "{text}");
        place.segments("one") == 0
    });
    assert_eq!((listed(&bridge), metric(&bridge, "spanbridge_store_bucket_spool_bytes")), (40, 0));
    // A replay is known where it counts.
    assert_eq!(send(&bridge, &spans(1..=40)), 200);
    eventually("it is in the bucket", || {
        metric(&bridge, "spanbridge_store_bucket_spool_bytes") == 0
    });
    let (_, text) = get(&bridge, &format!("/api/v1/traces/{}", span(1, 1).trace_id));
    assert_eq!((listed(&bridge), text.matches("\"spanId\"").count()), (40, 1));
    bridge.stop();
    // Another setting uploads what was left, here all of it, since nothing says how far it came.
    std::fs::remove_file(Path::new(&place.path("one")).join("spool/uploaded.json")).expect("there is one");
    let bridge = place.serve("one", &["--store-flush-milliseconds", "20"]);
    eventually("it is in the bucket", || {
        metric(&bridge, "spanbridge_store_bucket_spool_bytes") == 0
    });
    assert_eq!((listed(&bridge), place.in_the_bucket()), (40, 40));
    bridge.stop();
}

#[test]
fn more_than_may_wait_on_the_disk_is_refused_with_a_time_to_come_again() {
    let place = Place::new();
    let bridge = place.serve("one", &[&AWAY[..], &["--store-spool-bytes", "100kB"]].concat());
    let mut large = span(1, 1);
    large.attributes.push("input.value", "a word ".repeat(10_000));
    assert_eq!(send(&bridge, &[large.clone()]), 200);
    large.name = "another".to_owned();
    assert_eq!(send(&bridge, &[large.clone()]), 503);
    let small = send(&bridge, &[span(2, 1)]);
    assert_eq!((small, listed(&bridge)), (200, 2), "what fits is taken");
    assert_eq!(get(&bridge, "/readyz").0, 200);
    for id in 2..=200 {
        large.span_id = span(1, id).span_id;
        large.attributes = [("input.value".to_owned(), "a word ".repeat(1_000).into())].into_iter().collect();
        if send(&bridge, &[large.clone()]) == 503 && send(&bridge, &[span(3, 1)]) == 503 {
            break;
        }
    }
    drop(bridge);
    // There is room again once the bucket takes it.
    let bridge = place.serve(
        "one",
        &["--ack", "local", "--store-flush-milliseconds", "20", "--store-spool-bytes", "100kB"],
    );
    eventually("it is taken", || send(&bridge, &[span(4, 1)]) == 200);
    bridge.stop();
}

//! What a server leaves in a bucket that is gone: others take it over, and forward it from where that was.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::operating::{get, send, span};
use crate::serving::{ANY_PORTS, Serving, program};

/// A bucket in a folder, and a destination that can be stopped and started again on the same port.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("text").to_owned()
    }

    fn url(&self) -> String {
        format!("file://{}", self.path("bucket"))
    }

    fn bridge(&self, data: &str, forward: &str) -> Serving {
        let mut command = program();
        command.args(["serve", "--data-dir", &self.path(data), "--store", &self.url(), "--writer", "one"]);
        command
            .args(["--store-poll-milliseconds", "100", "--forward", forward])
            .args(ANY_PORTS);
        Serving::launch(&mut command)
    }

    fn destination(&self, http: &str) -> Serving {
        let directory = self.path("destination");
        let mut command = program();
        command.args(["serve", "--data-dir", &directory, "--otlp-http", http]);
        Serving::launch(command.args(["--otlp-grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]))
    }

    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = program();
        let output = command
            .arg("store")
            .args(arguments)
            .args(["--store", &self.url()])
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        (output.status.success(), said)
    }

    fn adopted(&self) -> Option<u64> {
        let (done, listed) = self.run(&["list", "--json"]);
        assert!(done, "{listed}");
        let line: serde_json::Value = serde_json::from_str(listed.trim()).expect("one writer");
        line["adopted_unix_nano"].as_u64()
    }
}

/// Spans that a server stored since it was started, and those of them that it had already.
fn received(serving: &Serving) -> (u64, u64) {
    let (_, metrics) = get(serving, "/metrics");
    let count = |name: &str| -> u64 {
        let lines = metrics.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    let (accepted, duplicates) = (
        count("otelcol_receiver_accepted_spans"),
        count("spanbridge_receiver_duplicate_spans_total"),
    );
    (accepted - duplicates, duplicates)
}

fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn spans(traces: std::ops::RangeInclusive<u8>) -> Vec<spanbridge::span::Span> {
    traces.map(|trace| span(trace, 1)).collect()
}

/// The position in the data directory of a bridge.
fn position(directory: &Path) -> u64 {
    let text = std::fs::read(directory.join("forward/there.progress.json")).expect("a position");
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON")["offset"]
        .as_u64()
        .expect("a number")
}

#[test]
fn what_a_server_left_unsent_is_sent_once_by_whoever_adopts_it_and_by_itself_on_a_new_disk() {
    let place = Place {
        directory: tempfile::tempdir().expect("a directory"),
    };
    let first = place.destination("127.0.0.1:0");
    let there = first.http.clone();
    let (address, forward) = (there.trim_start_matches("http://").to_owned(), format!("there={there}"));
    let mut bridge = place.bridge("one", &forward);
    assert_eq!(send(&bridge, &spans(1..=3)), 200);
    eventually("what came is sent, and noted", || {
        received(&first) == (3, 0) && position(Path::new(&place.path("one"))) == 3
    });
    first.stop();
    assert_eq!(send(&bridge, &spans(4..=6)), 200);
    bridge.child.kill().expect("kills");
    bridge.wait();
    std::fs::remove_dir_all(place.path("one")).expect("its disk is lost");

    let destination = place.destination(&address);
    let beside = place.path("adopter");
    let (done, said) = place.run(&["adopt", "one", "--data-dir", &beside, "--forward", &forward]);
    assert!(!done && said.contains("may still run") && said.contains("--force"), "{said}");
    let (done, said) = place.run(&["adopt", "none", "--force", "--data-dir", &beside]);
    assert!(!done && said.contains("there is no database of none; there are: one"), "{said}");
    let (done, said) = place.run(&["adopt", "one", "--force", "--data-dir", &beside]);
    assert!(
        !done && said.contains("destination there") && said.contains("--leave-unsent"),
        "{said}"
    );
    assert_eq!((place.adopted(), received(&destination)), (None, (0, 0)));
    let (done, said) = place.run(&["adopt", "one", "--force", "--data-dir", &beside, "--forward", &forward]);
    assert!(
        done && said.contains("sent to there: 3 spans") && said.contains("adopted one"),
        "{said}"
    );
    assert_eq!(received(&destination), (3, 0));
    assert!(place.adopted().is_some());

    // A server with this name takes it back, also on a new disk.
    let bridge = place.bridge("another", &forward);
    assert_eq!(place.adopted(), None);
    assert_eq!(send(&bridge, &spans(7..=7)), 200);
    eventually("what came is sent", || received(&destination) == (4, 0));
    bridge.stop();
    assert_eq!(received(&destination), (4, 0));
    destination.stop();
}

//! What a server leaves in a bucket that is gone: others take it over, and forward it from where that was.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::requests::{get, send, span};
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

/// The databases that are listed: name, chunks, whether it was adopted.
fn listed(place: &Place) -> Vec<(String, u64, bool)> {
    let (done, listed) = place.run(&["list", "--json"]);
    assert!(done, "{listed}");
    let lines = listed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let writers = lines.map(|line| {
        let name = line["writer"].as_str().expect("a name").to_owned();
        (name, line["chunks"].as_u64().expect("a count"), line["adopted_unix_nano"].is_u64())
    });
    writers.collect()
}

/// The traces that are there, as a command reads them.
fn traces(place: &Place) -> usize {
    let output = program()
        .args(["ls", "--json", "--limit", "100", "--store", &place.url()])
        .output()
        .expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn databases_of_servers_that_are_gone_become_one_and_nothing_is_lost_where_that_is_killed() {
    let place = Place {
        directory: tempfile::tempdir().expect("a directory"),
    };
    let serve = |writer: &str, traces: std::ops::RangeInclusive<u8>| {
        let mut command = program();
        command.args([
            "serve",
            "--data-dir",
            &place.path(writer),
            "--store",
            &place.url(),
            "--writer",
            writer,
        ]);
        let serving = Serving::launch(command.args(["--store-poll-milliseconds", "50"]).args(ANY_PORTS));
        assert_eq!(send(&serving, &spans(traces)), 200);
        serving
    };
    // Some came to two of them.
    serve("one", 1..=20).stop();
    serve("two", 15..=30).stop();
    let running = serve("three", 31..=32);
    let (done, said) = place.run(&["compact"]);
    assert!(done && said.contains("nothing was merged"), "{said}");
    for writer in ["one", "two"] {
        let (done, said) = place.run(&["adopt", writer, "--force", "--data-dir", &place.path("adopter")]);
        assert!(done, "{said}");
    }
    for milliseconds in [50, 150, 250, 400] {
        let mut command = program();
        command.args(["store", "compact", "--store", &place.url()]);
        let mut compacting = command.stderr(std::process::Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        compacting.kill().expect("kills");
        compacting.wait().expect("ends");
        assert_eq!(traces(&place), 32);
    }
    let (done, said) = place.run(&["compact"]);
    assert!(done, "{said}");
    let left = [("merged".to_owned(), 30, false), ("three".to_owned(), 2, false)];
    assert_eq!(listed(&place), left);
    assert_eq!(traces(&place), 32);

    // Their objects go once bridges have stopped reading them. What keeps a former bridge from writing stays.
    eventually("the server reads the merged database in their place", || {
        let (_, metrics) = get(&running, "/metrics");
        metrics
            .lines()
            .any(|line| line.starts_with("spanbridge_store_bucket_writers{") && line.ends_with(" 2"))
    });
    let writers = place.directory.path().join("bucket/writers");
    for writer in ["one", "two"] {
        let marker = std::fs::File::options().write(true).open(writers.join(format!("{writer}.merged")));
        let before = std::time::SystemTime::now() - Duration::from_secs(60 * 60);
        marker.expect("a marker").set_modified(before).expect("sets");
    }
    let (done, said) = place.run(&["compact"]);
    assert!(done && said.contains("nothing was merged"), "{said}");
    // Whoever is killed while it writes a file leaves that unfinished, with # in its name. It is no object.
    let files = |folder: &str| {
        let entries = std::fs::read_dir(writers.join(folder)).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().to_string_lossy().contains('#')).count()
    };
    assert_eq!((files("one/wal"), files("one/manifest"), files("one/compacted")), (1, 1, 0));
    assert_eq!((listed(&place).len(), traces(&place)), (2, 32));
    let (_, ls) = get(&running, "/api/v1/traces?limit=100");
    assert_eq!(ls.matches("\"trace_id\"").count(), 32, "{ls}");
    running.stop();

    // A server of this name writes to a new database.
    serve("one", 33..=33).stop();
    assert_eq!(listed(&place)[1], ("one.2".to_owned(), 1, false));
    assert_eq!(traces(&place), 33);
}

/// A server that was shut out while it stood still knows nothing of that: what it answers must be stored where it is read.
#[test]
fn a_server_that_was_shut_out_and_whose_objects_are_gone_answers_nothing_that_nobody_reads() {
    for (ack, answers) in [("bucket", 0), ("local", 1)] {
        let place = Place {
            directory: tempfile::tempdir().expect("a directory"),
        };
        let serve = || {
            let mut command = program();
            let data = place.path("one");
            command.args([
                "serve",
                "--data-dir",
                &data,
                "--store",
                &place.url(),
                "--writer",
                "one",
                "--ack",
                ack,
            ]);
            Serving::launch(command.args(["--store-poll-milliseconds", "50"]).args(ANY_PORTS))
        };
        let mut bridge = serve();
        assert_eq!(send(&bridge, &spans(1..=5)), 200);
        eventually("it is in the bucket", || traces(&place) == 5);
        bridge.signal("-STOP");
        let (done, said) = place.run(&["adopt", "one", "--force", "--data-dir", &place.path("adopter")]);
        assert!(done, "{said}");
        let (done, said) = place.run(&["compact"]);
        assert!(done, "{said}");
        let marker = place.directory.path().join("bucket/writers/one.merged");
        let marker = std::fs::File::options().write(true).open(marker).expect("a marker");
        let before = std::time::SystemTime::now() - Duration::from_secs(60 * 60);
        marker.set_modified(before).expect("sets");
        let (done, said) = place.run(&["compact"]);
        assert!(done && traces(&place) == 5, "{said}");
        // For longer than 60 polls, and than its objects are kept.
        std::thread::sleep(Duration::from_secs(4));
        bridge.signal("-CONT");
        // Its own disk may take some until it hears of it.
        let taken: u8 = (6..=12)
            .filter(|trace| send(&bridge, &spans(*trace..=*trace)) == 200)
            .count()
            .try_into()
            .expect("few");
        assert!(taken <= answers * 7, "{taken} were answered");
        eventually("it says so", || get(&bridge, "/readyz").0 == 503);
        assert_ne!(send(&bridge, &spans(13..=13)), 200);
        bridge.child.kill().expect("kills");
        bridge.wait();
        // Started again, it writes elsewhere, also what its disk has.
        let bridge = serve();
        assert_eq!(send(&bridge, &spans(14..=14)), 200);
        eventually("all is in the bucket", || traces(&place) == usize::from(5 + taken + 1));
        bridge.stop();
    }
}

#[test]
fn documents_and_data_sets_are_written_into_a_bucket_and_a_failure_leaves_no_manifest() {
    let place = Place {
        directory: tempfile::tempdir().expect("a directory"),
    };
    let (directory, url) = (place.path("set"), format!("file://{}", place.path("sets/one")));
    let export = |output: &str, flags: &[&str]| {
        let mut command = program();
        command
            .args(["export", "--to", "messages", "--output", output])
            .args(["--store", &place.url()]);
        let output = command.args(flags).output().expect("runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut command = program();
    command.args(["serve", "--data-dir", &place.path("data"), "--store", &place.url()]);
    let serving = Serving::launch(command.args(ANY_PORTS));
    let calls: Vec<_> = (1..=20).map(call).collect();
    assert_eq!(send(&serving, &calls), 200);
    serving.stop();
    let flags = ["--jsonl", "--split", "train:0.5,test:0.5"];
    let (done, said) = export(&directory, &flags);
    assert!(done, "{said}");
    let (done, said) = export(&url, &flags);
    assert!(done && said.contains(&format!("(messages) to {url}")), "{said}");
    let names = ["manifest.json", "test.jsonl", "train.jsonl"];
    for name in names {
        let [local, there] =
            [&directory, &place.path("sets/one")].map(|folder| std::fs::read(Path::new(folder).join(name)).expect("is there"));
        assert!(local == there && there.len() > 100, "{name}");
    }
    // Documents, each an object.
    let (done, said) = export(&format!("file://{}", place.path("sets/two")), &[]);
    assert!(
        done && std::fs::read_dir(place.path("sets/two")).expect("lists").count() == 20,
        "{said}"
    );
    // Where an object cannot be written, what was there is no whole set any more.
    std::fs::remove_file(place.path("sets/one/train.jsonl")).expect("removes");
    std::fs::create_dir_all(place.path("sets/one/train.jsonl/in the way")).expect("makes");
    let (done, said) = export(&url, &flags);
    assert!(!done && said.contains("train.jsonl") && !said.contains("wrote"), "{said}");
    assert!(!Path::new(&place.path("sets/one/manifest.json")).exists());
    let (done, said) = export("s3:///nothing", &[]);
    assert!(!done && said.contains("s3://BUCKET/PREFIX"), "{said}");
}

/// A model call with a trace of its own.
fn call(trace: u8) -> spanbridge::span::Span {
    let mut span = span(trace, 1);
    span.attributes.push("gen_ai.operation.name", "chat");
    span.attributes.push("gen_ai.request.model", "a-model");
    let said = |role: &str, text: &str| format!(r#"[{{"role":"{role}","parts":[{{"type":"text","content":"{text} {trace}"}}]}}]"#);
    span.attributes.push("gen_ai.input.messages", said("user", "question"));
    span.attributes.push("gen_ai.output.messages", said("assistant", "answer"));
    span
}

//! What is lost is told until an operator acknowledges it, and an index that says something else than the log is found.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use spanbridge::otlp::{encode, scan};
use spanbridge::span::Signal;
use spanbridge::store::{Append as _, Chunk, Local, OpenOptions};

use super::doctor::{doctor, expect};
use super::text;
use crate::requests::{get, span};
use crate::serving::{ANY_PORTS, Serving, program, spanbridge};

const TRACES: u8 = 90;

/// A data directory of so many traces in several segments; nobody writes to it.
fn stored() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let options = OpenOptions {
        segment_size: 4_000,
        compression: None,
        ..OpenOptions::new(&data)
    };
    let store = Local::open(&options).expect("opens").store;
    for trace in 1..=TRACES {
        let bytes = encode::traces(&[span(trace, 1)]);
        let scanned = scan::scan(&bytes, Signal::Traces, &["session.id"]).expect("a request");
        store.append(Chunk::of_request(scanned, bytes)).expect("appends");
    }
    drop(store);
    (directory, data)
}

fn last_segment(data: &Path) -> PathBuf {
    let entries = fs::read_dir(data).expect("lists").map(|entry| entry.expect("an entry").path());
    let mut logs: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    logs.sort();
    logs.pop().expect("a segment")
}

/// What `serve` says before it serves.
fn said_at_the_start(data: &Path) -> String {
    let mut child = program()
        .args(["serve", "--data-dir", text(data)])
        .args(ANY_PORTS)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let said: Vec<String> = lines.take_while(|line| !line.contains("serving")).collect();
    child.kill().expect("ends");
    child.wait().expect("ended");
    said.join("\n")
}

fn lost_records(serving: &Serving) -> String {
    let (_, metrics) = get(serving, "/metrics");
    let line = metrics.lines().find(|line| line.starts_with("spanbridge_store_lost_records{"));
    line.expect("a metric").rsplit(' ').next().expect("a number").to_owned()
}

#[test]
fn a_loss_is_told_by_everyone_until_it_is_acknowledged() {
    const LOST: &str = "acknowledged records of";
    let (_directory, data) = stored();
    let ask = |arguments: &[&str]| {
        let output = spanbridge(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let of_data = ["--data-dir", text(&data)];
    let ls = [&["ls"][..], &of_data].concat();
    let export = [&["export", "--to", "reflex"][..], &of_data].concat();
    let call = [&of_data[..], &ANY_PORTS].concat();
    assert_eq!(ask(&export).0, Some(0));
    // The index covers more than the log holds: whoever opens it first makes another one.
    let last = last_segment(&data);
    let whole = fs::read(&last).expect("reads");
    fs::write(&last, &whole[..whole.len() / 2]).expect("cuts");
    for _ in 0..2 {
        let (status, said) = ask(&ls);
        assert!(
            status == Some(0) && said.contains(LOST) && said.contains("doctor --acknowledge"),
            "{said}"
        );
    }
    let (status, said) = ask(&export);
    assert!(status == Some(1) && said.contains("of the store are lost"), "{status:?} {said}");
    let (status, findings) = doctor(&call, &[]);
    assert_eq!(status, 1);
    expect(&findings, "log", "wrong", LOST);
    for _ in 0..2 {
        let said = said_at_the_start(&data);
        assert!(said.contains(LOST), "{said}");
    }
    // Beside a server, too.
    let serving = Serving::start(&data);
    let count: u64 = lost_records(&serving).parse().expect("a number");
    assert!(count > 0);
    let of_server = ["export", "--to", "reflex", "--server", &serving.api];
    let (status, said) = ask(&of_server);
    assert!(
        status == Some(1) && said.contains(&format!("{count} acknowledged record")),
        "{said}"
    );
    let (status, findings) = doctor(&[&call[..], &["--acknowledge", "--only", "log"]].concat(), &[]);
    assert_eq!(status, 0, "{findings:#?}");
    expect(&findings, "log", "ok", "acknowledged: segment");
    assert_eq!(lost_records(&serving), "0");
    assert_eq!(ask(&of_server).0, Some(0));
    serving.stop();
    assert_eq!(said_at_the_start(&data), "");
    assert_eq!((ask(&ls), ask(&export).0), ((Some(0), String::new()), Some(0)));
    assert_eq!(doctor(&call, &[]).0, 0);
}

/// A segment in the middle: damaged, cut, or gone; or the last one. The index knows until it is rebuilt.
#[test]
fn a_loss_stays_told_after_reindex() {
    let break_it: [fn(&Path); 4] = [
        |path| {
            let mut bytes = fs::read(path).expect("reads");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).expect("writes");
        },
        |path| {
            let bytes = fs::read(path).expect("reads");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("writes");
        },
        |path| fs::remove_file(path).expect("removes"),
        |path| fs::remove_file(last_segment(path.parent().expect("a directory"))).expect("removes"),
    ];
    for (number, break_it) in break_it.into_iter().enumerate() {
        let (_directory, data) = stored();
        let call = [&["--data-dir", text(&data)][..], &ANY_PORTS].concat();
        break_it(&data.join("0000000002.log"));
        let wrong = || {
            let (status, findings) = doctor(&call, &[]);
            let told = |check: &str| {
                findings
                    .iter()
                    .any(|finding| finding["check"] == check && finding["status"] == "wrong")
            };
            (status, told("log") || told("index"))
        };
        assert_eq!(wrong(), (1, true), "{number}");
        let reindexed = spanbridge(&["reindex", "--data-dir", text(&data)]);
        let said = String::from_utf8_lossy(&reindexed.stderr).into_owned();
        assert!(said.contains("acknowledged records of"), "{number}: {said}");
        assert_eq!(wrong(), (1, true), "{number}");
        assert_eq!(doctor(&[&call[..], &["--acknowledge"]].concat(), &[]).0, 0, "{number}");
        assert_eq!(wrong(), (0, false), "{number}");
        let listed = spanbridge(&["ls", "--data-dir", text(&data)]);
        assert_eq!(String::from_utf8_lossy(&listed.stderr), "", "{number}");
    }
}

/// One bit of what the index says of a trace, wherever that stands in the file.
#[test]
fn a_flipped_bit_in_the_index_is_found() {
    let (_directory, data) = stored();
    let call = [&["--data-dir", text(&data), "--only", "index"][..], &ANY_PORTS].concat();
    let (status, findings) = doctor(&call, &[]);
    assert_eq!(status, 0, "{findings:#?}");
    expect(&findings, "index", "ok", &format!("intact, {TRACES} traces"));
    let file = data.join("index.sqlite");
    let whole = fs::read(&file).expect("reads");
    for trace in [1, 17, TRACES] {
        let id = span(trace, 1).trace_id;
        let is_id = |(_, bytes): &(usize, &[u8])| bytes == id.bytes();
        let places: Vec<usize> = whole.windows(16).enumerate().filter(is_id).map(|(at, _)| at).collect();
        let found = |behind: usize| {
            let is_found = |at: &&usize| {
                let mut bytes = whole.clone();
                bytes[**at + behind] ^= 4;
                fs::write(&file, &bytes).expect("writes");
                doctor(&call, &[]).0 == 1
            };
            places.iter().filter(is_found).count()
        };
        // In its row, and where that is found by its id. SQLite leaves copies behind, which nobody reads.
        assert!(found(0) >= 2 && found(15) >= 2, "trace {trace}");
        // Behind the id in the row: its name, its times.
        for behind in [17, 24, 30] {
            assert!(found(behind) >= 1, "trace {trace}, {behind} bytes behind its id");
        }
    }
    assert!(spanbridge(&["reindex", "--data-dir", text(&data)]).status.success());
    assert_eq!(doctor(&call, &[]).0, 0);
}

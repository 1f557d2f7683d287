//! A store is copied into another, goes on where it was interrupted, and says whether both are the same.

use std::path::Path;

use spanbridge::otlp::{encode, scan};
use spanbridge::span::Signal;
use spanbridge::store::{Append as _, Chunk, Local, OpenOptions, Read as _};

use super::text;
use crate::requests::span;
use crate::serving::spanbridge;

fn options(data: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: vec!["session.id".to_owned()],
        ..OpenOptions::new(data)
    }
}

fn fill(data: &Path, traces: std::ops::RangeInclusive<u8>) {
    let store = Local::open(&options(data)).expect("opens").store;
    for trace in traces {
        for id in 1..=2 {
            let bytes = encode::traces(&[span(trace, id)]);
            let scanned = scan::scan(&bytes, Signal::Traces, &["session.id"]).expect("a request");
            store.append(Chunk::of_request(scanned, bytes)).expect("appends");
        }
    }
}

fn copy(from: &Path, to: &Path) -> (Option<i32>, String) {
    let output = spanbridge(&["store", "copy", "--from", text(from), "--to", text(to)]);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_copy_is_the_same_and_a_second_one_copies_what_is_new() {
    let directory = tempfile::tempdir().expect("a directory");
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fill(&from, 1..=20);
    let (code, said) = copy(&from, &to);
    assert!(code == Some(0) && said.contains("40 items copied of 20 traces"), "{said}");
    assert!(said.contains("both have the same 20 traces with 40 spans"), "{said}");
    fill(&from, 21..=22);
    let (code, said) = copy(&from, &to);
    assert!(code == Some(0) && said.contains("4 items copied of 22 traces"), "{said}");
    assert!(said.contains("both have the same 22 traces with 44 spans"), "{said}");
    // What is there alone is no difference; what is different is.
    fill(&to, 23..=23);
    assert_eq!(copy(&from, &to).0, Some(0));
    {
        let store = Local::open(&options(&to)).expect("opens").store;
        let bytes = encode::traces(&[span(5, 9)]);
        let scanned = scan::scan(&bytes, Signal::Traces, &["session.id"]).expect("a request");
        store.append(Chunk::of_request(scanned, bytes)).expect("appends");
    }
    let (code, said) = copy(&from, &to);
    assert!(code == Some(1) && said.contains("1 of 22 traces differ"), "{said}");
    let id = span(5, 1).trace_id;
    assert!(said.contains(&format!("trace {id} differs")), "{said}");
    let [from, to] = [&from, &to].map(|data| Local::open(&options(data)).expect("opens").store);
    let id = span(7, 1).trace_id;
    let spans = |store: &Local| store.read_trace(id).expect("reads").expect("is there").spans;
    assert_eq!(spans(&from), spans(&to));
}

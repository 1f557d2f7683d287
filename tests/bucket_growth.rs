//! Commands that write to a bucket: eight times the traces are about eight times the work.
#![expect(clippy::expect_used, reason = "a test")]

use spanbridge::otlp::encode;
use spanbridge::span::TraceId;

use crate::measure::{Work, all_grow_evenly};
use crate::shapes::{CHAT, answer, span};

/// A trace for each item.
fn traces(count: u64) -> Vec<u8> {
    let of = |number: u64| {
        let messages = answer(&format!("answer {number}"));
        let mut span = span(number, None, &[CHAT, ("gen_ai.output.messages", &messages)]);
        span.trace_id = TraceId::from_bytes(&(u128::from(number) + 1).to_be_bytes()).expect("an id");
        span
    };
    encode::traces(&(0..count).map(of).collect::<Vec<_>>())
}

#[test]
fn copying_adopting_merging_and_exporting() {
    all_grow_evenly(|count| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
        let (file, data, beside) = (path("spans"), path("data"), path("beside"));
        let (store, set) = (format!("file://{}", path("bucket")), format!("file://{}", path("set")));
        std::fs::write(&file, traces(count / 4)).expect("writes");
        let mut works = Vec::new();
        let mut run = |arguments: &[&str]| works.push(Work::of_command(arguments.join(" "), arguments, 0));
        run(&["import", "--data-dir", &data, &file]);
        for writer in ["one", "two"] {
            run(&["store", "copy", "--from", &data, "--to", &store, "--writer", writer]);
            run(&["store", "adopt", writer, "--force", "--data-dir", &beside, "--store", &store]);
        }
        run(&["store", "compact", "--store", &store]);
        run(&["store", "compact", "--store", &store]);
        run(&["export", "--store", &store, "--to", "messages", "--jsonl", "--output", &set]);
        run(&["export", "--store", &store, "--to", "messages", "--output", &format!("{set}/each")]);
        works
    });
}

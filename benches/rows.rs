//! How fast traces become rows of training data: 10,000 recorded traces, from the bytes of an export request to the JSON text of the
//! rows, on one core (`cargo bench --bench rows`). The aim is 100 MB of spans a second. Each recording of the corpus that is named
//! here is copied under new trace ids; medians of rounds, CPU of one thread. A word after `--` takes only the format with this name.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::hint::black_box;
use std::path::Path;

use spanbridge::documents::Vocabulary;
use spanbridge::formats::{Options, Sequence, by_id};
use spanbridge::otlp::{decode, encode};
use spanbridge::span::{Span, TraceId};
use support::table::Table;
use support::{cpu_seconds, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TRACES: usize = 10_000;
const ROUNDS: usize = 5;
const FORMATS: [&str; 4] = ["messages", "deepeval", "adk", "verifiers"];

/// Recordings of several clients, with calls of tools.
const CASES: [&str; 4] = ["oi-langchain-subagents-par", "adk-tools", "otel-agentsv2-tools", "pyd-retryprompt"];

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let bodies = copies(&recorded());
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let mut table = Table::new("rows", &["format", "MB of spans per CPU second", "MB of text"]);
    for id in FORMATS.into_iter().filter(|id| only.as_ref().is_none_or(|only| only == id)) {
        let format = by_id(id).expect("a format");
        let (mut rates, mut written) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            written = 0;
            let begin = cpu_seconds();
            for body in &bodies {
                let runs = Vocabulary::built_in().runs(decode::traces(body).unwrap().items, Vec::new());
                let mut text = Vec::new();
                format.write(&runs, &Options::default(), Sequence::Lines, &mut text).unwrap();
                written += black_box(text).len();
            }
            rates.push(bytes as f64 / 1e6 / (cpu_seconds() - begin));
        }
        assert!(written > 0, "no rows");
        table.row(&[
            id.to_owned(),
            format!("{:.0}", median(&rates)),
            format!("{:.0}", written as f64 / 1e6),
        ]);
    }
    if only.is_none() {
        let megabytes = bytes as f64 / 1e6;
        table.finish(&format!(
            "{} traces, {megabytes:.0} MB of spans, medians of {ROUNDS} rounds",
            bodies.len()
        ));
    }
}

/// The spans of each trace that was recorded.
fn recorded() -> Vec<Vec<Span>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut traces: std::collections::BTreeMap<(usize, TraceId), Vec<Span>> = std::collections::BTreeMap::new();
    for (number, case) in CASES.iter().enumerate() {
        for entry in std::fs::read_dir(corpus.join(case)).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(".traces.bin") {
                for span in decode::traces(&std::fs::read(path).unwrap()).unwrap().items {
                    traces.entry((number, span.trace_id)).or_default().push(span);
                }
            }
        }
    }
    traces.into_values().collect()
}

/// As many traces as the benchmark names, each an export request of its own.
fn copies(recorded: &[Vec<Span>]) -> Vec<Vec<u8>> {
    let copy = |number: usize| {
        let mut spans = recorded.iter().cycle().nth(number % recorded.len()).unwrap().clone();
        let id = TraceId::from_hex(&format!("{:032x}", number + 1)).unwrap();
        spans.iter_mut().for_each(|span| span.trace_id = id);
        encode::traces(&spans)
    };
    (0..TRACES).map(copy).collect()
}

//! What a document costs: from decoded spans to the document and to its JSON text, as parts of prost's full decoding of the
//! same spans (`cargo bench --bench assemble`). CPU of one thread, medians of interleaved rounds, spans of 4 KB.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use spanbridge::dialect::Registry;
use spanbridge::formats::contextforge::ContextForge;
use spanbridge::formats::invariant::Invariant;
use spanbridge::formats::openreward::OpenReward;
use spanbridge::formats::reflex::Reflex;
use spanbridge::formats::synth::Synth;
use spanbridge::formats::{Format, Options};
use spanbridge::otlp::decode;
use spanbridge::run::{self, Run};
use spanbridge::span::{Span, TraceId};
use support::{bodies, build, median};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 7;

fn main() {
    let bodies = bodies(&build(), "typical", 16);
    let registry = Registry::built_in();
    // The ids are the same in every body: its own number makes a trace.
    let mut traces: BTreeMap<(usize, TraceId), Vec<Span>> = BTreeMap::new();
    for (number, body) in bodies.iter().enumerate() {
        for span in decode::traces(body).unwrap().items {
            traces.entry((number, span.trace_id)).or_default().push(span);
        }
    }
    let spans: usize = traces.values().map(Vec::len).sum();
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    println!(
        "{spans} spans in {} traces, {} bytes each; {ROUNDS} rounds, medians",
        traces.len(),
        bytes / spans
    );
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut note = |stage: &str, seconds: f64| times.entry(stage.to_owned()).or_default().push(seconds * 1e6 / spans as f64);
    for _ in 0..ROUNDS {
        let (seconds, _) = timed(|| {
            for body in &bodies {
                black_box(ExportTraceServiceRequest::decode(body.as_slice()).unwrap());
            }
        });
        note("prost", seconds);
        let (seconds, _) = timed(|| {
            for body in &bodies {
                black_box(decode::traces(body).unwrap());
            }
        });
        note("decoded", seconds);
        // The copies are made before the clock starts, and dropped after it stops.
        let copies: Vec<Vec<Span>> = traces.values().cloned().collect();
        let (run_seconds, runs) = timed(|| {
            let of = |spans| run::from_batch(spans, Vec::new(), &registry);
            copies.into_iter().map(of).collect::<Vec<Vec<Run>>>()
        });
        note("run", run_seconds);
        let mut format = |id: &str, (document, text): (f64, f64)| {
            note(&format!("{id} document"), run_seconds + document);
            note(&format!("{id} text"), run_seconds + document + text);
        };
        format(ContextForge::ID, cost::<ContextForge>(&runs));
        format(Invariant::ID, cost::<Invariant>(&runs));
        format(OpenReward::ID, cost::<OpenReward>(&runs));
        format(Reflex::ID, cost::<Reflex>(&runs));
        format(Synth::ID, cost::<Synth>(&runs));
    }
    let prost = times.get("prost").map_or(1.0, |of| median(of));
    println!("\n| stage | us a span | of prost |\n|---|---:|---:|");
    for (stage, of) in &times {
        println!("| {stage} | {:.1} | {:.2} |", median(of), median(of) / prost);
    }
}

/// Seconds for the documents of all traces, and for their texts.
fn cost<F: Format>(runs: &[Vec<Run>]) -> (f64, f64) {
    let (document, assembled) = timed(|| runs.iter().map(|runs| F::assemble(runs, &Options::default())).collect::<Vec<_>>());
    let (text, texts) = timed(|| {
        let documents = assembled.iter().flatten().map(|assembled| &assembled.document);
        documents
            .map(|document| serde_json::to_string(document).unwrap())
            .collect::<Vec<_>>()
    });
    drop(texts);
    (document, text)
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = Instant::now();
    let value = work();
    (begin.elapsed().as_secs_f64(), value)
}

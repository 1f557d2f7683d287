//! What a document costs: from decoded spans to the document and to its JSON text, as parts of prost's full decoding of the
//! same spans (`cargo bench --bench assemble`). CPU of one thread, medians of interleaved rounds, spans of 4 KB. Dropping what
//! was made is counted, for prost too.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;

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

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 15;

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
        let mut stage = |name: &str, work: &dyn Fn(Vec<Run>)| {
            // The copies are made before the clock starts. One trace after the other, as an export does.
            let copies: Vec<Vec<Span>> = traces.values().cloned().collect();
            let all = || {
                copies
                    .into_iter()
                    .for_each(|spans| work(run::from_batch(spans, Vec::new(), &registry)))
            };
            note(name, timed(all).0);
        };
        stage("run", &|runs| drop(black_box(runs)));
        cost::<ContextForge>(&mut stage);
        cost::<Invariant>(&mut stage);
        cost::<OpenReward>(&mut stage);
        cost::<Reflex>(&mut stage);
        cost::<Synth>(&mut stage);
    }
    let prost = times.get("prost").cloned().unwrap_or_default();
    println!("\n| stage | us a span | of prost |\n|---|---:|---:|");
    for (stage, of) in &times {
        let parts: Vec<f64> = of.iter().zip(&prost).map(|(of, prost)| of / prost).collect();
        println!("| {stage} | {:.1} | {:.2} |", median(of), median(&parts));
    }
}

fn cost<F: Format>(stage: &mut impl FnMut(&str, &dyn Fn(Vec<Run>))) {
    stage(&format!("{} document", F::ID), &|runs| {
        drop(black_box(F::assemble(&runs, &Options::default())));
    });
    stage(&format!("{} text", F::ID), &|runs| {
        for assembled in F::assemble(&runs, &Options::default()) {
            drop(black_box(serde_json::to_string(&assembled.document).unwrap()));
        }
    });
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = cpu_seconds();
    let value = work();
    (cpu_seconds() - begin, value)
}

/// What this thread has used.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

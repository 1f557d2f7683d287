//! What a document costs: from decoded spans to the document and to its JSON text, as parts of prost's full decoding of the
//! same spans (`cargo bench --bench assemble`). CPU of one thread, one trace after the other, medians of interleaved rounds, spans
//! of 4 KB. Dropping what was made is counted, for prost too. A word after `--` (`run`, `reflex`) takes only the stages with it
//! in their name. `floor` does nothing but copy every value of every span, and open those that are JSON; `cloned` copies the
//! finished document, as serde_json holds it.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use serde_json::Value;
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{AnyFormat, FORMATS, Layout, Options};
use spanbridge::otlp::{decode, encode};
use spanbridge::run::Run;
use spanbridge::span::{AnyValue, Span, TraceId};
use support::table::Table;
use support::{bodies, build, cpu_seconds, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 15;

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let bodies = bodies(&build(), "typical", 16);
    // The ids are the same in every body: its own number makes a trace.
    let mut traces: BTreeMap<(usize, TraceId), Vec<Span>> = BTreeMap::new();
    for (number, body) in bodies.iter().enumerate() {
        for span in decode::traces(body).unwrap().items {
            traces.entry((number, span.trace_id)).or_default().push(span);
        }
    }
    let bodies: Vec<Vec<u8>> = traces.values().map(|spans| encode::traces(spans)).collect();
    let spans: usize = traces.values().map(Vec::len).sum();
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut stage = |name: &str, seconds: &dyn Fn(&[u8]) -> f64| {
            if name == "prost" || only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
                let all: f64 = bodies.iter().map(|body| seconds(body)).sum();
                times.entry(name.to_owned()).or_default().push(all * 1e6 / spans as f64);
            }
        };
        // What a stage begins with is made just before its clock starts, as in an export: nobody reads from cold memory.
        stage("prost", &|body| {
            let body = body.to_vec();
            timed(|| drop(black_box(ExportTraceServiceRequest::decode(body.as_slice()).unwrap())))
        });
        stage("decoded", &|body| {
            let body = body.to_vec();
            timed(|| drop(black_box(decode::traces(&body).unwrap())))
        });
        stage("floor", &|body| {
            let spans = decode::traces(body).unwrap().items;
            timed(|| {
                drop(black_box(spans.iter().map(values).collect::<Vec<_>>()));
                drop(spans);
            })
        });
        for format in FORMATS {
            stage(&format!("{} cloned", format.id), &|body| {
                let runs = Vocabulary::built_in().runs(decode::traces(body).unwrap().items, Vec::new());
                let documents = format.assemble(&runs, &Options::default(), Layout::Compact);
                let parsed = documents.iter().map(|made| serde_json::from_str(&made.document).unwrap());
                let parsed: Vec<Value> = parsed.collect();
                timed(|| drop(black_box(parsed.clone())))
            });
        }
        let mut of_spans = |name: &str, work: &dyn Fn(Vec<Run>)| {
            stage(name, &|body| {
                let spans = decode::traces(body).unwrap().items;
                timed(|| work(Vocabulary::built_in().runs(spans, Vec::new())))
            });
        };
        of_spans("run", &|runs| drop(black_box(runs)));
        for format in FORMATS {
            cost(format, &mut of_spans);
        }
    }
    let prost = times.get("prost").cloned().unwrap_or_default();
    let mut table = Table::new("assemble", &["stage", "µs per span", "of prost"]);
    for (stage, of) in &times {
        let parts: Vec<f64> = of.iter().zip(&prost).map(|(of, prost)| of / prost).collect();
        table.row(&[stage.clone(), format!("{:.1}", median(of)), format!("{:.2}", median(&parts))]);
    }
    if only.is_none() {
        table.finish(&format!("{spans} spans in {} traces, medians of {ROUNDS} rounds", bodies.len()));
    }
}

/// The least that a document of this span costs with the libraries that make it: each text copied once, or opened where it is JSON.
fn values(span: &Span) -> Vec<Value> {
    let value = |value: &AnyValue| match value {
        AnyValue::String(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap(),
        other => other.to_json(),
    };
    span.attributes.iter().map(|(_, have)| value(have)).collect()
}

fn cost(format: &AnyFormat, stage: &mut impl FnMut(&str, &dyn Fn(Vec<Run>))) {
    stage(&format!("{} document", format.id), &|runs| {
        drop(black_box(format.documents(&runs, &Options::default())));
    });
    stage(&format!("{} text", format.id), &|runs| {
        drop(black_box(format.assemble(&runs, &Options::default(), Layout::Compact)));
    });
}

/// CPU seconds.
fn timed(work: impl FnOnce()) -> f64 {
    let begin = cpu_seconds();
    work();
    cpu_seconds() - begin
}

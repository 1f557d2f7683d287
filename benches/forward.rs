//! What forwarding costs, in one run (`cargo bench --bench forward --features layer-grpc`).
//!
//! 1. From the log to a server that drops what it gets, over gRPC and HTTP, against `opentelemetry-otlp`'s own exporter with the same
//!    spans in batches of 512: spans a second, and CPU seconds a million spans of the sending process.
//! 2. Receiving at full load while three destinations are fed, one of which is down, against receiving alone.
//!
//! The servers and the load are programs in `tests/loadgen`, which this builds. `cargo bench --bench forward --features layer-grpc --
//! [ROUNDS]`.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::borrow::Cow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use spanbridge::otlp::decode;
use spanbridge::span::{AnyValue, Span};
use support::server::Server;
use support::table::Table;
use support::{Programs, bodies, build, median};

const SPANS: u64 = 60_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds: usize = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    let programs = build();
    let mut figures: Vec<(&str, Vec<[f64; 2]>)> = ["bridge, gRPC", "bridge, HTTP", "opentelemetry-otlp, gRPC"]
        .map(|name| (name, Vec::new()))
        .to_vec();
    for _ in 0..rounds {
        for (name, list) in &mut figures {
            list.push(match *name {
                "bridge, gRPC" => from_log(&programs, "grpc"),
                "bridge, HTTP" => from_log(&programs, "http/protobuf"),
                _ => by_exporter(&programs),
            });
        }
    }
    let mut table = Table::new("forward", &["sender", "spans/s", "CPU s per million spans"]);
    for (name, list) in &figures {
        let column = |at: usize| median(&list.iter().map(|pair| pair.get(at).copied().unwrap()).collect::<Vec<f64>>());
        table.row(&[(*name).to_owned(), format!("{:.0}", column(0)), format!("{:.2}", column(1))]);
    }
    table.finish(&format!("{SPANS} spans of 4 KB, medians of {rounds} rounds"));
    let mut alone = Vec::new();
    let mut fed = Vec::new();
    for _ in 0..rounds {
        alone.push(received(&programs, &[]));
        let sinks = [sink(&programs), sink(&programs)];
        let [a, b] = sinks.each_ref().map(|sink| sink.http);
        let destinations = [a, b, 1].map(|port| format!("--forward=to-{port}=http://127.0.0.1:{port}"));
        fed.push(received(&programs, &destinations));
    }
    let (alone, fed) = (median(&alone), median(&fed));
    let mut table = Table::new("forward beside receiving", &["received", "spans/s", "of alone"]);
    table.row(&["alone".to_owned(), format!("{alone:.0}"), "1".to_owned()]);
    let beside = "while three destinations are fed, one of which is down".to_owned();
    table.row(&[beside, format!("{fed:.0}"), format!("{:.2}", fed / alone)]);
    table.finish(&format!("Medians of {rounds} rounds"));
}

/// A server that drops what it gets.
fn sink(programs: &Programs) -> Server {
    Server::start(&programs.floor, |_, grpc, http| {
        vec![
            "--mode=drop".into(),
            format!("--grpc=127.0.0.1:{grpc}"),
            format!("--http=127.0.0.1:{http}"),
        ]
    })
}

fn load(programs: &Programs, bridge: &Server, spans: u64) -> f64 {
    let output = Command::new(&programs.loadgen)
        .args([format!("--target=http://127.0.0.1:{}", bridge.http), format!("--spans={spans}")])
        .output()
        .unwrap();
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    line.pointer("/spans_per_s").and_then(serde_json::Value::as_f64).unwrap()
}

fn received(programs: &Programs, further: &[String]) -> f64 {
    let bridge = Server::bridge(further);
    load(programs, &bridge, SPANS * 4)
}

/// Spans a second and CPU seconds a million spans of a bridge that sends what it has stored.
fn from_log(programs: &Programs, protocol: &str) -> [f64; 2] {
    let bridge = Server::bridge(&[]);
    load(programs, &bridge, SPANS);
    let directory = bridge.stop();
    let sink = sink(programs);
    let port = if protocol == "grpc" { sink.grpc } else { sink.http };
    let config = directory.path().join("forward.toml");
    let text =
        format!("[[forward]]\nname = \"null\"\nurl = \"http://127.0.0.1:{port}\"\nprotocol = \"{protocol}\"\ncompression = \"none\"\n");
    std::fs::write(&config, text).unwrap();
    let begin = Instant::now();
    let program = Path::new(env!("CARGO_BIN_EXE_spanbridge"));
    let bridge = Server::start(program, |_, grpc, http| {
        vec![
            "serve".into(),
            format!("--config={}", config.display()),
            format!("--data-dir={}", directory.path().join("data").display()),
            format!("--otlp-grpc=127.0.0.1:{grpc}"),
            format!("--otlp-http=127.0.0.1:{http}"),
            "--http=127.0.0.1:0".into(),
        ]
    });
    let progress = directory.path().join("data/forward/null.progress.json");
    while sent(&progress) < SPANS {
        assert!(begin.elapsed() < Duration::from_secs(120), "it does not send");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = begin.elapsed().as_secs_f64();
    let (cpu, _) = bridge.usage();
    [SPANS as f64 / seconds, cpu / SPANS as f64 * 1e6]
}

fn sent(progress: &Path) -> u64 {
    let text = std::fs::read(progress).unwrap_or_default();
    let read: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    read.pointer("/sent_spans").and_then(serde_json::Value::as_u64).unwrap_or(0)
}

/// The same of the exporter that Rust programs use, called with batches that are made already.
fn by_exporter(programs: &Programs) -> [f64; 2] {
    let bodies = bodies(programs, "typical", 128);
    let spans = bodies.iter().flat_map(|body| decode::traces(body).unwrap().items).map(span_data);
    let spans: Vec<SpanData> = spans.collect();
    let mut batches: Vec<Vec<SpanData>> = spans.chunks(512).map(<[SpanData]>::to_vec).collect();
    let count = spans.len() as f64;
    drop(spans);
    let sink = sink(programs);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = format!("http://127.0.0.1:{}", sink.grpc);
    runtime.block_on(async move {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(url)
            .build()
            .unwrap();
        let (begin, cpu) = (Instant::now(), support::cpu_seconds());
        for batch in batches.drain(..) {
            exporter.export(batch).await.unwrap();
        }
        let seconds = begin.elapsed().as_secs_f64();
        [count / seconds, (support::cpu_seconds() - cpu) / count * 1e6]
    })
}

fn span_data(span: Span) -> SpanData {
    let context = SpanContext::new(
        TraceId::from_bytes(*span.trace_id.bytes()),
        SpanId::from_bytes(*span.span_id.bytes()),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    let time = |nanos: u64| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
    let value = |value: &AnyValue| match value {
        AnyValue::String(text) => Value::from(text.clone()),
        AnyValue::Int(number) => Value::from(*number),
        AnyValue::Double(number) => Value::from(*number),
        AnyValue::Bool(flag) => Value::from(*flag),
        other => Value::from(other.to_json().to_string()),
    };
    SpanData {
        span_context: context,
        parent_span_id: span.parent.map_or(SpanId::INVALID, |id| SpanId::from_bytes(*id.bytes())),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        start_time: time(span.start.0),
        end_time: time(span.end.0),
        attributes: span
            .attributes
            .iter()
            .map(|(key, of)| KeyValue::new(key.clone(), value(of)))
            .collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::builder(span.scope.name.clone()).build(),
        name: Cow::Owned(span.name),
    }
}

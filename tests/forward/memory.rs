//! What a translation takes is bounded, over all destinations, and a span that cannot be translated does not stop the others.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use spanbridge::otlp::encode;
use spanbridge::span::{AnyValue, Span};

use super::serving::{Serving, spanbridge};
use super::sink::{Answer, Came, Sink};
use super::support::{spans, until};

const MB: u64 = 1_000_000;

/// A `[[forward]]` table for each sink, each with another dialect.
fn config(directory: &Path, sinks: &[Sink], more: &str) -> String {
    let tables = ["openinference", "genai", "both"].into_iter().zip(sinks).map(|(dialect, sink)| {
        let url = sink.url();
        format!("[[forward]]\nname = \"{dialect}\"\nurl = \"{url}\"\ndialect = \"{dialect}\"\nmax_backoff_seconds = 0.1\n{more}\n")
    });
    let path = directory.join("spanbridge.toml");
    fs::write(&path, tables.collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn serve(directory: &Path, sinks: &[Sink], more: &str) -> Serving {
    let config = config(directory, sinks, more);
    Serving::start_with(&directory.join("data"), &["--config", &config])
}

fn call(number: u64) -> Span {
    let mut span = spans(number, 0..1).remove(0);
    span.attributes = [("gen_ai.operation.name".to_owned(), AnyValue::from("chat"))].into_iter().collect();
    span
}

fn with(mut span: Span, key: &str, value: impl Into<AnyValue>) -> Span {
    span.attributes.push(key, value);
    span
}

/// Sends spans with gzip; their bytes before compression.
fn send(bridge: &Serving, spans: &[Span]) -> u64 {
    let body = encode::traces(spans);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&body).unwrap();
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let request = agent
        .post(format!("{}/v1/traces", bridge.http))
        .header("content-type", "application/x-protobuf")
        .header("content-encoding", "gzip");
    assert_eq!(request.send(&encoder.finish().unwrap()[..]).unwrap().status(), 200);
    body.len() as u64
}

fn metric(bridge: &Serving, name: &str, destination: &str) -> u64 {
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let mut answer = agent.get(format!("{}/metrics", bridge.api)).call().unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let start = format!("{name}{{exporter=\"{destination}\",project=\"default/default\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("no {start} in {text}")).parse().unwrap()
}

/// Accepts over HTTP and gRPC.
fn accept(came: &Came) -> Answer {
    let grpc = vec![("content-type", "application/grpc".to_owned()), ("grpc-status", "0".to_owned())];
    match came.headers.get("content-type").is_some_and(|value| value == "application/grpc") {
        true => Answer::Status(200, grpc, Vec::new()),
        false => Answer::ok(),
    }
}

/// Small spans that become large when they are read, with the number of destinations.
async fn stays_within(name: &str, hostile: Span, destinations: usize, more: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut sinks = Vec::new();
    for _ in 0..destinations {
        sinks.push(Sink::start(accept).await);
    }
    let bridge = serve(directory.path(), &sinks, more);
    bridge.forget_peak_memory();
    let before = bridge.peak_memory().unwrap();
    let bytes = tokio::task::block_in_place(|| send(&bridge, &[hostile]));
    tokio::task::block_in_place(|| send(&bridge, &[with(call(1), "gen_ai.request.model", "m")]));
    for sink in &sinks {
        sink.wait_for(2).await;
    }
    let came = sinks[0].spans();
    let translated = came.iter().find(|span| span.trace_id == call(1).trace_id).unwrap();
    assert!(translated.attributes.iter().count() > 2, "{name}: a span behind it is translated");
    let grown = bridge.peak_memory().unwrap() - before;
    assert!(
        grown < 8 * bytes + 64 * MB,
        "{name}, {destinations} destinations: {} MB for {} MB",
        grown / MB,
        bytes / MB
    );
    bridge.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn translating_takes_a_share_of_the_memory_whatever_a_span_holds() {
    for (name, value) in [
        ("empty values", AnyValue::Array(vec![AnyValue::Empty; 2 << 20])),
        ("objects", AnyValue::from(format!("[{}]", vec!["{}"; 1 << 20].join(",")))),
        ("numbers", AnyValue::from(format!("[{}]", vec!["0"; 1 << 20].join(",")))),
        ("text", AnyValue::from("A few words of a person. ".repeat(200_000))),
    ] {
        for destinations in [1, 3] {
            stays_within(name, with(call(0), "gen_ai.input.messages", value.clone()), destinations, "").await;
        }
    }
    let numbers = AnyValue::from(format!("[{}]", vec!["0"; 1 << 20].join(",")));
    stays_within("over gRPC", with(call(0), "input.value", numbers.clone()), 3, "protocol = \"grpc\"").await;
    stays_within("in JSON", with(call(0), "input.value", numbers), 3, "protocol = \"http/json\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_as_received_is_counted_and_shown() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = serve(directory.path(), std::slice::from_ref(&sink), "");
    let hostile = with(call(0), "gen_ai.input.messages", AnyValue::Array(vec![AnyValue::Empty; 1 << 20]));
    tokio::task::block_in_place(|| send(&bridge, std::slice::from_ref(&hostile)));
    let came = sink.wait_for(1).await;
    assert_eq!(came, [hostile]);
    until("it is counted", || async {
        tokio::task::block_in_place(|| metric(&bridge, "spanbridge_forward_as_received_spans_total", "openinference")) == 1
    })
    .await;
    assert!(bridge.stop().contains("as received"));
    let data = directory.path().join("data");
    let status = spanbridge(&["forward", "status", "--json", "--data-dir", data.to_str().unwrap()]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["as_received_spans"], 1);
}

/// What stands in the file of attempts when the process ended is sent as received, once.
#[tokio::test(flavor = "multi_thread")]
async fn spans_that_ended_the_process_are_sent_as_received_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let refuse = |came: &Came| if came.body.is_empty() { Answer::ok() } else { Answer::status(400) };
    let sink = Sink::start(refuse).await;
    let bridge = serve(directory.path(), std::slice::from_ref(&sink), "");
    for number in 0..2 {
        tokio::task::block_in_place(|| send(&bridge, &[call(number)]));
    }
    let data = directory.path().join("data");
    let letters = || {
        let text = spanbridge(&["forward", "dead-letters", "openinference", "--data-dir", data.to_str().unwrap()]).stdout;
        let lines = String::from_utf8(text).unwrap();
        lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .collect::<Vec<_>>()
    };
    until("both are dead letters", || async { letters().len() == 2 }).await;
    bridge.stop();
    let first = &letters()[0];
    let folder = walk(&data);
    let attempt = format!(
        r#"{{"segment":{},"offset":{},"end_segment":99,"end_offset":0,"alone":true}}"#,
        first["segment"], first["offset"]
    );
    fs::write(folder.join("openinference.attempt.json"), attempt).unwrap();
    let progress = folder.join("openinference.progress.json");
    fs::remove_file(progress).unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = serve(directory.path(), std::slice::from_ref(&sink), "");
    let came = sink.wait_for(2).await;
    assert_eq!(came[0].attributes.iter().count(), 1, "as received");
    assert!(came[1].attributes.iter().count() > 1, "translated");
    bridge.stop();
    assert_eq!(fs::read(folder.join("openinference.attempt.json")).unwrap(), b"");
}

/// The folder with the files of destinations.
fn walk(data: &Path) -> std::path::PathBuf {
    let mut waiting = vec![data.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_name() == "forward" {
                return entry.path();
            }
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    panic!("there is no folder forward");
}

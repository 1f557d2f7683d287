//! Operating it, as the real program: metrics, readiness, the doctor, manual pages and completions, backup and restore.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]
#![cfg(feature = "server")]

mod backup;
mod copy;
mod crowd;
mod doctor;
mod files;
mod losses;
mod metrics;

use crate::serving;

use std::path::Path;
use std::process::Output;

use serving::Serving;
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

pub(crate) fn span(trace: u8, id: u8) -> Span {
    let trace_id = TraceId::from_bytes(&[trace; 16]).expect("an id");
    let span_id = SpanId::from_bytes(&[id; 8]).expect("an id");
    let mut span = Span::new(trace_id, span_id, format!("step {id}"));
    span.start = UnixNanos(1_700_000_000_000_000_000);
    span.end = UnixNanos(1_700_000_001_000_000_000);
    span
}

pub(crate) fn send(serving: &Serving, spans: &[Span]) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = agent.post(format!("{}/v1/traces", serving.http));
    let answer = request.header("content-type", "application/x-protobuf").send(encode::traces(spans));
    answer.expect("an answer").status().as_u16()
}

pub(crate) fn get(serving: &Serving, path: &str) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut answer = agent.get(format!("{}{path}", serving.api)).call().expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

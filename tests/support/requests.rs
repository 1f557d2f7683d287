//! Requests to a server: spans, and questions to its API.
#![expect(clippy::expect_used, reason = "a test")]

use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

use crate::serving::Serving;

/// A span of a second.
pub(crate) fn span(trace: u8, id: u8) -> Span {
    let trace_id = TraceId::from_bytes(&[trace; 16]).expect("an id");
    let span_id = SpanId::from_bytes(&[id; 8]).expect("an id");
    let mut span = Span::new(trace_id, span_id, format!("step {id}"));
    span.start = UnixNanos(1_700_000_000_000_000_000);
    span.end = UnixNanos(1_700_000_001_000_000_000);
    span
}

/// Sends spans over OTLP/HTTP; the status of the answer.
pub(crate) fn send(serving: &Serving, spans: &[Span]) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = agent.post(format!("{}/v1/traces", serving.http));
    let answer = request.header("content-type", "application/x-protobuf").send(encode::traces(spans));
    answer.expect("an answer").status().as_u16()
}

/// What the API answers.
pub(crate) fn get(serving: &Serving, path: &str) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut answer = agent.get(format!("{}{path}", serving.api)).call().expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

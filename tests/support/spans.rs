//! Spans with known ids, and the chunks of them.
#![expect(clippy::expect_used, reason = "a test")]

use std::sync::Arc;

use spanbridge::otlp::{encode, scan};
use spanbridge::span::{AnyValue, LogRecord, Resource, Signal, Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::Chunk;

/// The keys that name a session.
pub(crate) const KEYS: [&str; 2] = ["session.id", "gen_ai.conversation.id"];

pub(crate) fn trace(number: u8) -> TraceId {
    TraceId::from_bytes(&[number; 16]).expect("an id")
}

pub(crate) fn span(of: u8, id: u8) -> Span {
    let mut span = Span::new(trace(of), SpanId::from_bytes(&[id; 8]).expect("an id"), format!("span {id}"));
    span.start = UnixNanos(1_000 * u64::from(of) + u64::from(id));
    span.end = UnixNanos(span.start.0 + 500);
    span.parent = (id > 1).then(|| SpanId::from_bytes(&[1; 8]).expect("an id"));
    span.attributes.push("session.id", format!("session {}", of % 2));
    span
}

/// A span of a service.
#[allow(dead_code, reason = "not every test names services")]
pub(crate) fn of_service(of: u8, id: u8, service: &str) -> Span {
    let attributes = [("service.name".to_owned(), AnyValue::from(service))].into_iter().collect();
    let resource = Resource {
        attributes,
        ..Resource::default()
    };
    Span {
        resource: Arc::new(resource),
        ..span(of, id)
    }
}

/// Spans with a trace each, with ids in no order, one after the other in time.
#[allow(dead_code, reason = "not every test has many")]
pub(crate) fn lone(numbers: std::ops::Range<u32>) -> Vec<Span> {
    let of = |number: u32| {
        let mixed = u64::from(number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let id = mixed.to_be_bytes();
        let mut span = Span::new(
            TraceId::from_bytes(&[id, [7; 8]].concat()).expect("an id"),
            SpanId::from_bytes(&id).expect("an id"),
            "alone",
        );
        span.start = UnixNanos(1_000_000 + u64::from(number));
        span.end = UnixNanos(span.start.0 + 500);
        span
    };
    numbers.map(of).collect()
}

/// A log record of a session, without a trace.
#[allow(dead_code, reason = "not every test has one")]
pub(crate) fn loose(session: &str, number: u64) -> Vec<Chunk> {
    let record = LogRecord {
        trace_id: None,
        span_id: None,
        time: Some(UnixNanos(1_000 + number)),
        observed_time: None,
        severity: 0,
        severity_text: String::new(),
        event_name: "said".to_owned(),
        body: AnyValue::Empty,
        attributes: [("session.id".to_owned(), AnyValue::from(session))].into_iter().collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::default(),
    };
    let bytes = encode::logs(&[record]);
    let scanned = scan::scan(&bytes, Signal::Logs, &KEYS).expect("a request");
    Chunk::of_request(scanned, bytes)
}

pub(crate) fn chunks(spans: &[Span]) -> Vec<Chunk> {
    let bytes = encode::traces(spans);
    let scanned = scan::scan(&bytes, Signal::Traces, &KEYS).expect("a request");
    Chunk::of_request(scanned, bytes)
}

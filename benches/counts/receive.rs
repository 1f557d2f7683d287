//! Requests through the receiver, to a store in memory; and what of them goes on to a destination.

use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Version};
use spanbridge::forward::{Part, Payload};
use spanbridge::otlp::encode;
use spanbridge::receiver::{Limits, Receiver};
use spanbridge::span::{Signal, Span, SpanId, TraceId, UnixNanos, json as otlp_json};
use tokio::runtime::Runtime;

use super::Case;
use super::memory::MemoryStore;

/// So many requests are one case.
const REQUESTS: usize = 2;
const SPANS: u64 = 100;

/// Spans of a text of so many bytes each, so many of them in a trace.
fn spans(bytes: usize, of_trace: u64) -> Vec<Span> {
    let span = |number: u64| {
        let trace = u128::from(number / of_trace + 1).to_be_bytes();
        let id = |number: u64| SpanId::from_bytes(&(number + 1).to_be_bytes());
        let mut span = Span::new(TraceId::from_bytes(&trace).unwrap(), id(number).unwrap(), "chat gpt-4o");
        span.parent = (!number.is_multiple_of(of_trace))
            .then(|| id(number / of_trace * of_trace))
            .flatten();
        span.start = UnixNanos(1_767_261_600_000_000_000 + number * 1_000_000);
        span.end = UnixNanos(span.start.0 + 900_000);
        span.attributes.push("openinference.span.kind", "LLM");
        span.attributes.push("llm.model_name", "gpt-4o");
        span.attributes.push("llm.token_count.prompt", 1234);
        span.attributes.push("session.id", "session-1");
        span.attributes.push("input.value", "It is cold in Oslo. ".repeat(bytes / 20));
        span
    };
    (0..SPANS).map(span).collect()
}

struct Bridge {
    runtime: Runtime,
    receiver: Arc<Receiver>,
}

impl Bridge {
    fn start() -> Rc<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = Arc::new(MemoryStore::default());
        let receiver = Arc::new(Receiver::new(store, vec!["session.id".to_owned()], Limits::default()));
        Rc::new(Self { runtime, receiver })
    }

    fn send(&self, head: &[(&str, &str)], body: &Bytes) {
        let grpc = head.iter().any(|(_, value)| value.starts_with("application/grpc"));
        let path = if grpc {
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        } else {
            "/v1/traces"
        };
        let version = if grpc { Version::HTTP_2 } else { Version::HTTP_11 };
        let request = Request::post(path).version(version);
        let request = head.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Full::new(body.clone())).unwrap();
        let response = self.runtime.block_on(Arc::clone(&self.receiver).handle(request));
        assert_eq!(response.status(), 200);
        let answer = self.runtime.block_on(response.into_body().collect()).unwrap();
        let status = answer.trailers().and_then(|trailers| trailers.get("grpc-status"));
        assert!(status.is_none_or(|status| status == "0"));
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

fn gzip(message: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(message).unwrap();
    writer.finish().unwrap()
}

pub(super) fn cases() -> Vec<Case> {
    const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
    const JSON: (&str, &str) = ("content-type", "application/json");
    const GRPC: (&str, &str) = ("content-type", "application/grpc");
    let bridge = Bridge::start();
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name: &str, head: &'static [(&'static str, &'static str)], body: Vec<u8>| {
        let (bridge, body) = (Rc::clone(&bridge), Bytes::from(body));
        let work = move || (0..REQUESTS).for_each(|_| bridge.send(head, &body));
        cases.push((format!("receive: {name}"), Box::new(work)));
    };
    for (size, bytes) in [("1 KB", 1_000), ("4 KB", 4_000), ("32 KB", 32_000)] {
        let message = encode::traces(&spans(bytes, 20));
        add(&format!("HTTP, {size}"), &[PROTOBUF], message.clone());
        add(&format!("gRPC, {size}"), &[GRPC], framed(&message));
    }
    add("HTTP, 4 KB, one span a trace", &[PROTOBUF], encode::traces(&spans(4_000, 1)));
    let message = encode::traces(&spans(4_000, 20));
    add("HTTP, 4 KB, gzip", &[PROTOBUF, ("content-encoding", "gzip")], gzip(&message));
    let zstd = zstd::encode_all(message.as_slice(), 3).unwrap();
    add("HTTP, 4 KB, zstd", &[PROTOBUF, ("content-encoding", "zstd")], zstd);
    add(
        "HTTP, 4 KB, JSON",
        &[JSON],
        otlp_json::spans(&spans(4_000, 20)).to_string().into_bytes(),
    );
    cases.push((String::from("forward: requests of 1 MB"), Box::new(move || forward(&message))));
    cases
}

/// Messages of a store as requests.
fn forward(message: &[u8]) {
    let parts = (0..REQUESTS).map(|_| Part::new(None, message.to_vec(), Signal::Traces)).collect();
    for payload in Payload::pack(Signal::Traces, parts, 1_000_000) {
        drop(std::hint::black_box(payload.message()));
    }
}

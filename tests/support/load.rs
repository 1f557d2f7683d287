//! Load from several connections, with a memory of what was acknowledged.
#![expect(clippy::expect_used, reason = "a test")]

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use spanbridge::otlp::encode;
use spanbridge::span::{Resource, Span, SpanId, TraceId, UnixNanos};

/// Traces by their id, each as the OTLP message that it is read back as.
pub(crate) type Traces = HashMap<TraceId, Vec<u8>>;

/// A request whose bytes go by its number: one trace, or ten whose large resource is stored once for all of them.
fn request(number: u64) -> (Traces, Vec<u8>) {
    let mut resource = Resource::default();
    let traces = if number % 5 == 4 { 10 } else { 1 };
    if traces > 1 {
        resource.attributes.push("service.description", "of a service ".repeat(500));
    }
    let resource = Arc::new(resource);
    let traces: Vec<_> = (0..traces).map(|trace| spans(number, trace, &resource)).collect();
    let bytes = encode::traces(&traces.concat());
    let traces = traces
        .iter()
        .filter_map(|spans| Some((spans.first()?.trace_id, encode::traces(spans))));
    (traces.collect(), bytes)
}

/// A trace of a few spans.
fn spans(number: u64, trace: u64, resource: &Arc<Resource>) -> Vec<Span> {
    let trace_id = TraceId::from_bytes(&(u128::from(number * 16 + trace) + 1).to_be_bytes()).expect("an id");
    (1..=3u64)
        .map(|id| {
            let mut span = Span::new(
                trace_id,
                SpanId::from_bytes(&id.to_be_bytes()).expect("an id"),
                format!("work {number}"),
            );
            (span.start, span.end) = (UnixNanos(number), UnixNanos(number + id));
            let length = usize::try_from(number * 37 % 9_000).expect("small");
            span.attributes.push("input.value", "a word ".repeat(length / 7));
            span.resource = Arc::clone(resource);
            span
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

pub(crate) type Acknowledged = Arc<Mutex<Traces>>;

/// Sends requests from several connections until told to stop; what is acknowledged goes into the map.
pub(crate) fn load(
    http: &str,
    next: &Arc<AtomicU64>,
    acknowledged: &Acknowledged,
    stop: &Arc<AtomicBool>,
) -> Vec<std::thread::JoinHandle<()>> {
    (0..4)
        .map(|client| {
            let (url, next) = (format!("{http}/v1/traces"), Arc::clone(next));
            let (acknowledged, stop) = (Arc::clone(acknowledged), Arc::clone(stop));
            std::thread::spawn(move || {
                let agent: ureq::Agent = ureq::Agent::config_builder()
                    .http_status_as_error(false)
                    .timeout_global(Some(Duration::from_secs(5)))
                    .proxy(None)
                    .build()
                    .into();
                while !stop.load(Ordering::Relaxed) {
                    let (traces, bytes) = request(next.fetch_add(1, Ordering::Relaxed));
                    let mut post = agent.post(&url).header("content-type", "application/x-protobuf");
                    let body = if client % 2 == 0 {
                        bytes.clone()
                    } else {
                        post = post.header("content-encoding", "gzip");
                        gzip(&bytes)
                    };
                    if post.send(&body[..]).is_ok_and(|response| response.status() == 200) {
                        acknowledged.lock().expect("no panic").extend(traces);
                    }
                }
            })
        })
        .collect()
}

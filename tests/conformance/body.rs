//! Request bodies, and what answers carry.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{Gauge, Metric, ResourceMetrics, ScopeMetrics, metric};
use prost::Message as _;
use spanbridge::otlp::encode;
use spanbridge::span::json as otlp_json;
use spanbridge::span::{AnyValue, LogRecord, Span, SpanId, TraceId, UnixNanos};

/// A trace that no other row has.
pub(crate) fn fresh() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn trace_id(trace: u16) -> TraceId {
    TraceId::from_bytes(&(u128::from(trace) | 0xc0f0 << 112).to_be_bytes()).expect("an id")
}

pub(crate) fn spans(trace: u16, count: u64) -> Vec<Span> {
    let one = |number: u64| {
        let id = SpanId::from_bytes(&number.to_be_bytes()).expect("an id");
        let mut span = Span::new(trace_id(trace), id, format!("span {number}"));
        span.start = UnixNanos(1_767_261_600_000_000_000);
        span.end = UnixNanos(1_767_261_601_000_000_000);
        span
    };
    (1..=count).map(one).collect()
}

pub(crate) fn protobuf(trace: u16) -> Vec<u8> {
    encode::traces(&spans(trace, 2))
}

pub(crate) fn json(trace: u16) -> Vec<u8> {
    otlp_json::spans(&spans(trace, 2)).to_string().into_bytes()
}

/// Spans whose protobuf form has exactly so many bytes.
pub(crate) fn sized(trace: u16, bytes: usize) -> Vec<u8> {
    let with = |length: usize| {
        let mut spans = spans(trace, 2);
        spans.iter_mut().take(1).for_each(|span| {
            span.attributes.push("filler", "x".repeat(length));
        });
        encode::traces(&spans)
    };
    let length = bytes - (with(bytes).len() - bytes);
    let body = with(length);
    assert_eq!(body.len(), bytes);
    body
}

pub(crate) fn records(trace: u16) -> Vec<LogRecord> {
    vec![LogRecord {
        trace_id: Some(trace_id(trace)),
        span_id: SpanId::from_bytes(&[1; 8]),
        time: Some(UnixNanos(1_767_261_600_000_000_000)),
        observed_time: None,
        severity: 9,
        severity_text: String::new(),
        event_name: String::new(),
        body: AnyValue::from("hello"),
        attributes: spanbridge::span::Attributes::default(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::default(),
    }]
}

pub(crate) fn logs(trace: u16) -> Vec<u8> {
    encode::logs(&records(trace))
}

pub(crate) fn metrics() -> Vec<u8> {
    let metric = Metric {
        name: "gen.tokens".to_owned(),
        description: "tokens".to_owned(),
        data: Some(metric::Data::Gauge(Gauge::default())),
        ..Metric::default()
    };
    let scope = ScopeMetrics {
        metrics: vec![metric],
        ..ScopeMetrics::default()
    };
    let resource = ResourceMetrics {
        scope_metrics: vec![scope],
        ..ResourceMetrics::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![resource],
    };
    request.encode_to_vec()
}

/// Two spans of which the first has an id of the wrong length: the length of the field says 15.
pub(crate) fn partly_bad(trace: u16) -> Vec<u8> {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    let mut request = ExportTraceServiceRequest::decode(&*protobuf(trace)).expect("decodes");
    let spans = request
        .resource_spans
        .iter_mut()
        .flat_map(|of| &mut of.scope_spans)
        .flat_map(|of| &mut of.spans);
    spans.take(1).for_each(|span| span.trace_id.truncate(15));
    request.encode_to_vec()
}

/// Spans none of which has an id.
pub(crate) fn all_bad(count: usize) -> Vec<u8> {
    let mut one = vec![0x2a, 4];
    one.extend_from_slice(b"span");
    one.extend_from_slice(&[0x39, 1, 0, 0, 0, 0, 0, 0, 0]);
    let field = |number: u8, inside: &[u8]| {
        let mut bytes = vec![number << 3 | 2];
        prost::encoding::encode_varint(inside.len() as u64, &mut bytes);
        bytes.extend_from_slice(inside);
        bytes
    };
    field(1, &field(2, &field(2, &one).repeat(count)))
}

/// A value in a list in a list, so many levels deep.
pub(crate) fn nested(levels: usize) -> Vec<u8> {
    let field = |number: u8, inside: &[u8]| {
        let mut bytes = vec![number << 3 | 2];
        prost::encoding::encode_varint(inside.len() as u64, &mut bytes);
        bytes.extend_from_slice(inside);
        bytes
    };
    let value = (0..levels).fold(Vec::new(), |value, _| field(5, &field(1, &value)));
    let ids = [field(1, &[1; 16]), field(2, &[1; 8])].concat();
    let attribute = field(9, &field(2, &value));
    field(1, &field(2, &field(2, &[ids, attribute].concat())))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

pub(crate) fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

pub(crate) fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("compresses")
}

pub(crate) fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flag];
    bytes.extend(u32::try_from(message.len()).expect("small").to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Any {
    #[prost(string, tag = "1")]
    pub(crate) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

//! Requests over real sockets: what is taken, what is refused, and how that is said.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::type_complexity, reason = "a test")]
#![cfg(feature = "server")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::metrics::v1::{Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric};
use prost::Message as _;
use serde_json::{Value, json};
use spanbridge::otlp::{decode, encode};
use spanbridge::receiver::Limits;
use spanbridge::server::{Addresses, Config, Server, StartError};
use spanbridge::span::json as otlp_json;
use spanbridge::span::{AnyValue, LogRecord, Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::Error;
use tonic::Code;
use tonic::codec::CompressionEncoding;

/// A bridge in this process, on ports that the system chose.
struct Bridge {
    addresses: Addresses,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    directory: tempfile::TempDir,
}

fn config(directory: &Path, limits: Limits) -> Config {
    Config {
        limits,
        ..Config::new(directory)
    }
}

impl Bridge {
    fn start() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self::configured(|config| config.limits = limits)
    }

    fn configured(change: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (end, ended) = tokio::sync::oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let mut config = config(directory.path(), Limits::default());
        change(&mut config);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async {
                let server = Server::start(&config).await.expect("starts");
                tell.send(server.addresses()).expect("listens");
                server
                    .run(async {
                        let _ = ended.await;
                    })
                    .await;
            });
        });
        Self {
            addresses: told.recv().expect("started"),
            end: Some(end),
            thread: Some(thread),
            directory,
        }
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = agent().post(format!("http://{}{path}", self.addresses.http));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body).expect("an answer"))
    }

    fn get(&self, path: &str) -> Answer {
        answer(
            agent()
                .get(format!("http://{}{path}", self.addresses.api))
                .call()
                .expect("an answer"),
        )
    }

    fn traces(&self) -> Vec<Value> {
        let list: Value = serde_json::from_slice(&self.get("/api/v1/traces").body).expect("JSON");
        list["traces"].as_array().expect("a list").clone()
    }

    fn spans(&self, trace: u8) -> Vec<Span> {
        let answer = self.get(&format!("/api/v1/traces/{}", id(trace)));
        if answer.status == 404 {
            return Vec::new();
        }
        otlp_json::traces(&answer.body).expect("OTLP/JSON").items
    }

    /// The sum of a metric over its labels.
    fn metric(&self, name: &str) -> u64 {
        let text = String::from_utf8(self.get("/metrics").body).expect("text");
        let samples = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        let values: Vec<u64> = samples
            .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("a number"))
            .collect();
        assert!(!values.is_empty(), "{name} in {text}");
        values.iter().sum()
    }

    async fn channel(&self) -> tonic::transport::Channel {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", self.addresses.grpc)).expect("a URL");
        endpoint.connect().await.expect("connects")
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = &self.directory;
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into()
}

struct Answer {
    status: u16,
    headers: ureq::http::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.body_mut().with_config().limit(u64::MAX).read_to_vec().expect("a body"),
    }
}

fn id(trace: u8) -> TraceId {
    TraceId::from_bytes(&[trace; 16]).expect("an id")
}

fn span(trace: u8, span: u8) -> Span {
    let mut span = Span::new(id(trace), SpanId::from_bytes(&[span; 8]).expect("an id"), format!("span {span}"));
    span.start = UnixNanos(1_767_261_600_000_000_000);
    span.end = UnixNanos(1_767_261_601_000_000_000);
    span
}

fn record(trace: u8) -> LogRecord {
    LogRecord {
        trace_id: Some(id(trace)),
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
    }
}

fn metrics() -> ExportMetricsServiceRequest {
    let metric = Metric {
        name: "gen.tokens".to_owned(),
        description: "tokens".to_owned(),
        data: Some(metric::Data::Gauge(Gauge {
            data_points: vec![NumberDataPoint::default()],
        })),
        ..Metric::default()
    };
    let scope = ScopeMetrics {
        metrics: vec![metric],
        ..ScopeMetrics::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![scope],
            ..ResourceMetrics::default()
        }],
    }
}

/// The second of three spans has no trace id.
fn partly_bad() -> Vec<u8> {
    let mut request = ExportTraceServiceRequest::decode(&*encode::traces(&[span(1, 1), span(1, 2), span(1, 3)])).expect("decodes");
    request.resource_spans[0].scope_spans[0].spans[1].trace_id.clear();
    request.encode_to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("compresses")
}

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json");

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[test]
fn what_is_acknowledged_is_found_at_once_in_every_encoding() {
    let bridge = Bridge::start();
    let protobuf = |trace| encode::traces(&[span(trace, 1)]);
    let json = |trace| otlp_json::spans(&[span(trace, 1)]).to_string().into_bytes();
    let gz = ("content-encoding", "gzip");
    let cases: Vec<(&str, Vec<(&str, &str)>, Vec<u8>)> = vec![
        ("/v1/traces", vec![PROTOBUF], protobuf(1)),
        ("/v1/traces", vec![PROTOBUF, gz], gzip(&protobuf(2))),
        ("/v1/traces", vec![PROTOBUF, ("content-encoding", "zstd")], zstd(&protobuf(3))),
        ("/v1/traces", vec![JSON], json(4)),
        (
            "/v1/traces",
            vec![("content-type", "Application/JSON; charset=utf-8"), gz],
            gzip(&json(5)),
        ),
        (
            "/api/public/otel/v1/traces",
            vec![PROTOBUF, ("content-encoding", "identity")],
            protobuf(6),
        ),
        ("/v1/traces/", vec![PROTOBUF], protobuf(7)),
    ];
    for (number, (path, headers, body)) in cases.into_iter().enumerate() {
        let answer = bridge.post(path, &headers, &body);
        assert_eq!(answer.status, 200, "{path} {headers:?}");
        let trace = u8::try_from(number + 1).expect("small");
        assert_eq!(bridge.spans(trace), [span(trace, 1)], "{path} {headers:?}");
        if headers[0] == PROTOBUF {
            assert_eq!((answer.header("content-type"), answer.body.len()), ("application/x-protobuf", 0));
        } else {
            assert_eq!((answer.header("content-type"), &*answer.body), ("application/json", &b"{}"[..]));
        }
    }
    assert_eq!(bridge.traces().len(), 7);
    assert_eq!(bridge.metric("otelcol_receiver_accepted_spans"), 7);
}

#[test]
fn logs_are_kept_with_their_trace_and_metrics_are_counted() {
    let bridge = Bridge::start();
    bridge.post("/v1/logs", &[PROTOBUF], &encode::logs(&[record(1)]));
    assert_eq!(bridge.traces(), [] as [Value; 0], "no spans yet");
    bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[span(1, 1)]));
    let answer = bridge.get(&format!("/api/v1/traces/{}", id(1)));
    let message = otlp_json::Message::parse(&answer.body).expect("OTLP/JSON");
    assert_eq!(message.into_parts().1.items, [record(1)]);
    assert_eq!(bridge.post("/v1/metrics", &[PROTOBUF], &metrics().encode_to_vec()).status, 200);
    let text = br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{}]}},{"name":"b","exponentialHistogram":{"dataPoints":[{"count":"3"}]}},{"name":"c"}]}]}]}"#;
    let answer = bridge.post("/v1/metrics", &[JSON], text);
    assert_eq!((answer.status, &*answer.body), (200, &b"{}"[..]));
    assert_eq!(bridge.metric("otelcol_receiver_accepted_metric_points"), 3);
    assert_eq!(bridge.metric("otelcol_receiver_accepted_log_records"), 1);
}

#[test]
fn an_empty_request_is_a_success() {
    let bridge = Bridge::start();
    for path in ["/v1/traces", "/v1/logs", "/v1/metrics"] {
        assert_eq!(bridge.post(path, &[PROTOBUF], b"").status, 200);
        assert_eq!(bridge.post(path, &[JSON], b"{}").status, 200);
    }
}

/// No timeout, as some say it.
#[test]
fn the_longest_timeouts_are_no_fault() {
    let bridge = Bridge::configured(|config| {
        (config.limits.body_seconds, config.limits.request_seconds) = (u64::MAX, u64::MAX);
        (config.connections.header_seconds, config.connections.idle_seconds) = (u64::MAX, u64::MAX);
        config.reading.write_seconds = u64::MAX;
    });
    let answer = bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[span(1, 1)]));
    assert_eq!(answer.status, 200);
    assert_eq!(bridge.spans(1).len(), 1);
}

#[test]
fn a_replay_is_acknowledged_and_stored_once() {
    let bridge = Bridge::start();
    let body = encode::traces(&[span(1, 1), span(2, 1)]);
    for _ in 0..3 {
        let answer = bridge.post("/v1/traces", &[PROTOBUF], &body);
        assert_eq!((answer.status, answer.body.len()), (200, 0));
    }
    assert_eq!(bridge.spans(1).len(), 1);
    assert_eq!(bridge.metric("otelcol_receiver_accepted_spans"), 6);
    assert_eq!(bridge.metric("spanbridge_receiver_duplicate_spans_total"), 4);
}

#[test]
fn a_bad_span_does_not_take_its_batch_with_it() {
    let bridge = Bridge::start();
    let answer = bridge.post("/v1/traces", &[PROTOBUF], &partly_bad());
    assert_eq!(answer.status, 200);
    let response = ExportTraceServiceResponse::decode(&*answer.body).expect("decodes");
    let partial = response.partial_success.expect("partial");
    assert_eq!(partial.rejected_spans, 1);
    assert_eq!(
        partial.error_message,
        "1 of 3 refused, the others are stored. resourceSpans[0].scopeSpans[0].spans[1]: the trace id is missing"
    );
    assert_eq!(bridge.spans(1), [span(1, 1), span(1, 3)]);

    let mut json = otlp_json::spans(&[span(2, 1), span(2, 2)]);
    json["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] = json!("xyz");
    let answer = bridge.post("/v1/traces", &[JSON], json.to_string().as_bytes());
    let response: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(response["partialSuccess"]["rejectedSpans"], "1");
    assert_eq!(bridge.spans(2), [span(2, 2)]);
    assert_eq!(bridge.metric("otelcol_receiver_refused_spans"), 2);
}

fn invalid_utf8() -> Vec<u8> {
    let bytes = encode::traces(&[span(1, 1)]);
    let at = bytes.windows(6).position(|bytes| bytes == b"span 1").expect("the name");
    let mut bytes = bytes;
    bytes[at] = 0xff;
    bytes
}

#[test]
fn every_bad_request_has_a_clear_answer() {
    let bridge = Bridge::with(Limits {
        request_bytes: 1 << 20,
        ..Limits::default()
    });
    let good = encode::traces(&[span(1, 1)]);
    let logs = encode::logs(&[record(1)]);
    let mut loose = record(1);
    (loose.trace_id, loose.time) = (None, None);
    let bomb = vec![0u8; 100 << 20];
    let deep = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"attributes":[{{"value":{}{}}}]}}]}}]}}]}}"#,
        r#"{"arrayValue":{"values":["#.repeat(5_000),
        "]}}".repeat(5_000)
    );
    let base64 = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AQEBAQEBAQEBAQEBAQEBAQ==","spanId":"AQEBAQEBAQE="}]}]}]}"#;
    let gz = ("content-encoding", "gzip");
    let json_logs = otlp_json::log_records(&[record(1)]).to_string().into_bytes();
    let cases: Vec<(&str, &str, Vec<(&str, &str)>, Vec<u8>, u16, &str)> = vec![
        (
            "truncated",
            "/v1/traces",
            vec![PROTOBUF],
            good[..good.len() - 3].to_vec(),
            400,
            "byte 0: the message is cut off",
        ),
        (
            "noise",
            "/v1/traces",
            vec![PROTOBUF],
            b"hello, world".to_vec(),
            400,
            "byte 2: a group ends that did not begin",
        ),
        (
            "invalid UTF-8",
            "/v1/traces",
            vec![PROTOBUF],
            invalid_utf8(),
            400,
            "text is not UTF-8",
        ),
        (
            "no content type",
            "/v1/traces",
            vec![("content-type", "")],
            good.clone(),
            415,
            "no content-type",
        ),
        (
            "wrong content type",
            "/v1/traces",
            vec![("content-type", "text/plain")],
            good.clone(),
            415,
            "text/plain is not supported",
        ),
        (
            "wrong encoding",
            "/v1/traces",
            vec![PROTOBUF, ("content-encoding", "br")],
            good.clone(),
            415,
            "br is not supported; use gzip",
        ),
        (
            "broken gzip",
            "/v1/traces",
            vec![PROTOBUF, gz],
            gzip(&good)[..12].to_vec(),
            400,
            "cannot be decompressed",
        ),
        (
            "gzip that is none",
            "/v1/traces",
            vec![PROTOBUF, gz],
            good.clone(),
            400,
            "cannot be decompressed",
        ),
        (
            "gzip bomb",
            "/v1/traces",
            vec![PROTOBUF, gz],
            gzip(&bomb),
            413,
            "more than 1048576 bytes after decompression",
        ),
        (
            "zstd bomb",
            "/v1/traces",
            vec![PROTOBUF, ("content-encoding", "zstd")],
            zstd(&bomb),
            413,
            "more than 1048576 bytes",
        ),
        (
            "too large",
            "/v1/traces",
            vec![PROTOBUF],
            bomb[..2 << 20].to_vec(),
            413,
            "--max-request-bytes",
        ),
        (
            "base64 ids",
            "/v1/traces",
            vec![JSON],
            base64.to_vec(),
            400,
            "is base64; OTLP/JSON writes ids as hexadecimal digits",
        ),
        (
            "not JSON",
            "/v1/traces",
            vec![JSON],
            b"{\"resourceSpans\":[}".to_vec(),
            400,
            "line 1 column 19",
        ),
        (
            "snake case",
            "/v1/traces",
            vec![JSON],
            b"{\"resource_spans\":[]}".to_vec(),
            400,
            "lowerCamelCase",
        ),
        ("deep JSON", "/v1/traces", vec![JSON], deep.into_bytes(), 400, "recursion limit"),
        (
            "logs on traces",
            "/v1/traces",
            vec![PROTOBUF],
            logs,
            400,
            "has logs, but this is /v1/traces: send it to /v1/logs",
        ),
        (
            "loose logs on traces",
            "/v1/traces",
            vec![PROTOBUF],
            encode::logs(&[loose]),
            400,
            "send it to /v1/logs",
        ),
        (
            "JSON logs on traces",
            "/v1/traces",
            vec![JSON],
            json_logs,
            400,
            "send it to /v1/logs",
        ),
        (
            "traces on logs",
            "/v1/logs",
            vec![PROTOBUF],
            good.clone(),
            400,
            "send it to /v1/traces",
        ),
        (
            "metrics on traces",
            "/v1/traces",
            vec![PROTOBUF],
            metrics().encode_to_vec(),
            400,
            "send it to /v1/metrics",
        ),
        (
            "metrics on logs",
            "/v1/logs",
            vec![PROTOBUF],
            metrics().encode_to_vec(),
            400,
            "send it to /v1/metrics",
        ),
        (
            "traces on metrics",
            "/v1/metrics",
            vec![PROTOBUF],
            good.clone(),
            400,
            "send it to /v1/traces",
        ),
        (
            "nowhere",
            "/v2/traces",
            vec![PROTOBUF],
            good,
            404,
            "/v1/traces, /v1/logs and /v1/metrics",
        ),
    ];
    for (name, path, headers, body, status, words) in cases {
        let answer = bridge.post(path, &headers, &body);
        assert_eq!(answer.status, status, "{name}");
        let message = if headers[0] == PROTOBUF {
            assert_eq!(answer.header("content-type"), "application/x-protobuf", "{name}");
            Status::decode(&*answer.body).expect("a Status").message
        } else {
            assert_eq!(answer.header("content-type"), "application/json", "{name}");
            let status: Value = serde_json::from_slice(&answer.body).expect("a Status");
            status["message"].as_str().expect("a message").to_owned()
        };
        assert!(message.contains(words), "{name}: {message}");
        assert_eq!(answer.header("retry-after"), "", "{name}");
    }
    let wrong = agent()
        .get(format!("http://{}/v1/traces", bridge.addresses.http))
        .call()
        .expect("an answer");
    assert_eq!(
        (wrong.status().as_u16(), wrong.headers()["allow"].to_str().expect("text")),
        (405, "POST")
    );
    // Nothing of all that is stored, and good requests are still taken.
    assert_eq!(bridge.traces(), [] as [Value; 0]);
    bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[span(9, 1)]));
    assert_eq!(bridge.spans(9), [span(9, 1)]);
}

#[test]
fn odd_but_lawful_traces_are_kept_and_shown() {
    let bridge = Bridge::start();
    // A span of 20 MB.
    let mut large = span(1, 1);
    large.attributes.push("input.value", "x".repeat(20 << 20));
    assert_eq!(
        bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[large.clone()])).status,
        200
    );
    assert!(bridge.spans(1) == [large]);
    // A parent cycle; the same id with another body; end before start.
    let (mut one, mut two) = (span(2, 1), span(2, 2));
    (one.parent, two.parent) = (Some(two.span_id), Some(one.span_id));
    let mut other = one.clone();
    (other.name, other.end) = ("another body".to_owned(), UnixNanos(5));
    bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[one.clone(), two.clone()]));
    assert_eq!(
        bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[other.clone()])).status,
        200
    );
    assert_eq!(bridge.spans(2), [one, two, other]);
    // 100,000 spans in one trace.
    let many: Vec<Span> = (0..100_000u64)
        .map(|number| {
            let mut span = span(3, 1);
            span.span_id = SpanId::from_bytes(&(number + 1).to_be_bytes()).expect("an id");
            span.parent = SpanId::from_bytes(&number.to_be_bytes());
            span
        })
        .collect();
    for part in many.chunks(20_000) {
        assert_eq!(bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(part)).status, 200);
    }
    assert_eq!(bridge.spans(3).len(), 100_000);
    let listed: Value = serde_json::from_slice(&bridge.get("/api/v1/traces?summary=no").body).expect("JSON");
    let mut sizes: Vec<u64> = listed["traces"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|listed| listed["spans"].as_u64())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 3, 100_000]);
}

#[test]
fn overload_is_answered_with_a_hint_and_never_buffered() {
    let bridge = Bridge::with(Limits {
        in_flight_bytes: 100_000,
        ..Limits::default()
    });
    // One request does not come to its end.
    let mut slow = TcpStream::connect(bridge.addresses.http).expect("connects");
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100000\r\n\r\n";
    slow.write_all(head.as_bytes()).expect("writes");
    slow.write_all(&[0; 99_900]).expect("writes");
    while bridge.metric("spanbridge_receiver_in_flight_bytes") < 99_900 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let body = encode::traces(&[span(1, 1)]);
    let answer = bridge.post("/v1/traces", &[PROTOBUF], &body);
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    let status = Status::decode(&*answer.body).expect("a Status");
    assert_eq!(status.code, 14);
    assert!(
        status
            .details
            .iter()
            .any(|detail| detail.type_url.ends_with("google.rpc.RetryInfo"))
    );
    drop(slow);
    while bridge.post("/v1/traces", &[PROTOBUF], &body).status != 200 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bridge.spans(1), [span(1, 1)]);
}

#[test]
fn a_client_that_breaks_off_leaves_nothing() {
    let bridge = Bridge::start();
    let body = encode::traces(&[span(1, 1)]);
    for cut in [0, 1, body.len() / 2, body.len() - 1] {
        let mut stream = TcpStream::connect(bridge.addresses.http).expect("connects");
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("writes");
        stream.write_all(&body[..cut]).expect("writes");
        stream.shutdown(std::net::Shutdown::Write).expect("shuts");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(bridge.traces(), [] as [Value; 0]);
    while bridge.metric("spanbridge_receiver_in_flight_bytes") != 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_takes_all_signals_and_encodings() {
    let bridge = tokio::task::spawn_blocking(Bridge::start).await.expect("starts");
    let channel = bridge.channel().await;
    for (trace, encoding) in [
        (1, None),
        (2, Some(CompressionEncoding::Gzip)),
        (3, Some(CompressionEncoding::Zstd)),
    ] {
        let mut client = TraceServiceClient::new(channel.clone());
        if let Some(encoding) = encoding {
            client = client.send_compressed(encoding);
        }
        let request = ExportTraceServiceRequest::decode(&*encode::traces(&[span(trace, 1)])).expect("decodes");
        let response = client.export(request).await.expect("taken").into_inner();
        assert_eq!(response.partial_success, None);
    }
    let logs = opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest::decode(&*encode::logs(&[record(1)]));
    let response = LogsServiceClient::new(channel.clone())
        .export(logs.expect("decodes"))
        .await
        .expect("taken");
    assert_eq!(response.into_inner().partial_success, None);
    let response = MetricsServiceClient::new(channel.clone()).export(metrics()).await.expect("taken");
    assert_eq!(response.into_inner().partial_success, None);
    let mut client = TraceServiceClient::new(channel.clone());
    let bad = ExportTraceServiceRequest::decode(&*partly_bad()).expect("decodes");
    let partial = client
        .export(bad)
        .await
        .expect("taken")
        .into_inner()
        .partial_success
        .expect("partial");
    assert_eq!(partial.rejected_spans, 1);
    tokio::task::spawn_blocking(move || {
        for trace in 1..=3 {
            assert!(bridge.spans(trace).contains(&span(trace, 1)));
        }
        drop(bridge);
    })
    .await
    .expect("reads");
}

/// Any bytes as a message, so that a client can send what no client would.
#[derive(Clone, Default)]
struct Raw;

impl tonic::codec::Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;
    fn encoder(&mut self) -> Self {
        Self
    }
    fn decoder(&mut self) -> Self {
        Self
    }
}

impl tonic::codec::Encoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;
    fn encode(&mut self, item: Vec<u8>, buffer: &mut tonic::codec::EncodeBuf<'_>) -> Result<(), tonic::Status> {
        bytes::BufMut::put_slice(buffer, &item);
        Ok(())
    }
}

impl tonic::codec::Decoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;
    fn decode(&mut self, buffer: &mut tonic::codec::DecodeBuf<'_>) -> Result<Option<Vec<u8>>, tonic::Status> {
        let mut bytes = vec![0; bytes::Buf::remaining(buffer)];
        bytes::Buf::copy_to_slice(buffer, &mut bytes);
        Ok(Some(bytes))
    }
}

async fn call(channel: &tonic::transport::Channel, path: &'static str, body: Vec<u8>) -> Result<Vec<u8>, tonic::Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.expect("ready");
    let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
    client
        .unary(tonic::Request::new(body), path, Raw)
        .await
        .map(tonic::Response::into_inner)
}

const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

#[tokio::test(flavor = "multi_thread")]
async fn grpc_refuses_with_the_right_codes() {
    let limits = Limits {
        request_bytes: 100_000,
        ..Limits::default()
    };
    let bridge = tokio::task::spawn_blocking(move || Bridge::with(limits)).await.expect("starts");
    let channel = bridge.channel().await;
    let good = encode::traces(&[span(1, 1)]);

    let refused = call(&channel, TRACES, good[..good.len() - 3].to_vec()).await.expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
    let details = Status::decode(refused.details()).expect("a Status").details;
    assert!(details.iter().any(|detail| detail.type_url.ends_with("google.rpc.BadRequest")));

    let refused = call(&channel, TRACES, encode::logs(&[record(1)])).await.expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("has logs"), "{}", refused.message());

    let refused = call(&channel, TRACES, vec![0; 200_000]).await.expect_err("refused");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let details = Status::decode(refused.details()).expect("a Status").details;
    assert!(
        !details.iter().any(|detail| detail.type_url.ends_with("RetryInfo")),
        "not to be retried"
    );

    let refused = call(
        &channel,
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
        good,
    )
    .await;
    assert_eq!(refused.expect_err("refused").code(), Code::Unimplemented);
    assert_eq!(
        call(&channel, "/grpc.health.v1.Health/Check", Vec::new()).await.expect("answered"),
        [8, 1]
    );
    assert_eq!(call(&channel, TRACES, Vec::new()).await.expect("an empty request"), [] as [u8; 0]);
    tokio::task::spawn_blocking(move || drop(bridge)).await.expect("ends");
}

#[test]
fn a_port_in_use_and_a_store_in_use_are_said_clearly() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let bridge = Bridge::start();
    let second = runtime.block_on(Server::start(&config(bridge.directory.path(), Limits::default())));
    let error = second.expect_err("refused");
    assert!(matches!(error, StartError::Store(Error::Locked { .. })));
    assert!(
        error.to_string().contains(&format!("in use by process {}", std::process::id())),
        "{error}"
    );

    let other = tempfile::tempdir().expect("a directory");
    let mut config = config(other.path(), Limits::default());
    config.http = bridge.addresses.http.to_string();
    let error = runtime.block_on(Server::start(&config)).expect_err("refused");
    let port = bridge.addresses.http.port().to_string();
    assert!(
        error.to_string().contains(&port) && error.to_string().contains("--otlp-http"),
        "{error}"
    );
}

#[test]
fn the_api_answers_documents_and_open_rewards_blocks() {
    let bridge = Bridge::start();
    let mut agent = span(1, 1);
    agent.attributes.push("openinference.span.kind", "AGENT");
    agent.attributes.push("session.id", "chat 17/a");
    let mut call = span(1, 2);
    call.parent = Some(agent.span_id);
    call.attributes.push("openinference.span.kind", "LLM");
    call.attributes.push("llm.model_name", "m");
    call.attributes.push("llm.input_messages.0.message.role", "user");
    call.attributes.push("llm.input_messages.0.message.content", "hello?");
    call.attributes.push("llm.output_messages.0.message.role", "assistant");
    call.attributes.push("llm.output_messages.0.message.content", "hello.");
    bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[agent, call, span(2, 1)]));

    let listed = bridge.traces();
    let one = listed
        .iter()
        .find(|listed| listed["trace_id"] == id(1).to_string())
        .expect("listed");
    assert_eq!(
        (&one["model"], &one["model_calls"], &one["session"]),
        (&json!("m"), &json!(1), &json!("chat 17/a"))
    );
    let only = bridge.get("/api/v1/traces?session=chat%2017%2Fa&limit=5");
    assert!(String::from_utf8_lossy(&only.body).contains(&id(1).to_string()));
    assert!(!String::from_utf8_lossy(&only.body).contains(&id(2).to_string()));

    for format in [
        "contextforge",
        "reflex",
        "openreward",
        "synth",
        "invariant",
        "messages",
        "atif",
        "inspect",
        "verifiers",
        "deepeval",
        "adk",
    ] {
        let answer = bridge.get(&format!("/api/v1/traces/{}/{format}", id(1)));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/json"),
            "{format}"
        );
        assert!(serde_json::from_slice::<Value>(&answer.body).is_ok(), "{format}");
        assert_eq!(
            bridge.get(&format!("/api/v1/sessions/chat%2017%2Fa/{format}")).status,
            200,
            "{format}"
        );
    }
    let stitched = bridge.get(&format!("/v1/organizations/default/traces/tr_{}/blocks.stitched", id(1)));
    let stitched: Value = serde_json::from_slice(&stitched.body).expect("JSON");
    assert_eq!(stitched["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(stitched["messages"][0]["payload"]["content"], "hello?");
    let flat: Value =
        serde_json::from_slice(&bridge.get(&format!("/v1/organizations/default/traces/{}/blocks", id(1))).body).expect("JSON");
    assert_eq!(flat.as_array().map(Vec::len), Some(2));

    for (path, words) in [
        ("/v1/organizations/other/traces/tr_01/blocks".to_owned(), "no organization other"),
        (format!("/api/v1/traces/{}/reflex", id(2)), "has no agent operations"),
        (format!("/api/v1/traces/{}/parquet", id(1)), "no format parquet"),
        (format!("/api/v1/traces/{}", id(7)), "no trace"),
        ("/api/v1/sessions/none/reflex".to_owned(), "no session none"),
        ("/nowhere".to_owned(), "nothing at /nowhere"),
    ] {
        let answer = bridge.get(&path);
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!((answer.status, &body["error"]["code"]), (404, &json!("NOT_FOUND")), "{path}");
        assert!(body["error"]["message"].as_str().expect("words").contains(words), "{path}: {body}");
    }
    for path in ["/api/v1/traces/xyz", "/api/v1/traces?color=red", "/api/v1/traces?since=yesterday"] {
        assert_eq!(bridge.get(path).status, 400, "{path}");
    }
    for path in ["/healthz", "/readyz", "/metrics", "/"] {
        assert_eq!(bridge.get(path).status, 200, "{path}");
    }
    assert!(decode::traces(b"").is_ok());
}

/// Needs the right to mount; elsewhere the failing disk of `tests/store.rs` stands for it.
#[test]
fn a_full_disk_is_answered_with_a_hint_and_nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().expect("a directory");
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new(arguments[0])
            .args(&arguments[1..])
            .arg(directory.path())
            .output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs"]) {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime
        .block_on(Server::start(&config(directory.path(), Limits::default())))
        .expect("starts");
    let addresses = server.addresses();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async {
        let _ = ended.await;
    }));
    let post = |trace: u8| {
        let mut span = span(trace, 1);
        span.attributes.push("input.value", "x".repeat(300_000));
        let request = agent()
            .post(format!("http://{}/v1/traces", addresses.http))
            .header(PROTOBUF.0, PROTOBUF.1);
        answer(request.send(&encode::traces(&[span])[..]).expect("an answer"))
    };
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for trace in 1..=12 {
        let answer = post(trace);
        match answer.status {
            200 => acknowledged.push(trace),
            503 => {
                refused += 1;
                assert_eq!(answer.header("retry-after"), "3");
                let status = Status::decode(&*answer.body).expect("a Status");
                assert!(
                    status.message.contains("full") || status.message.contains("index"),
                    "{}",
                    status.message
                );
            }
            other => panic!("{other}"),
        }
    }
    assert!(refused > 0 && !acknowledged.is_empty(), "{refused} refused, {acknowledged:?}");
    for trace in &acknowledged {
        let answer = answer(
            agent()
                .get(format!("http://{}/api/v1/traces/{}", addresses.api, id(*trace)))
                .call()
                .expect("an answer"),
        );
        assert_eq!(answer.status, 200, "trace {trace}");
    }
    assert!(mount(&["mount", "-o", "remount,size=32m"]));
    let again = post(99);
    assert_eq!(again.status, 200, "there is room again: {}", String::from_utf8_lossy(&again.body));
    drop(end);
    runtime.block_on(running).expect("ends");
    drop(runtime);
    let store = spanbridge::store::Local::open_to_read(directory.path()).expect("opens");
    for trace in acknowledged {
        use spanbridge::store::Read as _;
        assert!(
            store
                .read_trace(id(trace))
                .expect("reads")
                .is_some_and(|stored| stored.spans.len() == 1)
        );
    }
    drop(store);
    // A process that another test starts has this one's files open until it runs its own program.
    let ended = std::time::Instant::now();
    while !mount(&["umount"]) {
        assert!(ended.elapsed() < std::time::Duration::from_secs(20), "the disk stays busy");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

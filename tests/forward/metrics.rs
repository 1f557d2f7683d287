//! Metrics: stored for a destination that wants them, sent on as they came.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use spanbridge::forward::{ChooseText, DestinationText, Logs, Protocol, dead_letters, folder};
use spanbridge::redact::{Action, RuleText};
use spanbridge::server::Config;
use spanbridge::span::Signal;
use spanbridge::store::{Administer as _, Append as _, ArrivalLimits, Chunk, ChunkKind, Local, OpenOptions, Read as _, Subscribe as _};

use super::sink::{Answer, Sink};
use super::support::{Bridge, spans, to, until};

fn attribute(key: &str, text: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(text.to_owned())),
        }),
        ..KeyValue::default()
    }
}

/// A gauge and a histogram, with one data point each.
fn request(service: &str, value: i64) -> ExportMetricsServiceRequest {
    let gauge = Gauge {
        data_points: vec![NumberDataPoint {
            attributes: vec![attribute("user.email", "someone@example.com")],
            time_unix_nano: 1_700_000_000_000_000_000,
            value: Some(number_data_point::Value::AsInt(value)),
            ..NumberDataPoint::default()
        }],
    };
    let histogram = Histogram {
        data_points: vec![HistogramDataPoint {
            count: 3,
            sum: Some(0.5),
            bucket_counts: vec![1, 2],
            explicit_bounds: vec![0.25],
            ..HistogramDataPoint::default()
        }],
        aggregation_temporality: 2,
    };
    let metric = |name: &str, data| Metric {
        name: name.to_owned(),
        data: Some(data),
        ..Metric::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: vec![attribute("service.name", service)],
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                metrics: vec![
                    metric("tokens", metric::Data::Gauge(gauge)),
                    metric("seconds", metric::Data::Histogram(histogram)),
                ],
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn with_metrics(url: &str) -> DestinationText {
    DestinationText {
        signals: Some(vec![Signal::Traces, Signal::Metrics]),
        ..to(url)
    }
}

/// The requests of metrics that were sent, decoded.
fn sent(sink: &Sink) -> Vec<ExportMetricsServiceRequest> {
    let came = sink.came().into_iter();
    came.filter(|came| came.path.to_lowercase().contains("metrics"))
        .map(|came| match came.headers["content-type"].to_str().unwrap() {
            "application/json" => serde_json::from_slice(&came.body).unwrap(),
            "application/grpc" => ExportMetricsServiceRequest::decode(&came.body[5..]).unwrap(),
            _ => ExportMetricsServiceRequest::decode(&*came.body).unwrap(),
        })
        .collect()
}

/// The points of all requests, in order. Requests that follow one another may be sent as one.
fn resources(requests: &[ExportMetricsServiceRequest]) -> Vec<ResourceMetrics> {
    requests.iter().flat_map(|request| request.resource_metrics.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_wants_metrics_gets_them_over_each_protocol() {
    for protocol in [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson] {
        let directory = tempfile::tempdir().unwrap();
        let sink = Sink::start(move |_| match protocol {
            Protocol::Grpc => Answer::Status(200, vec![("grpc-status", "0".to_owned())], Vec::new()),
            _ => Answer::ok(),
        })
        .await;
        let without = Sink::start(|_| Answer::ok()).await;
        let destinations = [
            DestinationText {
                protocol: Some(protocol),
                compression: Some(spanbridge::forward::Compression::None),
                ..with_metrics(&sink.url())
            },
            DestinationText {
                name: Some("without".to_owned()),
                ..to(&without.url())
            },
        ];
        let bridge = Bridge::start(directory.path(), &destinations).await;
        let all = [request("one", 1), request("two", 2)];
        for request in &all {
            bridge.send("/v1/metrics", request.encode_to_vec()).await;
        }
        until("all points are sent", || async {
            bridge.metric("otelcol_exporter_sent_metric_points", "sink").await == 4
        })
        .await;
        assert_eq!(resources(&sent(&sink)), resources(&all), "{protocol:?}");
        bridge.send_spans(&spans(0, 0..1)).await;
        without.wait_for(1).await;
        assert_eq!(sent(&without), [], "it asked for none");
        until("the other destination has passed all points", || async {
            bridge.metric("spanbridge_forward_not_chosen_metric_points_total", "without").await == 4
        })
        .await;
        bridge.stop().await;
    }
}

/// Nothing that was acknowledged is lost with the process, and JSON says the same as protobuf.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_wait_on_the_disk_while_the_destination_is_down() {
    let directory = tempfile::tempdir().unwrap();
    let is_up = Arc::new(AtomicU64::new(0));
    let up = Arc::clone(&is_up);
    let sink = Sink::start(move |_| match up.load(Ordering::Relaxed) {
        0 => Answer::status(503),
        _ => Answer::ok(),
    })
    .await;
    let destinations = [with_metrics(&sink.url())];
    let bridge = Bridge::start(directory.path(), &destinations).await;
    let mut request = request("one", i64::MAX);
    bridge
        .send_as("/v1/metrics", serde_json::to_vec(&request).unwrap(), "application/json")
        .await;
    until("it is tried", || async { !sent(&sink).is_empty() }).await;
    bridge.stop().await;
    let before = sink.came().len();
    is_up.store(1, Ordering::Relaxed);
    let bridge = Bridge::start(directory.path(), &destinations).await;
    until("it is sent", || async {
        bridge.metric("otelcol_exporter_sent_metric_points", "sink").await == 2
    })
    .await;
    let came = sink.came().split_off(before);
    let came = ExportMetricsServiceRequest::decode(&*came[0].body).unwrap();
    assert_eq!(came, request);
    // A value that cannot be read is no value that is left out.
    let mut text = serde_json::to_value(&request).unwrap();
    let point = text
        .pointer_mut("/resourceMetrics/0/scopeMetrics/0/metrics/0/gauge/dataPoints/0/asInt")
        .unwrap();
    *point = "many".into();
    let refused = bridge
        .post("/v1/metrics", serde_json::to_vec(&text).unwrap(), "application/json")
        .await;
    assert_eq!(refused, 400);
    // And bytes that break within a metric are refused, not kept.
    request.resource_metrics[0].scope_metrics[0].metrics[0].name = "xx".to_owned();
    let mut bytes = request.encode_to_vec();
    let name = bytes.windows(2).position(|pair| pair == b"xx").unwrap();
    bytes[name] = 0xff;
    assert_eq!(bridge.post("/v1/metrics", bytes, "application/x-protobuf").await, 400);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_that_nobody_wants_are_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send("/v1/metrics", request("one", 1).encode_to_vec()).await;
    let text = bridge.metrics().await;
    assert!(
        text.contains("otelcol_receiver_accepted_metric_points{receiver=\"otlp\",transport=\"http\"} 2"),
        "{text}"
    );
    assert!(
        text.contains("spanbridge_store_appended_bytes_total{project=\"default/default\"} 0"),
        "{text}"
    );
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_chosen_by_service_and_redacted() {
    let directory = tempfile::tempdir().unwrap();
    let [sink, unredacted] = [Sink::start(|_| Answer::ok()).await, Sink::start(|_| Answer::ok()).await];
    let rule = |key: &str, action| RuleText {
        name: None,
        key: Some(key.to_owned()),
        value: None,
        action,
        scope: Vec::new(),
    };
    let choosing = DestinationText {
        choose: Some(ChooseText {
            services: vec!["agent-*".to_owned()],
            ..ChooseText::default()
        }),
        redact: vec![rule("user.email", Action::Remove)],
        ..with_metrics(&sink.url())
    };
    let other = DestinationText {
        name: Some("other".to_owned()),
        ..with_metrics(&unredacted.url())
    };
    let mut config = Config::new(directory.path());
    config.forward = spanbridge::forward::resolve_all(&[choosing, other], None).unwrap();
    config.security.redaction = vec![rule("service.version", Action::Mask)];
    let bridge = Bridge::with(&config).await;
    let mut both = request("agent-7", 1);
    both.resource_metrics.extend(request("web", 2).resource_metrics);
    for of in &mut both.resource_metrics {
        of.resource
            .as_mut()
            .unwrap()
            .attributes
            .push(attribute("service.version", "secret"));
    }
    bridge.send("/v1/metrics", both.encode_to_vec()).await;
    until("it came", || async { !sent(&sink).is_empty() && !sent(&unredacted).is_empty() }).await;
    for of in &mut both.resource_metrics {
        of.resource.as_mut().unwrap().attributes[1] = attribute("service.version", "[redacted]");
    }
    assert_eq!(sent(&unredacted), [both.clone()], "redacted before it was stored");
    both.resource_metrics.truncate(1);
    let metric::Data::Gauge(gauge) = both.resource_metrics[0].scope_metrics[0].metrics[0].data.as_mut().unwrap() else {
        panic!("a gauge");
    };
    gauge.data_points[0].attributes.clear();
    assert_eq!(sent(&sink), [both]);
    until("the others are counted", || async {
        bridge.metric("spanbridge_forward_not_chosen_metric_points_total", "sink").await == 2
    })
    .await;
    bridge.stop().await;
}

/// A metric that the destination rejects is found; others are sent. Spans go on where metrics are not taken at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_metric_is_a_dead_letter_and_a_destination_without_metrics_gets_spans() {
    let directory = tempfile::tempdir().unwrap();
    let bad = Sink::start(|came| match came.body.windows(7).any(|word| word == b"seconds") {
        true => Answer::status(400),
        false => Answer::ok(),
    })
    .await;
    let tracer = Sink::start(|came| match came.path.as_str() {
        "/v1/metrics" => Answer::status(404),
        _ => Answer::ok(),
    })
    .await;
    let other = DestinationText {
        name: Some("tracer".to_owned()),
        ..with_metrics(&tracer.url())
    };
    let bridge = Bridge::start(directory.path(), &[with_metrics(&bad.url()), other]).await;
    bridge.send("/v1/metrics", request("one", 1).encode_to_vec()).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    bad.wait_for(1).await;
    tracer.wait_for(1).await;
    let letters = dead_letters::read(&folder(directory.path()), "sink").unwrap();
    let said: Vec<(&str, u64)> = letters.iter().map(|letter| (letter.signal.as_str(), letter.items)).collect();
    assert_eq!(said, [("metrics", 1)]);
    assert_eq!(bridge.metric("otelcol_exporter_sent_metric_points", "sink").await, 1);
    assert_eq!(bridge.metric("otelcol_exporter_send_failed_metric_points", "sink").await, 1);
    assert_eq!(
        bridge.metric("spanbridge_forward_unsupported_metric_points_total", "tracer").await,
        2
    );
    bridge.stop().await;
}

/// Metrics are stored each time that they come, so only the names of the bridges end the loop.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_between_two_bridges_do_not_go_round_for_ever() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    // The first one's destination is known before the second bridge is.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let first = format!("http://{}", listener.local_addr().unwrap());
    let first = Bridge::start(directories[0].path(), &[with_metrics(&first)]).await;
    let back = with_metrics(&format!("http://{}", first.addresses.http));
    let second = Bridge::start(directories[1].path(), &[back]).await;
    let to_second = second.addresses.http;
    let relay = tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(mut to) = tokio::net::TcpStream::connect(to_second).await {
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                }
            });
        }
    });
    first.send("/v1/metrics", request("one", 7).encode_to_vec()).await;
    until("it is said", || async {
        first.metrics().await.contains("reason=\"loop\"") || second.metrics().await.contains("reason=\"loop\"")
    })
    .await;
    let sent = || async {
        let name = "otelcol_exporter_sent_metric_points";
        (first.metric(name, "sink").await, second.metric(name, "sink").await)
    };
    let before = sent().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sent().await, before);
    assert!(before.0 <= 4 && before.1 <= 4, "{before:?}");
    relay.abort();
    first.stop().await;
    second.stop().await;
}

fn kept(store: &Local) -> Vec<(ChunkKind, Vec<u8>)> {
    let limits = ArrivalLimits {
        bytes: usize::MAX,
        latest: u64::MAX,
    };
    let (mut all, mut from) = (Vec::new(), spanbridge::store::log::Position::default());
    loop {
        let arrivals = store.read_arrivals(from, limits).unwrap();
        assert_eq!((arrivals.damaged_bytes, arrivals.removed_segments), (0, 0));
        if arrivals.next == from {
            return all;
        }
        from = arrivals.next;
        all.extend(arrivals.chunks.into_iter().map(|chunk| (chunk.kind, chunk.message)));
    }
}

/// Metrics stay through compression, a new index and a start, and belong to no trace.
#[test]
fn the_log_keeps_metrics_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions {
        segment_size: 600,
        ..OpenOptions::new(directory.path())
    };
    let store = Local::open(&options).unwrap().store;
    let mut wanted = Vec::new();
    for number in 0..20 {
        let message = request("one", number).encode_to_vec();
        let receipt = store.append(vec![Chunk::of_metrics(2, message.clone())]).unwrap();
        assert_eq!((receipt.stored, receipt.duplicates), (2, 0));
        wanted.push((ChunkKind::Metrics, message));
    }
    assert_eq!(kept(&store), wanted);
    assert!(store.maintain().unwrap().compressed_segments > 2);
    assert_eq!(kept(&store), wanted);
    store.close();
    drop(store);
    for file in std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if is_index(&file) {
            std::fs::remove_file(file).unwrap();
        }
    }
    let opened = Local::open(&options).unwrap();
    assert_eq!((opened.recovery.damaged.len(), opened.recovery.lost.len()), (0, 0));
    assert_eq!(kept(&opened.store), wanted);
    assert_eq!(opened.store.list(&spanbridge::store::Filter::default()).unwrap(), []);
}

fn is_index(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(spanbridge::store::index::FILE))
}

#[test]
fn signals_that_contradict_the_rest_are_refused() {
    let with = |signals: &[Signal]| DestinationText {
        signals: Some(signals.to_vec()),
        ..to("http://127.0.0.1:4318")
    };
    let error = |text: DestinationText| text.resolve(None).unwrap_err().to_string();
    assert!(error(with(&[])).contains("it has no signals"));
    let logs = |logs, signals| DestinationText {
        logs: Some(logs),
        ..with(signals)
    };
    assert!(error(logs(Logs::Send, &[Signal::Traces])).contains("needs \"logs\""));
    let into_spans = DestinationText {
        preset: Some("jaeger".to_owned()),
        ..logs(Logs::IntoSpans, &[Signal::Metrics])
    };
    assert!(error(into_spans).contains("needs \"traces\""));
    let phoenix = DestinationText {
        preset: Some("phoenix".to_owned()),
        ..with(&[Signal::Traces])
    };
    assert_eq!(phoenix.resolve(None).unwrap().logs, Logs::IntoSpans);
    assert_eq!(with(&[Signal::Metrics]).resolve(None).unwrap().logs, Logs::Leave);
    let usual = to("http://127.0.0.1:4318").resolve(None).unwrap();
    assert!(usual.traces && !usual.metrics && usual.logs == Logs::Send);
}

//! The wire scan gives prost's verdict on any bytes, and splits a request into the same spans.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "protobuf")]

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::{
    Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint, exemplar, exponential_histogram_data_point, metric, number_data_point,
    summary_data_point,
};
use proptest::prelude::*;
use prost::Message as _;
use spanbridge::otlp::{decode, encode, scan};
use spanbridge::span::{
    AnyValue, Attributes, ContentFault, Event, LogRecord, RefusedReason, Resource, Scope, Signal, Span, SpanId, TraceId, UnixNanos,
};

/// The messages that a request is split into, whole.
fn parts_of(scanned: &scan::Scan, request: &[u8]) -> Vec<Vec<u8>> {
    let (parts, cuts) = scanned.clone().cut(request.len());
    let messages: Vec<Vec<u8>> = (0..parts.len()).map(|part| cuts.message(part, request)).collect();
    let lengths: Vec<usize> = (0..parts.len()).map(|part| cuts.length(part)).collect();
    assert_eq!(lengths, messages.iter().map(Vec::len).collect::<Vec<_>>());
    messages
}

fn value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(AnyValue::Empty),
        "[a-zé]{0,12}".prop_map(AnyValue::String),
        any::<bool>().prop_map(AnyValue::Bool),
        any::<i64>().prop_map(AnyValue::Int),
        (-1e9..1e9f64).prop_map(AnyValue::Double),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(AnyValue::Bytes),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(AnyValue::Array),
            prop::collection::vec(("[a-z]{0,3}", inner), 0..3).prop_map(AnyValue::KvList),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    prop::collection::vec((prop_oneof!["session.id", "service.name", "[a-z.]{0,8}"], value()), 0..4).prop_map(Attributes)
}

prop_compose! {
    fn span()(trace in 0u8..4, id in 0u8..4, parent in 0u8..3, name in "[a-z]{0,5}", start in any::<u64>(), end in any::<u64>(),
              attributes in attributes(), of_event in attributes(), code in 0i32..3, resource in 0u8..3, scope in 0u8..3) -> Span {
        // An id of 0 cannot be built; the mutations below make such spans.
        let mut span = Span::new(
            TraceId::from_bytes(&[trace + 1; 16]).expect("an id"),
            SpanId::from_bytes(&[id + 1; 8]).expect("an id"),
            name,
        );
        span.parent = SpanId::from_bytes(&[parent; 8]);
        (span.start, span.end, span.status.code) = (UnixNanos(start), UnixNanos(end), code);
        span.attributes = attributes;
        span.events = vec![Event { attributes: of_event, ..Event::default() }];
        span.resource = Arc::new(Resource { schema_url: "x".repeat(resource.into()), ..Resource::default() });
        span.scope = Arc::new(Scope { name: "y".repeat(scope.into()), ..Scope::default() });
        span
    }
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(span(), 0..6).prop_map(|spans| encode::traces(&spans))
}

/// A request with a metric of each kind, every field set.
fn metrics() -> Vec<u8> {
    let attributes = vec![KeyValue {
        key: "k".to_owned(),
        ..KeyValue::default()
    }];
    let exemplars = vec![Exemplar {
        filtered_attributes: attributes.clone(),
        time_unix_nano: 1,
        span_id: vec![1; 8],
        trace_id: vec![1; 16],
        value: Some(exemplar::Value::AsInt(1)),
    }];
    let number = NumberDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano: 1,
        time_unix_nano: 2,
        exemplars: exemplars.clone(),
        flags: 1,
        value: Some(number_data_point::Value::AsDouble(0.5)),
    };
    let histogram = HistogramDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano: 1,
        time_unix_nano: 2,
        count: 3,
        sum: Some(4.0),
        bucket_counts: vec![1, 2],
        explicit_bounds: vec![0.5],
        exemplars: exemplars.clone(),
        flags: 1,
        min: Some(0.1),
        max: Some(0.9),
    };
    let buckets = exponential_histogram_data_point::Buckets {
        offset: -3,
        bucket_counts: vec![1, 300],
    };
    let exponential = ExponentialHistogramDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano: 1,
        time_unix_nano: 2,
        count: 3,
        sum: Some(4.0),
        scale: -2,
        zero_count: 1,
        positive: Some(buckets.clone()),
        negative: Some(buckets),
        flags: 1,
        exemplars,
        min: Some(0.1),
        max: Some(0.9),
        zero_threshold: 0.01,
    };
    let quantile = summary_data_point::ValueAtQuantile { quantile: 0.5, value: 2.0 };
    let summary = SummaryDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano: 1,
        time_unix_nano: 2,
        count: 3,
        sum: 4.0,
        quantile_values: vec![quantile],
        flags: 1,
    };
    let data = [
        metric::Data::Gauge(Gauge {
            data_points: vec![number.clone()],
        }),
        metric::Data::Sum(Sum {
            data_points: vec![number],
            aggregation_temporality: 2,
            is_monotonic: true,
        }),
        metric::Data::Histogram(Histogram {
            data_points: vec![histogram],
            aggregation_temporality: 1,
        }),
        metric::Data::ExponentialHistogram(ExponentialHistogram {
            data_points: vec![exponential],
            aggregation_temporality: 2,
        }),
        metric::Data::Summary(Summary {
            data_points: vec![summary],
        }),
    ];
    let metric = |data| Metric {
        name: "n".to_owned(),
        description: "d".to_owned(),
        unit: "u".to_owned(),
        metadata: attributes.clone(),
        data: Some(data),
    };
    let scope = ScopeMetrics {
        metrics: data.into_iter().map(metric).collect(),
        schema_url: "s".to_owned(),
        ..ScopeMetrics::default()
    };
    let resource = ResourceMetrics {
        scope_metrics: vec![scope],
        schema_url: "r".to_owned(),
        ..ResourceMetrics::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![resource],
    };
    request.encode_to_vec()
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    changed(request())
}

fn changed(request: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..4);
    (request, changes).prop_map(|(mut bytes, changes)| {
        for (at, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let decoded = decode::traces(bytes);
    let scanned = scan::scan(bytes, Signal::Traces, &["session.id"]);
    // Items that cannot be read are refused alone, where prost refuses all.
    let is_whole = |scan: &scan::Scan| {
        !scan
            .refused
            .iter()
            .any(|refused| matches!(refused.reason, RefusedReason::Content(_)))
    };
    if let Ok(scanned) = &scanned
        && !is_whole(scanned)
    {
        prop_assert!(decoded.is_err());
        let read: usize = parts_of(scanned, bytes)
            .iter()
            .map(|part| decode::traces(part).expect("a part is a request").items.len())
            .sum();
        prop_assert_eq!(scanned.items, read + scanned.refused_count);
        return Ok(());
    }
    prop_assert_eq!(decoded.is_ok(), scanned.is_ok(), "{:?} {:?}", decoded.err(), scanned.err());
    let of_logs = scan::scan(bytes, Signal::Logs, &[]);
    prop_assert_eq!(decode::logs(bytes).is_ok(), of_logs.is_ok_and(|scan| is_whole(&scan)));
    let (Ok(decoded), Ok(scanned)) = (decoded, scanned) else {
        return Ok(());
    };
    prop_assert_eq!(&scanned.refused, &decoded.refused);
    prop_assert_eq!(scanned.items, decoded.items.len() + decoded.refused.len());
    let parts = parts_of(&scanned, bytes);
    prop_assert_eq!(parts.len(), scanned.parts.len());
    for (bytes, part) in parts.iter().zip(&scanned.parts) {
        let scan::Key::Trace(trace_id) = &part.key else {
            panic!("spans have a trace")
        };
        let spans = decode::traces(bytes).expect("a part is a request").items;
        let wanted: Vec<&Span> = decoded.items.iter().filter(|span| span.trace_id == *trace_id).collect();
        prop_assert!(spans.iter().eq(wanted.iter().copied()) || wanted.iter().any(|span| has_nan(span)));
        prop_assert_eq!(part.items, spans.len());
        prop_assert_eq!(part.errors, spans.iter().filter(|span| span.status.is_error()).count());
        prop_assert_eq!(part.end, spans.iter().map(|span| listed(span.end)).max().unwrap_or(0));
        let start = spans.iter().map(|span| listed(span.start)).filter(|start| *start != 0).min();
        prop_assert_eq!(part.start, start.unwrap_or(0));
    }
    Ok(())
}

/// A time as lists have it: one that is a time between 2015 and 2100 in milliseconds or microseconds was written in these.
fn listed(time: UnixNanos) -> u64 {
    let of_our_days = |nanos: &u64| (1_420_070_400..4_102_444_800).contains(&(nanos / 1_000_000_000));
    let in_units = [1_000_000, 1_000].map(|factor| time.0.saturating_mul(factor));
    in_units.into_iter().find(of_our_days).unwrap_or(time.0)
}

/// NaN is not equal to itself.
fn has_nan(span: &Span) -> bool {
    format!("{span:?}").contains("NaN")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn same_verdict_and_same_spans_as_prost(bytes in mutated()) {
        check(&bytes)?;
    }

    /// Lists of numbers are not looked into: there, prost refuses more.
    #[test]
    fn metrics_that_prost_reads_are_not_refused(bytes in changed(Just(metrics()))) {
        let (read, checked) = (ExportMetricsServiceRequest::decode(&*bytes), scan::check(&bytes, Signal::Metrics));
        prop_assert!(read.is_err() || checked.is_ok(), "{checked:?}");
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&bytes)?;
    }
}

/// Bytes that break within a data point are found.
#[test]
fn broken_metrics_are_refused() {
    let bytes = metrics();
    assert!(scan::check(&bytes, Signal::Metrics).is_ok());
    // The key of an attribute that is no text, the same as in any other signal.
    let key = bytes.windows(3).position(|bytes| bytes == [0x0a, 1, b'k']).expect("an attribute");
    let mut broken = bytes;
    broken[key + 2] = 0xff;
    assert!(scan::check(&broken, Signal::Metrics).is_err());
}

#[test]
fn the_depth_limit_is_prosts() {
    for depth in 40..60 {
        let nested = (0..depth).fold(AnyValue::Int(1), |value, _| AnyValue::Array(vec![value]));
        let mut span = Span::new(
            TraceId::from_bytes(&[1; 16]).expect("an id"),
            SpanId::from_bytes(&[1; 8]).expect("an id"),
            "deep",
        );
        span.attributes.push("a", nested);
        check(&encode::traces(&[span])).expect("the same verdict");
    }
}

#[test]
fn one_item_that_cannot_be_read_is_refused_alone() {
    let span = |id: u8| {
        Span::new(
            TraceId::from_bytes(&[1; 16]).expect("an id"),
            SpanId::from_bytes(&[id; 8]).expect("an id"),
            "broken?",
        )
    };
    let mut deep = span(2);
    deep.attributes
        .push("a", (0..60).fold(AnyValue::Int(1), |value, _| AnyValue::Array(vec![value])));
    let with_deep = encode::traces(&[span(1), deep, span(3)]);
    let mut with_bytes = encode::traces(&[span(1), span(2), span(3)]);
    let names: Vec<usize> = (0..with_bytes.len())
        .filter(|at| with_bytes[*at..].starts_with(b"broken?"))
        .collect();
    with_bytes[names[1] + 6] = 0xff;
    for (bytes, fault) in [(with_deep, ContentFault::Depth), (with_bytes, ContentFault::Utf8)] {
        check(&bytes).expect("the same spans");
        let scanned = scan::scan(&bytes, Signal::Traces, &[]).expect("two of three can be read");
        assert_eq!((scanned.items, scanned.refused_count, scanned.parts[0].items), (3, 1, 2));
        assert_eq!(
            (scanned.refused[0].reason, scanned.refused[0].path.item),
            (RefusedReason::Content(fault), 1)
        );
    }
}

#[test]
fn an_unknown_group_is_skipped_as_prost_does() {
    for depth in 1..120usize {
        let mut bytes = vec![0x7b; depth];
        bytes.extend(vec![0x7c; depth]);
        check(&bytes).expect("the same verdict");
        bytes.pop();
        check(&bytes).expect("the same verdict");
    }
}

#[test]
fn log_records_without_a_trace_come_by_session() {
    let record = |session: &str| LogRecord {
        trace_id: None,
        span_id: None,
        time: None,
        observed_time: Some(UnixNanos(5)),
        severity: 0,
        severity_text: String::new(),
        event_name: String::new(),
        body: AnyValue::from("said"),
        attributes: [("session.id".to_owned(), AnyValue::from(session))].into_iter().collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::default(),
    };
    let records = [record("a"), record("b"), record("a")];
    let bytes = encode::logs(&records);
    let scanned = scan::scan(&bytes, Signal::Logs, &["session.id"]).expect("a request");
    let keys: Vec<_> = scanned.parts.iter().map(|part| (part.key.clone(), part.items)).collect();
    assert_eq!(keys, [(scan::Key::Session("a".into()), 2), (scan::Key::Session("b".into()), 1)]);
    let parts = parts_of(&scanned, &bytes);
    assert_eq!(decode::logs(&parts[1]).expect("a request").items, records[1..2]);
}

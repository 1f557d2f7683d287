//! The known spans and records through `opentelemetry-otlp`: see README.md.
#![allow(clippy::unwrap_used, reason = "a test program: it ends where anything fails")]

use std::time::{Duration, SystemTime};

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::trace::{
    Link, Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer as _,
    TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_otlp::{
    Compression, LogExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

fn at(seconds: f64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_261_600) + Duration::from_nanos((seconds * 1e9).round() as u64)
}

fn exporters(transport: &str, compression: &str, endpoint: &str) -> (SpanExporter, LogExporter) {
    let packing = match compression {
        "gzip" => Some(Compression::Gzip),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    };
    macro_rules! tonic {
        ($exporter:ty) => {{
            let builder = <$exporter>::builder().with_tonic().with_endpoint(endpoint);
            match packing {
                Some(packing) => builder.with_compression(packing).build().unwrap(),
                None => builder.build().unwrap(),
            }
        }};
    }
    macro_rules! http {
        ($exporter:ty, $path:literal, $protocol:expr) => {{
            let url = format!("{endpoint}/v1/{}", $path);
            let builder = <$exporter>::builder().with_http().with_endpoint(url).with_protocol($protocol);
            match packing {
                Some(packing) => builder.with_compression(packing).build().unwrap(),
                None => builder.build().unwrap(),
            }
        }};
    }
    match transport {
        "grpc" => (tonic!(SpanExporter), tonic!(LogExporter)),
        "http/json" => (
            http!(SpanExporter, "traces", Protocol::HttpJson),
            http!(LogExporter, "logs", Protocol::HttpJson),
        ),
        _ => (
            http!(SpanExporter, "traces", Protocol::HttpBinary),
            http!(LogExporter, "logs", Protocol::HttpBinary),
        ),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [transport, compression, endpoint, batches, pause] = arguments.try_into().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let guard = (transport == "grpc").then(|| runtime.enter());
    let (spans, logs) = exporters(&transport, &compression, &endpoint);
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.name", "exporter"))
        .build();
    let traces = SdkTracerProvider::builder()
        .with_batch_exporter(spans)
        .with_resource(resource.clone())
        .build();
    let records = SdkLoggerProvider::builder()
        .with_batch_exporter(logs)
        .with_resource(resource)
        .build();
    let scope = InstrumentationScope::builder("emit").with_version("1").build();
    let (tracer, logger) = (traces.tracer_with_scope(scope.clone()), records.logger_with_scope(scope));
    let mut failed = false;
    for batch in 0..batches.parse::<u64>().unwrap() {
        let linked = SpanContext::new(
            TraceId::from_bytes([1; 16]),
            SpanId::from_bytes([2; 8]),
            TraceFlags::SAMPLED,
            true,
            TraceState::NONE,
        );
        let text = |words: &[&'static str]| Value::Array(words.iter().map(|word| StringValue::from(*word)).collect::<Vec<_>>().into());
        let mut root = tracer
            .span_builder("root")
            .with_kind(SpanKind::Server)
            .with_start_time(at(0.000_000_001))
            .with_links(vec![Link::new(linked, vec![KeyValue::new("l", 1)], 0)])
            .with_attributes([
                KeyValue::new("text", "größe ☃"),
                KeyValue::new("big", (1i64 << 52) + 1),
                KeyValue::new("negative", -42),
                KeyValue::new("ratio", 0.5),
                KeyValue::new("flag", true),
                KeyValue::new("words", text(&["a", "b"])),
                KeyValue::new("numbers", Value::Array(vec![1i64, 2].into())),
                KeyValue::new("batch", i64::try_from(batch).unwrap()),
            ])
            .start_with_context(&tracer, &Context::new());
        root.add_event_with_timestamp("happened", at(0.5), vec![KeyValue::new("n", 7)]);
        root.set_status(Status::error("it broke"));
        let context = Context::new().with_span(root);
        let mut child = tracer
            .span_builder("child")
            .with_kind(SpanKind::Client)
            .with_start_time(at(0.25))
            .start_with_context(&tracer, &context);
        child.end_with_timestamp(at(0.75));
        let root = context.span();
        let mut record = logger.create_log_record();
        record.set_timestamp(at(0.5));
        record.set_observed_timestamp(at(0.5));
        record.set_severity_number(Severity::Info);
        record.set_body(AnyValue::from("said"));
        record.add_attribute("n", 7);
        record.set_trace_context(
            root.span_context().trace_id(),
            root.span_context().span_id(),
            Some(TraceFlags::SAMPLED),
        );
        logger.emit(record);
        println!(
            "{} {} {}",
            root.span_context().trace_id(),
            root.span_context().span_id(),
            child.span_context().span_id()
        );
        root.end_with_timestamp(at(1.5));
        for flushed in [traces.force_flush(), records.force_flush()] {
            if let Err(error) = flushed {
                eprintln!("{error}");
                failed = true;
            }
        }
        std::thread::sleep(Duration::from_millis(pause.parse().unwrap()));
    }
    drop(guard);
    std::process::exit(if failed { 3 } else { 0 });
}

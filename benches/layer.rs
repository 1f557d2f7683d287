//! What a span costs: our layer against `tracing-opentelemetry` with the same exporter (`cargo bench --bench layer`).
//!
//! CPU time of this thread and allocations, a span; the median of interleaved rounds. The exporter drops what it gets.
//! `-- SPANS CASE SUBSCRIBER` measures so many spans a round, of the case and the subscriber of these names alone: for a profiler.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

#[path = "support/table.rs"]
mod table;

use std::alloc::System;
use std::hint::black_box;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tracing::{Dispatch, info_span};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Case = fn(&str);

const ROUNDS: usize = 9;

#[derive(Debug)]
struct Drops;

impl SpanExporter for Drops {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        black_box(batch);
        Ok(())
    }
}

fn tracer() -> SdkTracer {
    SdkTracerProvider::builder().with_simple_exporter(Drops).build().tracer("bench")
}

fn eight_fields(_: &str) {
    info_span!(
        "chat",
        openinference.span.kind = "LLM",
        llm.model_name = "gpt-4o",
        llm.provider = "openai",
        llm.token_count.prompt = 1234_u64,
        llm.token_count.completion = 56_u64,
        llm.token_count.total = 1290_u64,
        session.id = "session-1",
        output.value = "It is cold in Oslo.",
    )
    .in_scope(|| ());
}

fn eight_fields_and_a_message(message: &str) {
    info_span!(
        "chat",
        openinference.span.kind = "LLM",
        llm.model_name = "gpt-4o",
        llm.provider = "openai",
        llm.token_count.prompt = 1234_u64,
        llm.token_count.completion = 56_u64,
        llm.token_count.total = 1290_u64,
        session.id = "session-1",
        output.value = "It is cold in Oslo.",
        input.value = message,
    )
    .in_scope(|| ());
}

fn eight_short_words(_: &str) {
    info_span!(
        "chat",
        step_type = "tool_call",
        tool_name = "weather",
        tool_call_id = "call_1",
        arguments = "Oslo",
        result = "It is cold in Oslo.",
        session_id = "session-1",
        step = 3_u64,
        reward = 0.5,
    )
    .in_scope(|| ());
}

fn no_fields(_: &str) {
    info_span!("step").in_scope(|| ());
}

fn sdk_alone(tracer: &SdkTracer) {
    let mut span = tracer.start("chat");
    span.set_attributes([
        KeyValue::new("openinference.span.kind", "LLM"),
        KeyValue::new("llm.model_name", "gpt-4o"),
        KeyValue::new("llm.provider", "openai"),
        KeyValue::new("llm.token_count.prompt", 1234),
        KeyValue::new("llm.token_count.completion", 56),
        KeyValue::new("llm.token_count.total", 1290),
        KeyValue::new("session.id", "session-1"),
        KeyValue::new("output.value", "It is cold in Oslo."),
    ]);
    span.end();
}

/// Nanoseconds that this thread has run; wall time where the system does not tell.
fn cpu() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = told.and_then(|text| text.split(' ').next()?.parse().ok());
    told.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(now.as_nanos()).unwrap()
    })
}

#[derive(Default, Clone, Copy)]
struct Cost {
    nanos: f64,
    allocations: f64,
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn measure(spans: usize, work: impl Fn()) -> Cost {
    let (before, started) = (ALLOCATOR.stats(), cpu());
    for _ in 0..spans {
        work();
    }
    let nanos = cpu() - started;
    let after = ALLOCATOR.stats();
    let allocations = (after.allocations + after.reallocations) - (before.allocations + before.reallocations);
    Cost {
        nanos: nanos as f64 / spans as f64,
        allocations: allocations as f64 / spans as f64,
    }
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.nanos.total_cmp(&b.nanos));
    costs.get(costs.len() / 2).copied().unwrap_or_default()
}

fn main() {
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let spans = words.next().map_or(150_000, |word| word.parse().unwrap());
    let (case_name, subscriber_name) = (words.next(), words.next());
    let wanted = |name: &Option<String>, have: &str| name.as_deref().is_none_or(|name| name == have);
    let message = "What is the weather like in Oslo today? ".repeat(103);
    let subscribers: [(&str, Dispatch); 5] = [
        ("Registry alone", Dispatch::new(Registry::default())),
        (
            "tracing-opentelemetry",
            Dispatch::new(Registry::default().with(tracing_opentelemetry::layer().with_tracer(tracer()))),
        ),
        (
            "tracing-opentelemetry, everything off",
            Dispatch::new(
                Registry::default().with(
                    tracing_opentelemetry::layer()
                        .with_tracer(tracer())
                        .with_location(false)
                        .with_threads(false)
                        .with_target(false)
                        .with_tracked_inactivity(false),
                ),
            ),
        ),
        (
            "spanbridge",
            Dispatch::new(Registry::default().with(spanbridge::layer().with_tracer(tracer()))),
        ),
        (
            "spanbridge, no OpenTelemetry context",
            Dispatch::new(Registry::default().with(spanbridge::layer().with_tracer(tracer()).with_context_activation(false))),
        ),
    ];
    let cases: [(&str, Case); 4] = [
        ("8 agent fields", eight_fields),
        ("8 agent fields and a 4 KB message", eight_fields_and_a_message),
        ("8 short words", eight_short_words),
        ("no fields", no_fields),
    ];
    let head = ["span, subscriber", "CPU ns", "of tracing-opentelemetry", "allocations"];
    let mut table = table::Table::new("layer", &head);
    let mut row = |name: String, cost: Cost, plain: Option<&Cost>| {
        let part = plain.map_or_else(String::new, |plain| format!("{:.2}", cost.nanos / plain.nanos));
        table.row(&[name, format!("{:.0}", cost.nanos), part, format!("{:.1}", cost.allocations)]);
    };
    for (case, work) in cases.into_iter().filter(|(case, _)| wanted(&case_name, case)) {
        let mut costs = vec![Vec::new(); subscribers.len()];
        for round in 0..=ROUNDS {
            for (index, (_, dispatch)) in subscribers
                .iter()
                .enumerate()
                .filter(|(_, (name, _))| wanted(&subscriber_name, name))
            {
                let cost = tracing::dispatcher::with_default(dispatch, || measure(spans, || work(black_box(&message))));
                // The first round warms up.
                if let (Some(costs), 1..) = (costs.get_mut(index), round) {
                    costs.push(cost);
                }
            }
        }
        let costs: Vec<Cost> = costs.into_iter().map(median).collect();
        let plain = costs.get(1).filter(|_| subscriber_name.is_none());
        for ((name, _), cost) in subscribers.iter().zip(&costs).filter(|(_, cost)| cost.nanos > 0.0) {
            row(format!("{case}, {name}"), *cost, plain);
        }
    }
    if case_name.is_some() {
        return;
    }
    let tracer = tracer();
    let alone = median((0..ROUNDS).map(|_| measure(spans, || sdk_alone(&tracer))).collect());
    row("8 agent fields, the SDK alone".to_owned(), alone, None);
    table.finish(&format!("{spans} spans a round, medians of {ROUNDS} rounds"));
}

//! From the environment to a receiver: programs with variables of their own.
#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

#[path = "layer_support/harness.rs"]
mod harness;
#[path = "layer_support/receiver.rs"]
mod receiver;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use harness::{program, run};
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use receiver::receiver;
use spanbridge::layer::{Setup, SpanExt as _};
use spanbridge::span::{AnyValue, Span};
use tracing::info_span;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

fn text(span: &Span, key: &str) -> String {
    span.attributes
        .text(key)
        .unwrap_or_else(|| panic!("no {key}: {:?}", span.attributes))
        .to_owned()
}

fn one_call() {
    let _guard = spanbridge::init().unwrap();
    let span = info_span!(
        "call",
        step_type = "llm_call",
        model = "gpt-4o",
        tokens_in = 7_u64,
        input = "What is it?"
    );
    let _in_call = span.enter();
    drop(info_span!(target: "hyper::client", "noise"));
}

fn many_calls() {
    let _guard = spanbridge::init().unwrap();
    let input = "x".repeat(200_000);
    for _ in 0..60 {
        drop(info_span!("call", step_type = "llm_call", input));
    }
}

fn init_twice() {
    let _guard = spanbridge::init().unwrap();
    assert!(spanbridge::init().is_err());
    let tracer = opentelemetry::global::tracer("other code");
    tracer.start("after the second").end();
}

/// Warnings of the Layer.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "spanbridge" && *event.metadata().level() == tracing::Level::WARN {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn other_providers() {
    let warnings = Warnings::default();
    let under = |provider: SdkTracerProvider, fields: i64| {
        let layer = spanbridge::layer().with_tracer(provider.tracer("theirs"));
        let subscriber = tracing_subscriber::registry().with(layer).with(warnings.clone());
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..2 {
                let span = info_span!("many");
                for index in 0..fields {
                    span.set_field(format!("app.{index}"), index);
                }
            }
        });
        warnings.0.load(Ordering::Relaxed)
    };
    let unlimited = SdkTracerProvider::builder().with_span_limits(spanbridge::layer::span_limits());
    assert_eq!(under(unlimited.build(), 200), 0);
    assert_eq!(under(SdkTracerProvider::builder().build(), 300), 1);
}

fn a_provider_after_the_first_span() {
    tracing_subscriber::registry().with(spanbridge::layer()).init();
    drop(info_span!("too early"));
    let _guard = Setup::from_env().build().unwrap();
    drop(info_span!("in time"));
}

fn waits_for_ever() {
    let _guard = spanbridge::init().unwrap();
    drop(info_span!("call", step_type = "llm_call"));
    println!("ready");
    std::thread::sleep(Duration::from_secs(60));
}

fn spans_arrive_with_their_types_and_the_resource() {
    let (address, requests) = receiver();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-project-name=p1"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_SERVICE_NAME", "planner"),
            ("TRACEPARENT", parent),
        ],
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.head.starts_with("post /v1/traces "), "{}", request.head);
    assert!(request.head.contains("x-project-name: p1") && request.head.contains("application/x-protobuf"));
    assert_eq!(request.spans.len(), 1);
    let span = &request.spans[0];
    assert_eq!(text(span, "openinference.span.kind"), "LLM");
    assert_eq!(span.attributes.get("llm.token_count.prompt"), Some(&AnyValue::Int(7)));
    assert_eq!(span.resource.attributes.text("service.name"), Some("planner"));
    assert_eq!(span.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent.unwrap().to_string(), "b7ad6b7169203331");
    assert_eq!(span.scope.name, "spanbridge");
}

fn json_and_privacy_by_variables() {
    let (address, requests) = receiver();
    let endpoint = format!("{address}/own/path");
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OPENINFERENCE_HIDE_INPUTS", "TRUE"),
        ],
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.head.starts_with("post /own/path "), "{}", request.head);
    assert_eq!(text(&request.spans[0], "input.value"), "__REDACTED__");
    assert!(!format!("{:?}", request.spans).contains("What is it?"));
}

fn the_variables_of_traces_go_before() {
    let (address, requests) = receiver();
    let endpoint = format!("{address}/own");
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-of=all"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-of=traces"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "5000"),
        ],
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.head.starts_with("post /own "), "{}", request.head);
    for line in ["x-of: traces", "content-type: application/x-protobuf", "content-encoding: gzip"] {
        assert!(request.head.contains(line), "{line}: {}", request.head);
    }
    assert_eq!(request.spans.len(), 1);
}

fn a_second_init_leaves_the_first_as_it_is() {
    let (address, requests) = receiver();
    run("init_twice", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(request.spans[0].name, "after the second");
}

fn limits_of_other_providers_are_said_once() {
    run("other_providers", &[]);
}

fn spans_arrive_although_the_provider_was_late() {
    let (address, requests) = receiver();
    run("a_provider_after_the_first_span", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    let names = requests.recv_timeout(Duration::from_secs(5)).unwrap().spans;
    assert_eq!(names.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["in time"]);
}

fn limits_by_variables() {
    let (address, requests) = receiver();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()),
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "4"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1000"),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4"),
    ];
    run("one_call", &variables);
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    let span = &request.spans[0];
    assert_eq!((span.attributes.len(), span.dropped_attributes), (4, 2));
    assert_eq!(text(span, "llm.model_name"), "gpt-");
    run("one_call", &[variables[0], ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3"), variables[1]]);
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!((request.spans[0].attributes.len(), request.spans[0].dropped_attributes), (3, 3));
}

fn console_none_and_disabled() {
    let console = run("one_call", &[("OTEL_TRACES_EXPORTER", "console")]);
    let lines = String::from_utf8(console.stdout).unwrap();
    let line = lines
        .lines()
        .find_map(|line| Some(&line[line.find("{\"resourceSpans\"")?..]))
        .unwrap();
    assert_eq!(spanbridge::span::json::traces(line.as_bytes()).unwrap().items.len(), 1);
    let (address, requests) = receiver();
    run(
        "one_call",
        &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &address)],
    );
    run(
        "one_call",
        &[("OTEL_SDK_DISABLED", "true"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &address)],
    );
    assert!(requests.recv_timeout(Duration::from_millis(200)).is_err());
}

fn a_dead_backend_does_not_hold_the_program() {
    let started = Instant::now();
    let output = run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
        ],
    );
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("spanbridge: 1 span was not sent: ") && said.lines().count() == 1,
        "{said}"
    );
}

/// Until `waits_for_ever` has ended its span.
fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
}

#[cfg(target_os = "linux")]
fn sigterm_and_ctrl_c_flush_and_kill() {
    ends_by("TERM", 15);
    // A shell without job control starts what runs in its background with SIGINT ignored, and the Layer leaves that as it is.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    if u64::from_str_radix(ignored.trim(), 16).unwrap() & 0b10 == 0 {
        ends_by("INT", 2);
    } else {
        println!("SIGINT was not tried: it is ignored in this process");
    }
}

#[cfg(target_os = "linux")]
fn ends_by(name: &str, number: i32) {
    use std::os::unix::process::ExitStatusExt as _;
    let (address, requests) = receiver();
    let mut child = program("waits_for_ever", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)])
        .spawn()
        .unwrap();
    wait_until_ready(&mut child);
    assert!(
        Command::new("kill")
            .args([&format!("-{name}"), &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(request.spans.len(), 1);
    assert_eq!(child.wait().unwrap().signal(), Some(number));
}

fn a_span_after_the_guard() {
    drop(spanbridge::init().unwrap());
    drop(info_span!("late", step_type = "llm_call"));
    drop(info_span!("later", step_type = "llm_call"));
}

fn large_spans_leave_in_parts_and_what_the_queue_has_no_room_for_is_counted() {
    let (address, requests) = receiver();
    run("many_calls", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    let parts: Vec<usize> = requests.try_iter().map(|request| request.spans.len()).collect();
    assert_eq!(parts.iter().sum::<usize>(), 60);
    assert!(parts.iter().all(|spans| *spans <= 20), "{parts:?}");

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let output = run(
        "many_calls",
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("OTEL_BSP_MAX_QUEUE_SIZE", "10")],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    let number = |words: &str| -> usize {
        let line = said
            .lines()
            .find(|line| line.contains(words))
            .unwrap_or_else(|| panic!("{words}: {said}"));
        line.split(' ').find_map(|word| word.parse().ok()).unwrap()
    };
    let (dropped, not_sent) = (number("dropped: they ended faster"), number("not sent: "));
    assert!(said.contains("OTEL_BSP_MAX_QUEUE_SIZE"), "{said}");
    assert_eq!(dropped + not_sent, 60, "{said}");
    assert!(not_sent <= 20, "the queue, and what was taken out of it: {said}");
}

fn what_does_not_leave_is_reported() {
    let said = |program: &str, variables: &[(&str, &str)]| {
        let output = run(program, variables);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let late = said("a_span_after_the_guard", &[("OTEL_TRACES_EXPORTER", "none")]);
    assert!(late.contains("after the guard") && late.lines().count() == 1, "{late}");

    // Accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let held = std::thread::spawn(move || silent.incoming().take(1).map(Result::unwrap).collect::<Vec<_>>());
    let bound = said("one_call", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    assert!(bound.contains("1 span was not sent") && bound.contains(&address), "{bound}");
    drop(held.join());

    let words = said(
        "one_call",
        &[
            ("OTEL_TRACES_EXPORTER", "jaeger"),
            ("SPANBRIDGE_DOCUMENTS", "/nowhere"),
            ("SPANBRIDGE_FORMAT", "atiff"),
        ],
    );
    assert!(
        words.contains("OTEL_TRACES_EXPORTER=\"jaeger\"") && words.contains("atiff"),
        "{words}"
    );
    let output = program("one_call", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")])
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("127.0.0.1:4318") && words.contains("begins with http://"), "{words}");
    let alone = said(
        "one_call",
        &[("OTEL_TRACES_EXPORTER", "none"), ("SPANBRIDGE_DOCUMENTS", "/nowhere")],
    );
    assert!(alone.contains("SPANBRIDGE_FORMAT"), "{alone}");
}

fn crashes() {
    let _guard = spanbridge::init().unwrap();
    drop(info_span!("before the crash", step_type = "llm_call", tokens_in = 3_u64));
    std::process::abort();
}

fn spans_survive_a_crash_and_go_out_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().to_str().unwrap();
    let (address, requests) = receiver();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()),
        ("SPANBRIDGE_SPOOL", spool),
        ("OTEL_SERVICE_NAME", "first"),
    ];
    assert!(!program("crashes", &variables).output().unwrap().status.success());
    // Nobody takes these: they stay as well.
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
            ("SPANBRIDGE_SPOOL", spool),
        ],
    );
    assert!(requests.try_recv().is_err());
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 2);

    let mut child = program(
        "waits_for_ever",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
            ("SPANBRIDGE_SPOOL", spool),
            ("OTEL_SERVICE_NAME", "second"),
            // Its own span waits, however slow the machine is.
            ("OTEL_BSP_SCHEDULE_DELAY", "60000"),
        ],
    )
    .spawn()
    .unwrap();
    wait_until_ready(&mut child);
    let mut spans = Vec::new();
    while spans.len() < 2 {
        spans.extend(requests.recv_timeout(Duration::from_secs(5)).unwrap().spans);
    }
    let crashed = spans.iter().find(|span| span.name == "before the crash").unwrap();
    assert_eq!(crashed.resource.attributes.text("service.name"), Some("first"));
    assert_eq!(crashed.attributes.get("llm.token_count.prompt"), Some(&AnyValue::Int(3)));
    assert!(spans.iter().any(|span| span.name == "call"));
    // Only its own folder is left, with the span that waits for the next batch.
    let patience = Instant::now() + Duration::from_secs(5);
    while std::fs::read_dir(spool).unwrap().count() > 1 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    // What the killed one left goes out too; after that nothing is there.
    run("one_call", &variables);
    let names: Vec<String> = std::iter::from_fn(|| requests.recv_timeout(Duration::from_millis(500)).ok())
        .flat_map(|request| request.spans)
        .map(|span| span.name)
        .collect();
    assert_eq!(names, ["call", "call"]);
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0);
}

fn main() -> ExitCode {
    harness::main(
        named![
            one_call,
            many_calls,
            waits_for_ever,
            crashes,
            a_span_after_the_guard,
            init_twice,
            other_providers,
            a_provider_after_the_first_span
        ],
        named![
            spans_arrive_with_their_types_and_the_resource,
            json_and_privacy_by_variables,
            the_variables_of_traces_go_before,
            a_second_init_leaves_the_first_as_it_is,
            limits_of_other_providers_are_said_once,
            spans_arrive_although_the_provider_was_late,
            limits_by_variables,
            console_none_and_disabled,
            a_dead_backend_does_not_hold_the_program,
            #[cfg(target_os = "linux")]
            sigterm_and_ctrl_c_flush_and_kill,
            what_does_not_leave_is_reported,
            large_spans_leave_in_parts_and_what_the_queue_has_no_room_for_is_counted,
            spans_survive_a_crash_and_go_out_at_the_next_start,
        ],
    )
}

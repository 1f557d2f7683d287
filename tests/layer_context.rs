//! Contexts, parents and links are those of `tracing-opentelemetry`: what asks its API finds the same spans.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

use opentelemetry::trace::{SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SpanData;
use tracing::{Dispatch, Instrument as _, info_span};
use tracing_opentelemetry::{OpenTelemetrySpanExt as _, get_otel_context};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::{Registry, filter};

use crate::layer_support::{Kept, provider, run};

fn remote() -> Context {
    let (trace, span) = (TraceId::from_bytes([7; 16]), SpanId::from_bytes([8; 8]));
    Context::new().with_remote_span_context(SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default()))
}

#[derive(Debug, PartialEq)]
struct Baggage(&'static str);

/// What both layers have to agree on.
fn described(spans: &[SpanData]) -> Vec<String> {
    let mut names: BTreeMap<String, String> = spans
        .iter()
        .map(|span| (span.span_context.span_id().to_string(), span.name.to_string()))
        .collect();
    names.insert(SpanId::INVALID.to_string(), "none".to_owned());
    names.insert(remote().span().span_context().span_id().to_string(), "remote".to_owned());
    let name = |id: SpanId| names.get(&id.to_string()).cloned().unwrap_or_else(|| "unknown".to_owned());
    let mut lines: Vec<String> = spans
        .iter()
        .map(|span| {
            let links: Vec<String> = span.links.iter().map(|link| name(link.span_context.span_id())).collect();
            let events: Vec<&str> = span.events.iter().map(|event| event.name.as_ref()).collect();
            let mut set: Vec<String> = span
                .attributes
                .iter()
                .filter(|pair| pair.key.as_str() != "busy_ns" && pair.key.as_str() != "idle_ns")
                .map(|pair| format!("{}={}", pair.key, pair.value))
                .collect();
            set.sort();
            assert!(span.start_time <= span.end_time, "{}", span.name);
            let remote = span.span_context.trace_id() == remote().span().span_context().trace_id();
            format!(
                "{} {:?} in {} {} {remote} {links:?} {events:?} {set:?} {:?}",
                span.name,
                span.span_kind,
                name(span.parent_span_id),
                span.parent_span_is_remote,
                span.status,
            )
        })
        .collect();
    lines.sort();
    lines
}

/// Runs a program under both layers, with and without activation; the spans of our layer.
fn same(program: impl Fn()) -> Vec<String> {
    for activation in [false, true] {
        let spans = [true, false].map(|plain| {
            let kept = Kept::default();
            let tracer = provider(&kept).tracer("test");
            if plain {
                let layer = tracing_opentelemetry::layer()
                    .with_tracer(tracer)
                    .with_location(false)
                    .with_threads(false)
                    .with_target(false)
                    .with_context_activation(activation);
                tracing::subscriber::with_default(Registry::default().with(layer), &program);
            } else {
                let layer = spanbridge::layer()
                    .with_tracer(tracer)
                    .with_context_activation(activation)
                    .with_tracked_inactivity(true);
                tracing::subscriber::with_default(Registry::default().with(layer), &program);
            }
            assert!(!Context::current().has_active_span());
            let busy = |span: &SpanData| span.attributes.iter().filter(|pair| pair.key.as_str().ends_with("e_ns")).count();
            assert!(
                kept.spans()
                    .iter()
                    .all(|span| busy(span) == 1 && span.attributes.iter().any(|pair| pair.key.as_str() == "busy_ns"))
            );
            described(&kept.spans())
        });
        let [plain, ours] = spans;
        assert!(!plain.is_empty());
        assert_eq!(ours, plain, "activation: {activation}");
        if activation {
            return ours;
        }
    }
    Vec::new()
}

fn ask_everything(span: &tracing::Span) {
    span.set_attribute("set.number", 3);
    span.add_event("asked", vec![KeyValue::new("n", 1)]);
    span.add_link(remote().span().span_context().clone());
    span.set_status(Status::error("no"));
}

#[test]
fn a_parent_that_is_set_before_the_span_begins_is_its_parent() {
    let ours = same(|| {
        let server = info_span!("server", otel.kind = "server", otel.name = "GET /");
        server.set_parent(remote()).unwrap();
        let inside = server.in_scope(|| {
            info_span!("inner").in_scope(|| info_span!("innermost").in_scope(|| ()));
            server.context()
        });
        assert!(server.set_parent(Context::new()).is_err());
        assert_eq!(inside.span().span_context(), server.context().span().span_context());
        // It ends with nobody in it.
        let never = info_span!("never entered");
        never.set_parent(remote()).unwrap();
    });
    assert_eq!(ours.first().unwrap(), "GET / Server in remote true true [] [] [] Unset");
}

#[test]
fn what_is_set_on_a_span_reaches_it_at_any_time() {
    same(|| {
        let before = info_span!("before");
        ask_everything(&before);
        before.in_scope(|| info_span!("child").in_scope(|| ()));
        let within = info_span!("within", otel.kind = "client");
        within.in_scope(|| {
            ask_everything(&within);
            info_span!("child of it").in_scope(|| ());
        });
        let after = info_span!("after");
        after.in_scope(|| ());
        ask_everything(&after);
        ask_everything(&after);
        let context = after.context();
        context.span().set_attribute(KeyValue::new("set.context", true));
        context.span().update_name("renamed");
        let named = info_span!("named", otel.name = tracing::field::Empty, otel.kind = tracing::field::Empty);
        ask_everything(&named);
        named.record("otel.name", "later");
        named.record("otel.kind", "consumer");
        let nobody = info_span!("asked and never entered");
        ask_everything(&nobody);
        let _ = nobody.context();
    });
}

#[test]
fn explicit_parents_and_what_follows() {
    same(|| {
        let asked = info_span!("asked");
        let _ = asked.context();
        let set = info_span!("set");
        set.set_parent(remote()).unwrap();
        let plain = info_span!("plain");
        for parent in [&asked, &set, &plain] {
            let child = info_span!(parent: parent, "child");
            child.in_scope(|| info_span!("grandchild").in_scope(|| ()));
            child.follows_from(&asked);
            info_span!(parent: parent, "waiting").follows_from(parent);
        }
        plain.in_scope(|| {
            info_span!(parent: None, "root").in_scope(|| info_span!("below the root").in_scope(|| ()));
            plain.follows_from(&set);
        });
        let waits = info_span!("waits");
        waits.follows_from(&plain);
        waits.set_parent(remote()).unwrap();
    });
}

#[test]
fn values_of_a_context_stay_in_those_below_it() {
    same(|| {
        let _guard = remote().with_value(Baggage("kept")).attach();
        let span = info_span!("span");
        span.in_scope(|| {
            let asked = span.context();
            assert_eq!(asked.get::<Baggage>(), Some(&Baggage("kept")));
            info_span!("below").in_scope(|| {
                assert_eq!(tracing::Span::current().context().get::<Baggage>(), Some(&Baggage("kept")));
            });
        });
    });
}

#[test]
fn the_current_context_is_that_of_the_span() {
    run(|| {
        let outer = info_span!("outer");
        let (first, second) = (outer.clone().entered(), info_span!("second").entered());
        let inner = Context::current();
        assert_eq!(inner.span().span_context(), second.context().span().span_context());
        // Left in the wrong order.
        drop(first);
        assert_eq!(Context::current().span().span_context(), inner.span().span_context());
        drop(second);
        assert!(!Context::current().has_active_span());
        inner.span().set_attribute(KeyValue::new("late", 1));
    });
}

#[test]
fn a_span_that_two_threads_enter_first_begins_once() {
    for _ in 0..200 {
        let kept = Kept::default();
        let layer = spanbridge::layer().with_tracer(provider(&kept).tracer("test"));
        let dispatch = Dispatch::new(Registry::default().with(layer));
        let span = tracing::dispatcher::with_default(&dispatch, || info_span!("shared"));
        let barrier = Arc::new(Barrier::new(3));
        let asking = |ask: fn(&tracing::Span) -> Context| {
            let (span, barrier, dispatch) = (span.clone(), Arc::clone(&barrier), dispatch.clone());
            std::thread::spawn(move || {
                tracing::dispatcher::with_default(&dispatch, || {
                    barrier.wait();
                    ask(&span)
                })
            })
        };
        let threads = [
            asking(|span| span.in_scope(Context::current)),
            asking(|span| span.in_scope(Context::current)),
            asking(tracing::Span::context),
        ];
        let contexts = threads.map(|thread| thread.join().unwrap());
        drop(span);
        let made = kept.span("shared").0.span_context;
        assert!(contexts.iter().all(|context| *context.span().span_context() == made));
    }
}

#[test]
fn a_filter_keeps_spans_from_the_layer() {
    let kept = Kept::default();
    let layer = spanbridge::layer().with_tracer(provider(&kept).tracer("test"));
    let filtered = layer.with_filter(filter::filter_fn(|metadata| metadata.name() != "hidden"));
    tracing::subscriber::with_default(Registry::default().with(filtered), || {
        let hidden = info_span!("hidden");
        info_span!(parent: &hidden, "seen").in_scope(|| ());
        ask_everything(&hidden);
        assert!(!hidden.context().has_active_span());
        hidden.in_scope(|| info_span!("contextual").in_scope(|| ()));
    });
    let names: Vec<String> = kept.spans().iter().map(|span| span.name.to_string()).collect();
    assert_eq!(names, ["seen", "contextual"]);
}

#[test]
fn a_dispatch_gives_the_context_of_a_span() {
    let kept = run(|| {
        let span = info_span!("span");
        let found = span
            .with_subscriber(|(id, dispatch)| get_otel_context(id, dispatch))
            .flatten()
            .unwrap();
        span.in_scope(|| assert_eq!(Context::current().span().span_context(), found.span().span_context()));
        drop(span);
        // It has ended, and what keeps its context changes nothing.
        found.span().set_attribute(KeyValue::new("late", 1));
        let mut future = Box::pin(async { tracing::Span::current().context() }.instrument(info_span!("future")));
        let polled = future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        assert!(polled.is_ready());
    });
    assert!(!kept.span("span").has("late"));
    assert!(!kept.span("future").0.span_context.span_id().to_string().is_empty());
}

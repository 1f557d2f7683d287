//! Code that looks at spans while they begin or end, and subscribers beside each other.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, Span as SdkSpan, SpanData, SpanProcessor};
use tracing::{Dispatch, Span, Subscriber, dispatcher, info, info_span};
use tracing_opentelemetry::{OpenTelemetrySpanExt as _, get_otel_context};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::layer_support::{Kept, provider};

/// Does something when spans begin, and when they end.
struct Doing<F>(F);

impl<F> std::fmt::Debug for Doing<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doing").finish_non_exhaustive()
    }
}

impl<F: Fn(&str, bool) + Send + Sync> SpanProcessor for Doing<F> {
    fn on_start(&self, span: &mut SdkSpan, _: &Context) {
        let name = span.exported_data().unwrap().name;
        (self.0)(&name, true);
    }

    fn on_end(&self, span: SpanData) {
        (self.0)(&span.name, false);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn doing(kept: &Kept, what: impl Fn(&str, bool) + Send + Sync + 'static) -> Dispatch {
    let provider = SdkTracerProvider::builder()
        .with_span_processor(Doing(what))
        .with_simple_exporter(kept.clone())
        .build();
    Dispatch::new(Registry::default().with(spanbridge::layer().with_tracer(provider.tracer("test"))))
}

fn names(kept: &Kept) -> Vec<String> {
    let mut names: Vec<String> = kept.spans().iter().map(|span| span.name.to_string()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_processor_may_use_the_span_that_begins_and_others() {
    let kept = Kept::default();
    let dispatch = doing(&kept, |name, begins| {
        if name != "work" {
            return;
        }
        let current = Span::current();
        // It is not known yet, or no longer.
        assert!(!current.context().has_active_span());
        current.set_attribute("early", 1);
        let inside = info_span!(parent: &current, "inside");
        inside.follows_from(&current);
        current.follows_from(&inside);
        current.record("later", 2);
        inside.in_scope(|| info!("seen"));
        // The registry removes no span while it removes another one: parents of spans that end then would stay open.
        if begins {
            inside.in_scope(|| info_span!("below").in_scope(|| ()));
        }
        assert!(inside.context().has_active_span());
    });
    dispatcher::with_default(&dispatch, || {
        let work = info_span!("work", later = tracing::field::Empty);
        work.in_scope(|| assert!(Context::current().has_active_span()));
        drop(work);
        assert!(!Context::current().has_active_span());
    });
    assert_eq!(names(&kept), ["below", "inside", "inside", "work"]);
    assert_eq!(kept.span("work").int("later"), 2);
}

#[test]
fn a_processor_that_panics_keeps_nobody_waiting() {
    let kept = Kept::default();
    let dispatch = doing(&kept, |name, begins| assert!(!begins || name != "bad", "on purpose"));
    dispatcher::with_default(&dispatch, || {
        let bad = info_span!("bad");
        let entering = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bad.in_scope(|| ())));
        assert!(entering.is_err());
        info_span!(parent: &bad, "child").in_scope(|| ());
        let _ = bad.context();
        bad.in_scope(|| ());
    });
    // The SDK ends its own span by itself.
    assert_eq!(names(&kept), ["bad", "child"]);
}

#[test]
fn a_span_that_closes_while_another_thread_makes_it_keeps_what_was_recorded() {
    let kept = Kept::default();
    let begins = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begins);
    let dispatch = doing(&kept, move |name, begins| {
        if begins && name == "slow" && !seen.swap(true, Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let slow = dispatcher::with_default(&dispatch, || info_span!("slow", number = 7));
    let id = slow.id();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            dispatcher::with_default(&dispatch, || {
                info_span!("other").follows_from(id);
            });
        });
        while !begins.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        drop(slow);
    });
    assert_eq!(kept.span("slow").int("number"), 7);
    let other = kept.span("other").0;
    assert_eq!(other.links.first().unwrap().span_context, kept.span("slow").0.span_context);
}

#[test]
fn ids_of_spans_that_have_closed_are_asked_about() {
    let kept = Kept::default();
    let layer = spanbridge::layer().with_tracer(provider(&kept).tracer("test"));
    let dispatch = Dispatch::new(Registry::default().with(layer));
    let found = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                dispatcher::with_default(&dispatch, || {
                    for number in 0..200 {
                        let span = info_span!("span", number);
                        let id = span.id().unwrap();
                        found.fetch_add(usize::from(span.context().has_active_span()), Ordering::Relaxed);
                        drop(span);
                        let context = get_otel_context(&id, &dispatch);
                        assert!(!context.is_some_and(|context| context.has_active_span()));
                    }
                });
            });
        }
    });
    assert_eq!((found.into_inner(), kept.spans().len()), (400, 400));
}

#[test]
fn a_subscriber_in_a_box_is_asked() {
    let kept = Kept::default();
    let layer = spanbridge::layer().with_tracer(provider(&kept).tracer("test"));
    let boxed: Box<dyn Subscriber + Send + Sync> = Box::new(Registry::default().with(layer));
    tracing::subscriber::with_default(boxed, || {
        let span = info_span!("span");
        span.set_attribute("set", 1);
        let asked = span.context();
        assert!(asked.has_active_span());
        span.in_scope(|| assert_eq!(asked.span().span_context(), Context::current().span().span_context()));
    });
    assert_eq!(kept.span("span").int("set"), 1);
}

#[test]
fn a_layer_of_tracing_opentelemetry_beside_ours_keeps_its_spans() {
    let (theirs, ours) = (Kept::default(), Kept::default());
    let plain = tracing_opentelemetry::layer()
        .with_tracer(provider(&theirs).tracer("test"))
        .with_context_activation(false);
    let layer = spanbridge::layer().with_tracer(provider(&ours).tracer("test"));
    tracing::subscriber::with_default(Registry::default().with(plain).with(layer), || {
        let outer = info_span!("outer", number = 1);
        outer.set_attribute("set", 1);
        let _outer = outer.entered();
        let inner = info_span!("inner", number = 2);
        assert!(inner.context().has_active_span());
        let _ = info_span!("never entered", number = 3).context();
    });
    for kept in [&theirs, &ours] {
        assert_eq!(names(kept), ["inner", "never entered", "outer"]);
        assert_eq!(
            ["outer", "inner", "never entered"].map(|name| kept.span(name).int("number")),
            [1, 2, 3]
        );
        let outer = kept.span("outer").0.span_context.span_id();
        assert!(
            ["inner", "never entered"]
                .iter()
                .all(|name| kept.span(name).0.parent_span_id == outer)
        );
    }
    assert_eq!(ours.span("outer").int("set"), 1);
}

#[test]
fn two_subscribers_count_their_own_spans() {
    let kept = [Kept::default(), Kept::default()];
    let dispatches = kept
        .each_ref()
        .map(|kept| Dispatch::new(Registry::default().with(spanbridge::layer().with_tracer(provider(kept).tracer("test")))));
    let [first, second] = dispatches
        .each_ref()
        .map(|dispatch| dispatcher::with_default(dispatch, || info_span!("span")));
    assert_eq!(first.id(), second.id());
    let (first, second) = (first.entered(), second.entered());
    let within = Context::current();
    drop(first);
    assert_eq!(Context::current().span().span_context(), within.span().span_context());
    drop(second);
    assert!(!Context::current().has_active_span());
    assert!(kept.iter().all(|kept| kept.spans().len() == 1));
}

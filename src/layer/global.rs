//! The default tracer of a layer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use opentelemetry::Context;
use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::env::Env;
use super::scope::own_scope;

/// Whether the global provider is one of ours.
static OURS: AtomicBool = AtomicBool::new(false);

/// Makes our provider the global one.
pub(super) fn set(provider: SdkTracerProvider) {
    global::set_tracer_provider(provider);
    OURS.store(true, Ordering::Relaxed);
}

/// Whether the global provider is one of ours, as far as we know.
pub(super) fn is_ours() -> bool {
    OURS.load(Ordering::Relaxed)
}

/// The span that started this process.
static STARTED_BY: OnceLock<Context> = OnceLock::new();

/// Makes root spans of this process children of `TRACEPARENT` and `TRACESTATE`, if set.
pub(super) fn continue_from(env: &Env) {
    let Some(parent) = env.text("TRACEPARENT") else { return };
    let mut carrier = HashMap::from([("traceparent".to_owned(), parent)]);
    carrier.extend(env.text("TRACESTATE").map(|state| ("tracestate".to_owned(), state)));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    if context.has_active_span() {
        let _ = STARTED_BY.set(context);
    }
}

/// The parent of a span: the context's span, or else the one that started this process.
pub(super) fn parent(context: &Context) -> &Context {
    match STARTED_BY.get() {
        Some(root) if !context.has_active_span() => root,
        _ => context,
    }
}

/// The tracer of the global provider, looked up when spans need it, since the provider may be set after the subscriber. Spans opened before
/// that are lost.
#[derive(Debug, Clone, Default)]
pub struct GlobalTracer(Arc<OnceLock<BoxedTracer>>);

impl Tracer for GlobalTracer {
    type Span = BoxedSpan;

    fn build_with_context(&self, builder: SpanBuilder, parent_cx: &Context) -> Self::Span {
        if let Some(tracer) = self.0.get() {
            return tracer.build_with_context(builder, parent_cx);
        }
        let tracer = global::tracer_with_scope(own_scope());
        let span = tracer.build_with_context(builder, parent_cx);
        // Without a provider, spans are no-ops that have no id or their parent's.
        if span.span_context().is_valid() && span.span_context() != parent_cx.span().span_context() {
            let _ = self.0.set(tracer);
        }
        span
    }
}

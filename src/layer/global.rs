//! The tracer of a layer that was given none.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use opentelemetry::Context;
use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanBuilder, TraceContextExt as _, Tracer};
use opentelemetry_sdk::propagation::TraceContextPropagator;

use super::SCOPE;
use super::env::Env;

/// The trace that started this process.
static STARTED_BY: OnceLock<Context> = OnceLock::new();

/// Roots of this process belong to the trace of `TRACEPARENT` and `TRACESTATE`, if these are set.
pub(super) fn continue_from(env: &Env) {
    let Some(parent) = env.text("TRACEPARENT") else { return };
    let mut carrier = HashMap::from([("traceparent".to_owned(), parent)]);
    carrier.extend(env.text("TRACESTATE").map(|state| ("tracestate".to_owned(), state)));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    if context.has_active_span() {
        let _ = STARTED_BY.set(context);
    }
}

/// The parent of a span: the context's, else what started this process.
pub(super) fn parent(context: &Context) -> &Context {
    match STARTED_BY.get() {
        Some(root) if !context.has_active_span() => root,
        _ => context,
    }
}

/// The global provider's tracer, asked for when the first span needs it: the provider may be set after the subscriber.
#[derive(Debug, Clone, Default)]
pub struct GlobalTracer(Arc<OnceLock<BoxedTracer>>);

impl Tracer for GlobalTracer {
    type Span = BoxedSpan;

    fn build_with_context(&self, builder: SpanBuilder, parent_cx: &Context) -> Self::Span {
        let tracer = self.0.get_or_init(|| {
            global::tracer_with_scope(
                opentelemetry::InstrumentationScope::builder(SCOPE)
                    .with_version(env!("CARGO_PKG_VERSION"))
                    .build(),
            )
        });
        tracer.build_with_context(builder, parent_cx)
    }
}

//! The tracer of a layer that was given none.

use std::sync::{Arc, OnceLock};

use opentelemetry::Context;
use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::trace::{SpanBuilder, Tracer};

use super::SCOPE;

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

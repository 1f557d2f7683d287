//! The contexts of spans: which one a span opens in, and its own.

use std::cell::RefCell;

use opentelemetry::trace::{TraceContextExt as _, Tracer};
use opentelemetry::{Context, ContextGuard};
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::life::{Beginning, Life, Named, Stage};
use super::quiet::quietly;
use super::shadow;
use super::span_layer::Layer;

thread_local! {
    /// The contexts that this thread has entered, each with its span.
    static ENTERED: RefCell<Vec<(u64, ContextGuard)>> = const { RefCell::new(Vec::new()) };
}

/// Makes the context of a span the current one.
pub(super) fn enter(id: &Id, context: Context) {
    let guard = context.attach();
    ENTERED.with(|entered| entered.borrow_mut().push((id.into_u64(), guard)));
}

/// Makes the context current that was before.
pub(super) fn exit(id: &Id) {
    // What leaves may be dropped with it, and drops its spans: the list is free then.
    let _left = ENTERED.with(|entered| {
        let mut entered = entered.borrow_mut();
        let place = entered.iter().rposition(|(entered, _)| *entered == id.into_u64());
        place.map(|place| entered.remove(place))
    });
}

impl<S, T> Layer<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    /// The context that a span opens in.
    pub(super) fn parent(&self, attrs: &Attributes<'_>, ctx: &layer::Context<'_, S>) -> Context {
        // A filter may have kept the parent from this layer: then the span has none.
        if let Some(parent) = attrs.parent() {
            return ctx.span(parent).and_then(|span| self.context_of(&span)).unwrap_or_default();
        }
        if attrs.is_root() {
            return Context::new();
        }
        if self.flags.activate {
            return Context::current();
        }
        let current = ctx.lookup_current().and_then(|span| self.context_of(&span));
        current.unwrap_or_else(Context::current)
    }

    /// The context of a span, which begins if it has not yet.
    pub(super) fn context_of(&self, span: &SpanRef<'_, S>) -> Option<Context> {
        let (waiting, named) = loop {
            {
                let mut extensions = span.extensions_mut();
                let life = extensions.get_mut::<Life>()?;
                match &life.stage {
                    Stage::Begun(context) => return Some(context.clone()),
                    Stage::Shadow => break (None, None),
                    Stage::Beginning => {}
                    Stage::Waiting(_) => match std::mem::replace(&mut life.stage, Stage::Beginning) {
                        Stage::Waiting(waiting) => break (Some(waiting), Some(Named::of(&life.record))),
                        stage => life.stage = stage,
                    },
                }
            }
            // Another thread makes the span.
            std::thread::yield_now();
        };
        // No lock is held: samplers and processors may look at the span.
        let (Some(waiting), Some(named)) = (waiting, named) else {
            let context = shadow::context_of(&self.shadowed, &span.id());
            if let Some(life) = span.extensions_mut().get_mut::<Life>() {
                life.stage = Stage::Begun(context.clone());
            }
            return Some(context);
        };
        let beginning = Beginning::new(span);
        let (builder, parent) = waiting.builder(&named);
        let context = quietly(|| parent.with_span(self.tracer.begin(builder, &parent)));
        beginning.becomes(Stage::Begun(context.clone()));
        Some(context)
    }
}

//! The contexts of spans: the one a span opens in, and its own.

use std::cell::RefCell;
use std::sync::Arc;

use opentelemetry::trace::{TraceContextExt as _, Tracer};
use opentelemetry::{Context, ContextGuard};
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer;
use tracing_subscriber::registry::LookupSpan;

use super::life::{Named, PendingSpan, Stage};
use super::lives::{Beginning, Lives};
use super::quiet::quietly;
use super::span_layer::Layer;

thread_local! {
    /// The contexts this thread has entered, each with its span.
    static ENTERED: RefCell<Vec<(Key, ContextGuard)>> = const { RefCell::new(Vec::new()) };
}

/// Identifies a span and its layer, since each subscriber numbers its own spans.
type Key = (usize, u64);

fn key(lives: &Arc<Lives>, id: &Id) -> Key {
    (Arc::as_ptr(lives).addr(), id.into_u64())
}

/// Makes a span's context the current one.
pub(super) fn enter(lives: &Arc<Lives>, id: &Id, context: Context) {
    // The list is gone while the thread ends; then the context could never be left again.
    let _ = ENTERED.try_with(|entered| {
        let guard = context.attach();
        entered.borrow_mut().push((key(lives, id), guard));
    });
}

/// Restores the context that was current before.
pub(super) fn exit(lives: &Arc<Lives>, id: &Id) {
    // Dropping the guard may close spans, so it happens after the list is released.
    let _left = ENTERED.try_with(|entered| {
        let mut entered = entered.borrow_mut();
        let place = entered.iter().rposition(|(entered, _)| *entered == key(lives, id));
        place.map(|place| entered.remove(place))
    });
}

impl<S, T> Layer<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    /// The context in which a span opens.
    pub(super) fn parent(&self, attrs: &Attributes<'_>, ctx: &layer::Context<'_, S>) -> Context {
        // If a filter kept the parent from this layer, the span has no parent.
        if let Some(parent) = attrs.parent() {
            return self.context_of(parent).unwrap_or_default();
        }
        if attrs.is_root() {
            return Context::new();
        }
        if self.flags.activate {
            return Context::current();
        }
        let current = ctx.lookup_current().and_then(|span| self.context_of(&span.id()));
        current.unwrap_or_else(Context::current)
    }

    /// The context of a span, creating its OpenTelemetry span if necessary. `None` if this layer does not see the span, or if this thread
    /// is just creating it and a sampler or processor asks.
    pub(super) fn context_of(&self, id: &Id) -> Option<Context> {
        let lives = &self.access.0;
        let (waiting, named) = loop {
            match lives.with(id, |life| match &life.stage {
                Stage::Begun(context) => ContextLookup::Context(context.clone()),
                Stage::Shadow => ContextLookup::Shadow(life.shadow.clone()),
                stage @ Stage::Beginning(_) if stage.is_made_elsewhere() => ContextLookup::Later,
                Stage::Beginning(_) => ContextLookup::Nothing,
                Stage::Waiting(_) => match life.stage.begin() {
                    Stage::Waiting(waiting) => ContextLookup::Waiting(waiting, Named::of(&life.record)),
                    _ => ContextLookup::Nothing,
                },
            })? {
                ContextLookup::Context(context) => return Some(context),
                ContextLookup::Shadow(shadow) => {
                    let context = quietly(|| self.shadows.context_of(&shadow?))?;
                    lives.with(id, |life| life.stage = Stage::Begun(context.clone()));
                    return Some(context);
                }
                ContextLookup::Waiting(waiting, named) => break (waiting, named),
                // Another thread is creating the span.
                ContextLookup::Later => std::thread::yield_now(),
                ContextLookup::Nothing => return None,
            }
        };
        // No lock is held here, as samplers and processors may look at the span.
        let beginning = Beginning::new(lives, id);
        let (builder, parent) = waiting.builder(&named);
        let context = quietly(|| parent.with_span(self.tracer.begin(builder, &parent)));
        beginning.becomes(Stage::Begun(context.clone()), None);
        Some(context)
    }
}

enum ContextLookup {
    Context(Context),
    Shadow(Option<Id>),
    Waiting(PendingSpan, Named),
    Later,
    Nothing,
}

//! The contexts of spans: which one a span opens in, and its own.

use std::cell::RefCell;
use std::sync::Arc;

use opentelemetry::trace::{TraceContextExt as _, Tracer};
use opentelemetry::{Context, ContextGuard};
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer;
use tracing_subscriber::registry::LookupSpan;

use super::life::{Named, Stage, Waiting};
use super::lives::{Beginning, Lives};
use super::quiet::quietly;
use super::span_layer::Layer;

thread_local! {
    /// The contexts that this thread has entered, each with its span.
    static ENTERED: RefCell<Vec<(Key, ContextGuard)>> = const { RefCell::new(Vec::new()) };
}

/// A span of one of the layers: each subscriber counts its own spans.
type Key = (usize, u64);

fn key(lives: &Arc<Lives>, id: &Id) -> Key {
    (Arc::as_ptr(lives).addr(), id.into_u64())
}

/// Makes the context of a span the current one.
pub(super) fn enter(lives: &Arc<Lives>, id: &Id, context: Context) {
    // There is no list at the end of a thread: nobody could leave again.
    let _ = ENTERED.try_with(|entered| {
        let guard = context.attach();
        entered.borrow_mut().push((key(lives, id), guard));
    });
}

/// Makes the context current that was before.
pub(super) fn exit(lives: &Arc<Lives>, id: &Id) {
    // What leaves may be dropped with it, and drops its spans: the list is free then.
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
    /// The context that a span opens in.
    pub(super) fn parent(&self, attrs: &Attributes<'_>, ctx: &layer::Context<'_, S>) -> Context {
        // A filter may have kept the parent from this layer: then the span has none.
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

    /// The context of a span, which begins if it has not yet; `None` if this layer does not see it, or if this thread is making
    /// it: then a sampler or a processor asks.
    pub(super) fn context_of(&self, id: &Id) -> Option<Context> {
        let lives = &self.access.0;
        let (waiting, named) = loop {
            match lives.with(id, |life| match &life.stage {
                Stage::Begun(context) => Found::Context(context.clone()),
                Stage::Shadow => Found::Shadow(life.shadow.clone()),
                stage @ Stage::Beginning(_) if stage.is_made_elsewhere() => Found::Later,
                Stage::Beginning(_) => Found::Nothing,
                Stage::Waiting(_) => match life.stage.begin() {
                    Stage::Waiting(waiting) => Found::Waiting(waiting, Named::of(&life.record)),
                    _ => Found::Nothing,
                },
            })? {
                Found::Context(context) => return Some(context),
                Found::Shadow(shadow) => {
                    let context = quietly(|| self.shadows.context_of(&shadow?))?;
                    lives.with(id, |life| life.stage = Stage::Begun(context.clone()));
                    return Some(context);
                }
                Found::Waiting(waiting, named) => break (waiting, named),
                // Another thread makes the span.
                Found::Later => std::thread::yield_now(),
                Found::Nothing => return None,
            }
        };
        // No lock is held: samplers and processors may look at the span.
        let beginning = Beginning::new(lives, id);
        let (builder, parent) = waiting.builder(&named);
        let context = quietly(|| parent.with_span(self.tracer.begin(builder, &parent)));
        beginning.becomes(Stage::Begun(context.clone()), None);
        Some(context)
    }
}

enum Found {
    Context(Context),
    Shadow(Option<Id>),
    Waiting(Waiting, Named),
    Later,
    Nothing,
}

//! Spans as tracing-opentelemetry has them, for those who ask it about one: `OpenTelemetrySpanExt` and `get_otel_context`.
//!
//! It finds its data among the extensions of a span, and its types are its own. Few spans are ever asked about, so they get these
//! data when they are: the questions come to its layer in ours, whose subscriber is a [`Shadow`] of the real one. It looks up
//! the real spans, and hands each over first. A span that has not begun is then made by tracing-opentelemetry, through our tracer,
//! with the parent that was set meanwhile; of one that has begun it gets a second handle.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use opentelemetry::Context;
use opentelemetry::trace::Tracer;
use tracing::callsite::{Callsite, Identifier};
use tracing::dispatcher::WeakDispatch;
use tracing::field::{FieldSet, Value};
use tracing::metadata::Kind;
use tracing::span::{Attributes, Id, Record as Values};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::Layered;
use tracing_subscriber::registry::{Extensions, ExtensionsMut, LookupSpan, SpanData};

use super::access::Access;
use super::handed::{self, NUMBER};
use super::life::{Named, Stage, Waiting};
use super::lives::Beginning;
use super::tracer::LayerTracer;

/// The layer of tracing-opentelemetry on the shadow of a subscriber.
pub(super) type Shadowed<S, T> = Layered<OpenTelemetryLayer<Shadow<S, T>, LayerTracer<T>>, Shadow<S, T>>;

/// A subscriber whose spans are those of another.
pub(super) struct Shadow<S, T> {
    of: OnceLock<WeakDispatch>,
    access: Access,
    tracer: LayerTracer<T>,
    subscriber: PhantomData<fn() -> S>,
}

thread_local! {
    /// The span that this thread hands over.
    static HANDING: Cell<Option<u64>> = const { Cell::new(None) };
}

pub(super) fn shadowed<S, T>(tracer: LayerTracer<T>, access: Access) -> Shadowed<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    let shadow = Shadow {
        of: OnceLock::new(),
        access,
        tracer: tracer.clone(),
        subscriber: PhantomData,
    };
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_subscriber(shadow)
}

/// The context of a span that tracing-opentelemetry makes. It has begun then.
pub(super) fn context_of<S, T>(shadowed: &Shadowed<S, T>, id: &Id) -> Context
where
    Shadowed<S, T>: Subscriber,
{
    shadowed.enter(id);
    let context = Context::current();
    shadowed.exit(id);
    context
}

/// Tells tracing-opentelemetry what was recorded in `otel.name` and `otel.kind`.
pub(super) fn rename<S, T>(shadowed: &Shadowed<S, T>, id: &Id, named: &Named)
where
    Shadowed<S, T>: Subscriber,
{
    let fields = OWN.fields();
    let (Some(name), Some(kind)) = (fields.field("otel.name"), fields.field("otel.kind")) else {
        return;
    };
    let word = named.kind.as_ref().map(|kind| format!("{kind:?}"));
    let values = [
        (&name, Some(&&*named.name as &dyn Value)),
        (&kind, word.as_ref().map(|word| word as &dyn Value)),
    ];
    shadowed.record(id, &Values::new(&fields.value_set(&values)));
}

impl<S, T> Shadow<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    /// Hands a span over, if that has not been done.
    fn hand(&self, shadowed: &Shadowed<S, T>, id: &Id) {
        let lives = &self.access.0;
        let (stage, named, metadata) = loop {
            let found = lives.with(id, |life| match &life.stage {
                Stage::Beginning => ControlFlow::Continue(()),
                _ if life.shadowed => ControlFlow::Break(None),
                _ => {
                    life.shadowed = true;
                    let stage = std::mem::replace(&mut life.stage, Stage::Beginning);
                    ControlFlow::Break(Some((stage, Named::of(&life.record), life.record.plan.metadata)))
                }
            });
            match found {
                Some(ControlFlow::Break(Some(found))) => break found,
                None | Some(ControlFlow::Break(None)) => return,
                // Another thread makes the span or hands it over.
                Some(ControlFlow::Continue(())) => std::thread::yield_now(),
            }
        };
        let beginning = Beginning::new(lives, id);
        let outer = HANDING.replace(Some(id.into_u64()));
        match stage {
            Stage::Waiting(waiting) => {
                self.hand_waiting(shadowed, metadata, id, waiting, &named);
                beginning.becomes(Stage::Shadow);
            }
            Stage::Begun(context) => {
                handed::sharing(context.clone(), || {
                    let _current = context.clone().attach();
                    open(shadowed, metadata);
                    context_of(shadowed, id);
                });
                beginning.becomes(Stage::Begun(context));
            }
            stage => beginning.becomes(stage),
        }
        HANDING.set(outer);
    }

    fn hand_waiting(&self, shadowed: &Shadowed<S, T>, metadata: &'static Metadata<'static>, id: &Id, waiting: Waiting, named: &Named) {
        let _current = waiting.parent.clone().attach();
        open(shadowed, metadata);
        let fields = OWN.fields();
        if let Some(field) = fields.field(NUMBER) {
            let number = self.tracer.handed().keep(waiting);
            shadowed.record(id, &Values::new(&fields.value_set(&[(&field, Some(&number as &dyn Value))])));
        }
        rename(shadowed, id, named);
    }
}

/// The span that is handed over opens for tracing-opentelemetry, with the current context as its parent.
fn open(shadowed: &impl Subscriber, metadata: &'static Metadata<'static>) {
    let none: [(&tracing::field::Field, Option<&dyn Value>); 0] = [];
    shadowed.new_span(&Attributes::new(metadata, &metadata.fields().value_set(&none)));
}

/// The fields that we record there.
struct Own;

static OWN_CALLSITE: Own = Own;
static OWN: Metadata<'static> = Metadata::new(
    "handed",
    "spanbridge",
    Level::TRACE,
    None,
    None,
    None,
    FieldSet::new(&[NUMBER, "otel.name", "otel.kind"], Identifier(&OWN_CALLSITE)),
    Kind::SPAN,
);

impl Callsite for Own {
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        &OWN
    }
}

impl<S, T> Subscriber for Shadow<S, T>
where
    S: 'static,
    T: 'static,
{
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        let _ = self.of.set(subscriber.downgrade());
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(HANDING.get().unwrap_or(u64::MAX))
    }

    fn record(&self, _: &Id, _: &Values<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A span of the real subscriber, which lives as long.
pub(super) struct Held<D> {
    data: D,
    // After the span: fields are dropped in this order.
    _subscriber: Dispatch,
}

impl<'a, S, T> LookupSpan<'a> for Shadow<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    type Data = Held<<S as LookupSpan<'a>>::Data>;

    #[expect(unsafe_code, reason = "the span borrows from a subscriber that is kept beside it")]
    fn span_data(&'a self, id: &Id) -> Option<Self::Data> {
        let dispatch = self.of.get()?.upgrade()?;
        let subscriber: *const S = dispatch.downcast_ref::<S>()?;
        // SAFETY: the subscriber is behind a pointer of `dispatch`, which is kept for as long as the span and dropped after it.
        let subscriber: &'a S = unsafe { &*subscriber };
        if HANDING.get() != Some(id.into_u64())
            && let Some(shadowed) = dispatch.downcast_ref::<Shadowed<S, T>>()
        {
            self.hand(shadowed, id);
        }
        let data = subscriber.span_data(id)?;
        Some(Held {
            data,
            _subscriber: dispatch,
        })
    }
}

impl<'a, D: SpanData<'a>> SpanData<'a> for Held<D> {
    fn id(&self) -> Id {
        self.data.id()
    }

    fn metadata(&self) -> &'static Metadata<'static> {
        self.data.metadata()
    }

    fn parent(&self) -> Option<&Id> {
        self.data.parent()
    }

    fn extensions(&self) -> Extensions<'_> {
        self.data.extensions()
    }

    fn extensions_mut(&self) -> ExtensionsMut<'_> {
        self.data.extensions_mut()
    }
}

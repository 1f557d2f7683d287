//! Makes our spans visible to tracing-opentelemetry's `OpenTelemetrySpanExt` and `get_otel_context`.
//!
//! tracing-opentelemetry looks for its own private types among a span's extensions. Few spans are ever looked up, so they get that data
//! only on demand, in a separate internal registry with a layer of tracing-opentelemetry. Look-ups reach a second such layer, whose
//! subscriber is [`Shadows`]. It gives each span that is looked up a counterpart in the internal registry, its shadow. If the span has not
//! begun, tracing-opentelemetry then creates it through our tracer, with the parent set in the meantime; if it has, tracing-opentelemetry
//! gets a second handle to it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt as _, Tracer};
use tracing::callsite::{Callsite, Identifier};
use tracing::field::{FieldSet, Value};
use tracing::metadata::Kind;
use tracing::span::{Attributes, Id, Record as Values};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::layer::Layered;
use tracing_subscriber::registry::{Data, LookupSpan};
use tracing_subscriber::{Layer as _, Registry};

use super::access::Access;
use super::handed::{HandedSpan, NUMBER};
use super::life::{Named, Stage};
use super::lives::Beginning;
use super::tracer::LayerTracer;

/// The tracing-opentelemetry layer that receives look-ups.
pub(super) type LookupLayer<T> = Layered<OpenTelemetryLayer<Shadows<T>, LayerTracer<T>>, Shadows<T>>;

/// The tracing-opentelemetry layer that holds the shadows.
type ShadowLayer<T> = Layered<OpenTelemetryLayer<ShadowRegistry, LayerTracer<T>>, ShadowRegistry>;

/// A subscriber whose spans are the shadows of another subscriber's spans.
pub(super) struct Shadows<T>(Arc<Inner<T>>);

struct Inner<T> {
    access: Access,
    tracer: LayerTracer<T>,
    having: OnceLock<ShadowLayer<T>>,
    spare: Spare,
}

/// Shadows of closed spans, for reuse.
type Spare = Arc<Mutex<Vec<Id>>>;

impl<T> Clone for Shadows<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Shadows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadows").finish_non_exhaustive()
    }
}

fn on<S, T>(subscriber: S, tracer: LayerTracer<T>) -> Layered<OpenTelemetryLayer<S, LayerTracer<T>>, S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + 'static,
    T::Span: Send + Sync + 'static,
{
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_subscriber(subscriber)
}

impl<T> Shadows<T>
where
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    pub(super) fn new(tracer: LayerTracer<T>, access: Access) -> Self {
        Self(Arc::new(Inner {
            access,
            tracer,
            having: OnceLock::new(),
            spare: Spare::default(),
        }))
    }

    pub(super) fn asked(&self) -> LookupLayer<T> {
        on(self.clone(), self.0.tracer.clone())
    }

    fn having(&self) -> &ShadowLayer<T> {
        self.0.having.get_or_init(|| {
            let places = ShadowRegistry::new(Arc::clone(&self.0.spare));
            on(places, self.0.tracer.clone())
        })
    }

    /// The context of a shadow. This begins its span.
    pub(super) fn context_of(&self, shadow: &Id) -> Option<Context> {
        let _none = Context::new().attach();
        let having = self.having();
        having.enter(shadow);
        let context = Context::current();
        having.exit(shadow);
        context.has_active_span().then_some(context)
    }

    /// Passes the recorded `otel.name` and `otel.kind` to tracing-opentelemetry.
    pub(super) fn rename(&self, shadow: &Id, named: &Named) {
        let fields = OWN.fields();
        let (Some(name), Some(kind)) = (fields.field("otel.name"), fields.field("otel.kind")) else {
            return;
        };
        let word = named.kind.as_ref().map(|kind| format!("{kind:?}"));
        let values = [
            (&name, Some(&&*named.name as &dyn Value)),
            (&kind, word.as_ref().map(|word| word as &dyn Value)),
        ];
        self.having().record(shadow, &Values::new(&fields.value_set(&values)));
    }

    /// Links a span that has not begun to another span.
    pub(super) fn follow(&self, shadow: &Id, follows: &Id) {
        if let Some(follows) = self.shadow_of(follows) {
            self.having().record_follows_from(shadow, &follows);
        }
    }

    /// Releases a shadow whose span has ended.
    pub(super) fn close(&self, shadow: Id) {
        self.having().try_close(shadow.clone());
        self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).push(shadow);
    }

    /// The shadow of a span, created if necessary. `None` if the layer does not see the span, or if this thread is just creating it and a
    /// sampler or processor asks.
    fn shadow_of(&self, id: &Id) -> Option<Id> {
        let lives = &self.0.access.0;
        let (stage, named, metadata) = loop {
            let found = lives.with(id, |life| match &life.stage {
                stage @ Stage::Beginning(_) if stage.is_made_elsewhere() => ControlFlow::Continue(()),
                Stage::Beginning(_) => ControlFlow::Break(Err(None)),
                _ if life.shadow.is_some() => ControlFlow::Break(Err(life.shadow.clone())),
                _ => {
                    let stage = life.stage.begin();
                    ControlFlow::Break(Ok((stage, Named::of(&life.record), life.record.plan.metadata)))
                }
            });
            match found? {
                ControlFlow::Break(Ok(found)) => break found,
                ControlFlow::Break(Err(shadow)) => return shadow,
                // Another thread is creating the span or its shadow.
                ControlFlow::Continue(()) => std::thread::yield_now(),
            }
        };
        let beginning = Beginning::new(lives, id);
        let (shadow, stage) = match stage {
            Stage::Waiting(waiting) => {
                let shadow = self.open(metadata, waiting.parent, HandedSpan::Waiting(waiting.start, waiting.early));
                self.rename(&shadow, &named);
                (shadow, Stage::Shadow)
            }
            Stage::Begun(context) => {
                let shadow = self.open(metadata, context.clone(), HandedSpan::Begun(context.clone()));
                self.context_of(&shadow);
                (shadow, Stage::Begun(context))
            }
            stage => return beginning.becomes(stage, None),
        };
        beginning.becomes(stage, Some(shadow))
    }

    /// Opens a shadow in this context.
    fn open(&self, metadata: &'static Metadata<'static>, parent: Context, kept: HandedSpan) -> Id {
        let _current = parent.attach();
        let none: [(&tracing::field::Field, Option<&dyn Value>); 0] = [];
        let shadow = self
            .having()
            .new_span(&Attributes::new(metadata, &metadata.fields().value_set(&none)));
        let fields = OWN.fields();
        if let Some(field) = fields.field(NUMBER) {
            let number = self.0.tracer.handed().keep(kept);
            let values = [(&field, Some(&number as &dyn Value))];
            self.having().record(&shadow, &Values::new(&fields.value_set(&values)));
        }
        shadow
    }
}

/// The callsite of the fields we record on shadows.
struct HandedCallsite;

static OWN_CALLSITE: HandedCallsite = HandedCallsite;
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

impl Callsite for HandedCallsite {
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        &OWN
    }
}

/// The registry of the shadows. A registry cannot remove a span while the thread is removing one from another registry, and shadows close
/// during exactly that. So shadows are never removed, but reused.
struct ShadowRegistry {
    registry: Registry,
    spare: Spare,
    /// A span without data, for look-ups of spans that have no shadow.
    nobody: Id,
}

impl ShadowRegistry {
    fn new(spare: Spare) -> Self {
        let mut registry = Registry::default();
        // A span may get its shadow while a filter of the real registry handles another span, so this registry needs a filter too.
        registry.register_filter();
        let nobody = Self::place(&registry);
        Self { registry, spare, nobody }
    }

    fn place(registry: &Registry) -> Id {
        let none: [(&tracing::field::Field, Option<&dyn Value>); 0] = [];
        registry.new_span(&Attributes::new_root(&OWN, &OWN.fields().value_set(&none)))
    }
}

impl Subscriber for ShadowRegistry {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Self::place(&self.registry))
    }

    fn record(&self, _: &Id, _: &Values<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn try_close(&self, _: Id) -> bool {
        true
    }
}

impl<'a> LookupSpan<'a> for ShadowRegistry {
    type Data = Data<'a>;

    fn span_data(&'a self, id: &Id) -> Option<Self::Data> {
        self.registry.span_data(id)
    }
}

impl<T: 'static> Subscriber for Shadows<T> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(u64::MAX)
    }

    fn record(&self, _: &Id, _: &Values<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl<'a, T> LookupSpan<'a> for Shadows<T>
where
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    type Data = Data<'a>;

    /// Called with a span of the real subscriber; returns the data of its shadow.
    fn span_data(&'a self, id: &Id) -> Option<Self::Data> {
        let shadow = self.shadow_of(id);
        let places: &ShadowRegistry = self.having().downcast_ref()?;
        places.span_data(shadow.as_ref().unwrap_or(&places.nobody))
    }
}

//! The [`Layer`] and its configuration.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use opentelemetry::trace::Tracer;
use tracing::Subscriber;
use tracing_subscriber::registry::LookupSpan;

use super::access::Access;
use super::flags::Flags;
use super::global::GlobalTracer;
use super::limits::Provider;
use super::open::OpenSpans;
use super::privacy::Privacy;
use super::shadow::{LookupLayer, Shadows};
use super::tracer::LayerTracer;

/// A [`tracing_subscriber::Layer`] that creates OpenInference spans. See the [module documentation](super).
pub struct Layer<S, T = GlobalTracer> {
    pub(super) tracer: LayerTracer<T>,
    pub(super) shadows: Shadows<T>,
    pub(super) asked: LookupLayer<T>,
    maker: T,
    privacy: Option<Arc<Privacy>>,
    pub(super) flags: Flags,
    pub(super) access: Access,
    provider: Provider,
    pub(super) open: Option<Arc<OpenSpans>>,
    subscriber: PhantomData<fn(S)>,
}

impl<S, T> fmt::Debug for Layer<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer")
            .field("flags", &self.flags)
            .field("privacy", &self.privacy)
            .finish_non_exhaustive()
    }
}

/// A layer that uses the global tracer provider and the privacy rules of the environment.
#[must_use]
pub fn layer<S>() -> Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let tracer = GlobalTracer::default();
    Layer::assemble(tracer, Provider::Global, Privacy::from_env().shared(), Flags::default(), None)
}

impl<S, T> Layer<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    /// A layer for a provider of [`Setup`](super::Setup), which may track open spans.
    pub(super) fn ours(tracer: T, privacy: Option<Arc<Privacy>>, open: Option<Arc<OpenSpans>>) -> Self {
        Self::assemble(tracer, Provider::Ours, privacy, Flags::default(), open)
    }

    fn assemble(tracer: T, provider: Provider, privacy: Option<Arc<Privacy>>, flags: Flags, open: Option<Arc<OpenSpans>>) -> Self {
        let access = open.as_ref().map_or_else(Access::default, |open| open.access.clone());
        let ours = LayerTracer::new(tracer.clone(), provider, privacy.clone(), open.clone());
        let shadows = Shadows::new(ours.clone(), access.clone());
        Self {
            asked: shadows.asked(),
            shadows,
            tracer: ours,
            maker: tracer,
            privacy,
            flags,
            access,
            provider,
            open,
            subscriber: PhantomData,
        }
    }

    fn flagged(self, change: impl FnOnce(&mut Flags)) -> Self {
        let mut flags = self.flags;
        change(&mut flags);
        Self::assemble(self.maker, self.provider, self.privacy, flags, self.open)
    }

    /// Uses this tracer to create spans.
    ///
    /// A provider built elsewhere keeps its own limits; the SDK's default is 128 attributes per span. The Layer writes small values first,
    /// so that messages are dropped rather than the model's name, and warns once when that happens.
    #[must_use]
    pub fn with_tracer<U>(self, tracer: U) -> Layer<S, U>
    where
        U: Tracer + Clone + 'static,
        U::Span: Send + Sync + 'static,
    {
        Layer::assemble(tracer, Provider::Theirs, self.privacy, self.flags, None)
    }

    /// Hides content by these rules instead of those in the environment.
    #[must_use]
    pub fn with_privacy(self, privacy: Privacy) -> Self {
        let privacy = privacy.limited_as(self.privacy.as_deref());
        Self::assemble(self.maker, self.provider, privacy.shared(), self.flags, self.open)
    }

    /// Whether spans have `code.file.path`, `code.module.name` and `code.line.number`. Off by default.
    #[must_use]
    pub fn with_location(self, location: bool) -> Self {
        self.flagged(|flags| flags.location = location)
    }

    /// Whether spans have `thread.id` and `thread.name`. Off by default.
    #[must_use]
    pub fn with_threads(self, threads: bool) -> Self {
        self.flagged(|flags| flags.threads = threads)
    }

    /// Whether spans have `target`. Off by default, except for crates that are recognized by it (adk-rust).
    #[must_use]
    pub fn with_target(self, target: bool) -> Self {
        self.flagged(|flags| flags.target = target)
    }

    /// Whether spans have `level`. Off by default.
    #[must_use]
    pub fn with_level(self, level: bool) -> Self {
        self.flagged(|flags| flags.level = level)
    }

    /// Whether spans have `busy_ns` and `idle_ns`. Off by default.
    #[must_use]
    pub fn with_tracked_inactivity(self, busy: bool) -> Self {
        self.flagged(|flags| flags.busy = busy)
    }

    /// Whether an entered span also becomes OpenTelemetry's current context. On by default, since clients that inject `traceparent` need
    /// it.
    #[must_use]
    pub fn with_context_activation(self, activate: bool) -> Self {
        self.flagged(|flags| flags.activate = activate)
    }

    /// Whether `tracing` events become span events. On by default. Errors set the span's status in any case.
    #[must_use]
    pub fn with_events(self, events: bool) -> Self {
        self.flagged(|flags| flags.events = events)
    }
}

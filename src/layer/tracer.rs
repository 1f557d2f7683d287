//! The tracer between the Layer and the SDK; it adds the recorded attributes when spans end.
//!
//! An OpenTelemetry span lives in a context, where only its own methods can reach it. So we put a span of our own around the SDK's: it
//! writes the record when it ends, and applies the privacy rules to whatever other code sets on it.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{Event, Span, SpanBuilder, SpanContext, Status, TraceContextExt as _, Tracer};
use opentelemetry::{Context, KeyValue};

use super::handed::Handed;
use super::life::Busy;
use super::limits::{self, Provider};
use super::open::{self, OpenSpans};
use super::privacy::Privacy;
use super::record::Record;
use super::{emit, global, undelivered};

/// The data for a span that ends.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) record: Record,
    pub(super) end: SystemTime,
    pub(super) busy: Option<Box<Busy>>,
}

thread_local! {
    /// Without a destructor, since spans may close in destructors of other thread-locals that run after this one's would have.
    static CLOSING: Cell<Option<ManuallyDrop<Closing>>> = const { Cell::new(None) };
}

/// Ends the span in this context with its record.
pub(super) fn end_within(context: &Context, closing: Closing) {
    /// Restores the data of an outer span that is ending too, as a span processor may open and close spans of its own.
    struct Outer(Option<ManuallyDrop<Closing>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            drop(CLOSING.replace(self.0.take()).map(ManuallyDrop::into_inner));
        }
    }
    let end = closing.end;
    let _outer = Outer(CLOSING.replace(Some(ManuallyDrop::new(closing))));
    context.span().end_with_timestamp(end);
}

/// A tracer that creates [`LayerSpan`]s, from [`Layer::with_tracer`](super::Layer::with_tracer).
#[derive(Debug, Clone)]
pub struct LayerTracer<T> {
    inner: T,
    provider: Provider,
    privacy: Option<Arc<Privacy>>,
    open: Option<Arc<OpenSpans>>,
    handed: Arc<Handed>,
}

impl<T> LayerTracer<T> {
    pub(super) fn new(inner: T, provider: Provider, privacy: Option<Arc<Privacy>>, open: Option<Arc<OpenSpans>>) -> Self {
        Self {
            inner,
            provider,
            privacy,
            open,
            handed: Arc::default(),
        }
    }

    /// Spans handed to tracing-opentelemetry.
    pub(super) fn handed(&self) -> &Handed {
        &self.handed
    }
}

impl<T> LayerTracer<T>
where
    T: Tracer,
    T::Span: 'static,
{
    /// Creates a span.
    pub(super) fn begin(&self, mut builder: SpanBuilder, parent_cx: &Context) -> LayerSpan<T::Span> {
        if let Some(privacy) = &self.privacy {
            builder.attributes = builder.attributes.map(|list| privacy.attributes(list));
            builder.events = builder.events.map(|list| privacy.events(list));
            builder.links = builder.links.map(|list| privacy.links(list));
            builder.name = privacy.name(builder.name);
        }
        let parent = global::parent(parent_cx);
        let watched = self.open.as_ref().map(|open| (open, builder.clone()));
        let inner = self.inner.build_with_context(builder, parent);
        if !inner.is_recording() {
            undelivered::check_not_recorded(inner.span_context());
        }
        if let Some((open, builder)) = watched.filter(|_| inner.is_recording()) {
            open.started(open::started_data(&builder, parent, inner.span_context().clone()));
        }
        LayerSpan {
            inner: Inner::Made(inner),
            provider: self.provider,
            privacy: self.privacy.clone(),
            open: self.open.clone(),
        }
    }
}

impl<T> Tracer for LayerTracer<T>
where
    T: Tracer,
    T::Span: 'static,
{
    type Span = LayerSpan<T::Span>;

    fn build_with_context(&self, mut builder: SpanBuilder, parent_cx: &Context) -> Self::Span {
        if let Some(context) = self.handed.complete(&mut builder) {
            let span_context = context.span().span_context().clone();
            return LayerSpan {
                inner: Inner::Shared(context, span_context),
                provider: self.provider,
                privacy: None,
                open: None,
            };
        }
        self.begin(builder, parent_cx)
    }
}

/// A span of a [`LayerTracer`].
#[derive(Debug)]
pub struct LayerSpan<S> {
    inner: Inner<S>,
    provider: Provider,
    privacy: Option<Arc<Privacy>>,
    open: Option<Arc<OpenSpans>>,
}

#[derive(Debug)]
enum Inner<S> {
    Made(S),
    /// An existing span in this context, which receives whatever tracing-opentelemetry sets.
    Shared(Context, SpanContext),
}

impl<S: Span + 'static> LayerSpan<S> {
    /// A span of our own, subject to the privacy rules.
    pub(super) fn around(inner: S, privacy: Option<Arc<Privacy>>) -> Self {
        Self {
            inner: Inner::Made(inner),
            provider: Provider::Ours,
            privacy,
            open: None,
        }
    }

    pub(super) fn into_inner(self) -> Option<S> {
        match self.inner {
            Inner::Made(inner) => Some(inner),
            Inner::Shared(..) => None,
        }
    }

    /// Ends a span that is in no context.
    pub(super) fn close(&mut self, closing: Closing) {
        let end = closing.end;
        self.take_recorded(Some(closing));
        if let Inner::Made(inner) = &mut self.inner {
            inner.end_with_timestamp(end);
        }
    }

    /// Writes the record to the span, applying the privacy rules if any.
    fn take_recorded(&mut self, closing: Option<Closing>) {
        if let Some(open) = &self.open {
            open.ended(self.span_context());
        }
        let Some(closing) = closing.filter(|_| self.is_recording()) else {
            return;
        };
        if let Some(busy) = closing.busy {
            self.set_attributes(busy.attributes());
        }
        let attributes = match (&self.privacy, &mut self.inner) {
            (None, Inner::Made(inner)) => emit::write(closing.record, inner),
            _ => emit::write(closing.record, self),
        };
        if let Inner::Made(inner) = &self.inner
            && attributes > limits::SDK_DEFAULT
        {
            limits::check(self.provider, inner, attributes);
        }
    }
}

impl<S: Span + 'static> Span for LayerSpan<S> {
    fn add_event_with_timestamp<T>(&mut self, name: T, timestamp: SystemTime, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        match (&self.privacy, &mut self.inner) {
            (Some(privacy), Inner::Made(inner)) => {
                let event = privacy.event(Event::new(name, timestamp, attributes, 0));
                inner.add_event_with_timestamp(event.name, timestamp, event.attributes);
            }
            (None, Inner::Made(inner)) => inner.add_event_with_timestamp(name, timestamp, attributes),
            (_, Inner::Shared(context, _)) => context.span().add_event_with_timestamp(name, timestamp, attributes),
        }
    }

    fn span_context(&self) -> &SpanContext {
        match &self.inner {
            Inner::Made(inner) => inner.span_context(),
            Inner::Shared(_, span_context) => span_context,
        }
    }

    fn is_recording(&self) -> bool {
        match &self.inner {
            Inner::Made(inner) => inner.is_recording(),
            Inner::Shared(context, _) => context.span().is_recording(),
        }
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        match (&self.privacy, &mut self.inner) {
            (Some(privacy), Inner::Made(inner)) => {
                if let Some(attribute) = privacy.attribute(attribute) {
                    inner.set_attribute(attribute);
                }
            }
            (None, Inner::Made(inner)) => inner.set_attribute(attribute),
            (_, Inner::Shared(context, _)) => context.span().set_attribute(attribute),
        }
    }

    fn set_status(&mut self, status: Status) {
        match (&self.privacy, &mut self.inner) {
            (Some(privacy), Inner::Made(inner)) => inner.set_status(privacy.status(status)),
            (None, Inner::Made(inner)) => inner.set_status(status),
            // tracing-opentelemetry sets this status on every span it creates.
            (_, Inner::Shared(..)) if status == Status::Unset => {}
            (_, Inner::Shared(context, _)) => context.span().set_status(status),
        }
    }

    fn update_name<T>(&mut self, new_name: T)
    where
        T: Into<Cow<'static, str>>,
    {
        match (&self.privacy, &mut self.inner) {
            (Some(privacy), Inner::Made(inner)) => inner.update_name(privacy.name(new_name.into())),
            (None, Inner::Made(inner)) => inner.update_name(new_name),
            (_, Inner::Shared(context, _)) => context.span().update_name(new_name),
        }
    }

    fn add_link(&mut self, span_context: SpanContext, attributes: Vec<KeyValue>) {
        match (&self.privacy, &mut self.inner) {
            (Some(privacy), Inner::Made(inner)) => inner.add_link(span_context, privacy.attributes(attributes)),
            (None, Inner::Made(inner)) => inner.add_link(span_context, attributes),
            (_, Inner::Shared(context, _)) => context.span().add_link(span_context, attributes),
        }
    }

    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        if let Inner::Shared(context, _) = &self.inner {
            return context.span().end_with_timestamp(timestamp);
        }
        self.take_recorded(CLOSING.take().map(ManuallyDrop::into_inner));
        if let Inner::Made(inner) = &mut self.inner {
            inner.end_with_timestamp(timestamp);
        }
    }
}

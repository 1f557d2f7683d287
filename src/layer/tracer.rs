//! The tracer between tracing-opentelemetry and the SDK: spans get their recorded attributes when they end.
//!
//! tracing-opentelemetry keeps the OpenTelemetry span to itself. It builds it through the tracer that it was given and
//! ends it through the span that the tracer made: both are ours, so nothing has to be asked back through the dispatcher,
//! and what other code sets on the span meets the privacy rules too.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{Event, Span, SpanBuilder, SpanContext, Status, Tracer};
use opentelemetry::{Context, KeyValue};

use super::limits::{self, Provider};
use super::open::{self, OpenSpans};
use super::privacy::Privacy;
use super::record::Record;
use super::{emit, global, undelivered};

thread_local! {
    /// Without a destructor: spans may close in the destructors of other thread-locals, after this one's would have run.
    static CLOSING: Cell<Option<ManuallyDrop<Record>>> = const { Cell::new(None) };
}

/// Ends a span within `close`, which gets what was recorded.
pub(super) fn finish_with(record: Option<Record>, close: impl FnOnce()) {
    /// What an outer span has, which ends meanwhile: a span processor may open and close its own spans.
    struct Outer(Option<ManuallyDrop<Record>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            drop(CLOSING.replace(self.0.take()).map(ManuallyDrop::into_inner));
        }
    }
    let _outer = Outer(CLOSING.replace(record.map(ManuallyDrop::new)));
    close();
}

/// A tracer whose spans are [`LayerSpan`]s. Made by [`Layer::with_tracer`](super::Layer::with_tracer).
#[derive(Debug, Clone)]
pub struct LayerTracer<T> {
    inner: T,
    provider: Provider,
    privacy: Option<Arc<Privacy>>,
    open: Option<Arc<OpenSpans>>,
}

impl<T> LayerTracer<T> {
    pub(super) fn new(inner: T, provider: Provider, privacy: Option<Arc<Privacy>>, open: Option<Arc<OpenSpans>>) -> Self {
        Self {
            inner,
            provider,
            privacy,
            open,
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
            inner,
            provider: self.provider,
            privacy: self.privacy.clone(),
            open: self.open.clone(),
        }
    }
}

/// A span of a [`LayerTracer`].
#[derive(Debug)]
pub struct LayerSpan<S> {
    inner: S,
    provider: Provider,
    privacy: Option<Arc<Privacy>>,
    open: Option<Arc<OpenSpans>>,
}

impl<S: Span + 'static> LayerSpan<S> {
    /// A span of our own under the privacy rules.
    pub(super) fn around(inner: S, privacy: Option<Arc<Privacy>>) -> Self {
        Self {
            inner,
            provider: Provider::Ours,
            privacy,
            open: None,
        }
    }

    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    /// Takes what was recorded, through the privacy rules where there are any.
    fn take_recorded(&mut self) {
        if let Some(open) = &self.open {
            open.ended(self.inner.span_context());
        }
        let Some(record) = CLOSING.take().map(ManuallyDrop::into_inner) else {
            return;
        };
        if !self.inner.is_recording() {
            return;
        }
        let attributes = if self.privacy.is_some() {
            emit::write(record, self)
        } else {
            emit::write(record, &mut self.inner)
        };
        if attributes > limits::SDK_DEFAULT {
            limits::check(self.provider, &self.inner, attributes);
        }
    }
}

impl<S: Span + 'static> Span for LayerSpan<S> {
    fn add_event_with_timestamp<T>(&mut self, name: T, timestamp: SystemTime, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        match &self.privacy {
            Some(privacy) => {
                let event = privacy.event(Event::new(name, timestamp, attributes, 0));
                self.inner.add_event_with_timestamp(event.name, timestamp, event.attributes);
            }
            None => self.inner.add_event_with_timestamp(name, timestamp, attributes),
        }
    }

    fn span_context(&self) -> &SpanContext {
        self.inner.span_context()
    }

    fn is_recording(&self) -> bool {
        self.inner.is_recording()
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        match &self.privacy {
            Some(privacy) => {
                if let Some(attribute) = privacy.attribute(attribute) {
                    self.inner.set_attribute(attribute);
                }
            }
            None => self.inner.set_attribute(attribute),
        }
    }

    fn set_status(&mut self, status: Status) {
        let status = match &self.privacy {
            Some(privacy) => privacy.status(status),
            None => status,
        };
        self.inner.set_status(status);
    }

    fn update_name<T>(&mut self, new_name: T)
    where
        T: Into<Cow<'static, str>>,
    {
        match &self.privacy {
            Some(privacy) => self.inner.update_name(privacy.name(new_name.into())),
            None => self.inner.update_name(new_name),
        }
    }

    fn add_link(&mut self, span_context: SpanContext, attributes: Vec<KeyValue>) {
        let attributes = match &self.privacy {
            Some(privacy) => privacy.attributes(attributes),
            None => attributes,
        };
        self.inner.add_link(span_context, attributes);
    }

    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        self.take_recorded();
        self.inner.end_with_timestamp(timestamp);
    }

    fn end(&mut self) {
        self.take_recorded();
        self.inner.end();
    }
}

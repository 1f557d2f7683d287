//! The tracer between tracing-opentelemetry and the SDK: spans get what was recorded on them when they end.
//!
//! tracing-opentelemetry keeps the OpenTelemetry span to itself. It builds it through the tracer that it was given and
//! ends it through the span that the tracer made: both are ours, so nothing has to be asked back through the dispatcher,
//! and what other code sets on the span meets the privacy rules too.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{Span, SpanBuilder, SpanContext, Status, Tracer};
use opentelemetry::{Context, KeyValue};

use super::privacy::Privacy;
use super::record::Record;
use super::{emit, global};

thread_local! {
    static CLOSING: Cell<Option<Record>> = const { Cell::new(None) };
}

/// Ends a span within `close`, which gets what was recorded.
pub(super) fn finish_with(record: Option<Record>, close: impl FnOnce()) {
    // A span processor may open and close spans of its own while this one ends.
    let outer = CLOSING.replace(record);
    close();
    CLOSING.set(outer);
}

/// A tracer whose spans are [`LayerSpan`]s. Made by [`Layer::with_tracer`](super::Layer::with_tracer).
#[derive(Debug, Clone)]
pub struct LayerTracer<T> {
    inner: T,
    privacy: Option<Arc<Privacy>>,
}

impl<T> LayerTracer<T> {
    pub(super) fn new(inner: T, privacy: Option<Arc<Privacy>>) -> Self {
        Self { inner, privacy }
    }
}

impl<T: Tracer> Tracer for LayerTracer<T> {
    type Span = LayerSpan<T::Span>;

    fn build_with_context(&self, mut builder: SpanBuilder, parent_cx: &Context) -> Self::Span {
        if let Some(privacy) = &self.privacy {
            builder.attributes = builder.attributes.map(|list| privacy.attributes(list));
            builder.events = builder.events.map(|list| privacy.events(list));
        }
        LayerSpan {
            inner: self.inner.build_with_context(builder, global::parent(parent_cx)),
            privacy: self.privacy.clone(),
        }
    }
}

/// A span of a [`LayerTracer`].
#[derive(Debug)]
pub struct LayerSpan<S> {
    inner: S,
    privacy: Option<Arc<Privacy>>,
}

impl<S: Span> LayerSpan<S> {
    /// Takes what was recorded, through the privacy rules where there are any.
    fn take_recorded(&mut self) {
        let Some(record) = CLOSING.take() else { return };
        if !self.inner.is_recording() {
            return;
        }
        if self.privacy.is_some() {
            emit::write(record, self);
        } else {
            emit::write(record, &mut self.inner);
        }
    }
}

impl<S: Span> Span for LayerSpan<S> {
    fn add_event_with_timestamp<T>(&mut self, name: T, timestamp: SystemTime, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        let attributes = match &self.privacy {
            Some(privacy) => privacy.attributes(attributes),
            None => attributes,
        };
        self.inner.add_event_with_timestamp(name, timestamp, attributes);
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
        self.inner.update_name(new_name);
    }

    fn add_link(&mut self, span_context: SpanContext, attributes: Vec<KeyValue>) {
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

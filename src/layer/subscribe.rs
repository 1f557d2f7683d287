//! What the Layer does when spans open, change and close.

use std::any::TypeId;
use std::borrow::Cow;
use std::cell::Cell;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Event as ApiEvent, Tracer};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record as Values};
use tracing::{Dispatch, Event, Level, Subscriber, Value};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::access::Access;
use super::panics::Panic;
use super::plan::Plan;
use super::record::Record;
use super::span_layer::Layer;
use super::visit::{EventFields, Fields};
use super::{panics, tracer};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls into tracing-opentelemetry, which may hold locks of a span while the SDK logs: such events are not taken.
fn quietly(call: impl FnOnce()) {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _back = Back(INSIDE.replace(true));
    call();
}

type Slot<'a> = (&'a Field, Option<&'a dyn Value>);

/// Hands `otel.name` and `otel.kind` on, and no other field.
fn forward<R>(record: &Record, hand: impl FnOnce(&[Slot<'_>; 2]) -> R) -> Option<R> {
    let first = record.plan.forwarded.first()?;
    let second = record.plan.forwarded.get(1).unwrap_or(first);
    let text = |field: &Field| {
        let slot = record.plan.fields.get(field.index())?.slot;
        Some(record.values.get(slot)?.as_ref()?.as_str().into_owned())
    };
    let (a, b) = (text(first), text(second).filter(|_| second != first));
    let a = a.as_ref().map(|text| text as &dyn Value);
    let b = b.as_ref().map(|text| text as &dyn Value);
    if a.is_none() && b.is_none() {
        return None;
    }
    Some(hand(&[(first, a), (second, b)]))
}

impl<S, T> tracing_subscriber::Layer<S> for Layer<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        if let Some(open) = &self.open {
            open.registered(subscriber);
        }
        self.inner.on_register_dispatch(subscriber);
    }

    fn on_new_span(&self, attrs: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let metadata = attrs.metadata();
        let mut record = Record::new(Plan::get(metadata));
        attrs.record(&mut Fields(&mut record));
        let open = |values: &tracing::field::ValueSet<'_>| {
            let bare = match (attrs.parent(), attrs.is_root()) {
                (Some(parent), _) => Attributes::child_of(parent.clone(), metadata, values),
                (None, true) => Attributes::new_root(metadata, values),
                (None, false) => Attributes::new(metadata, values),
            };
            quietly(|| self.inner.on_new_span(&bare, id, ctx.clone()));
        };
        let forwarded = forward(&record, |slots| open(&metadata.fields().value_set(slots)));
        if forwarded.is_none() {
            let none: [Slot<'_>; 0] = [];
            open(&metadata.fields().value_set(&none));
        }
        // A span without fields has a record only when something is recorded on it.
        if !record.is_idle()
            && let Some(span) = ctx.span(id)
        {
            let _ = span.extensions_mut().replace(record);
        }
        if let Some(open) = &self.open {
            open.opened(id);
        }
    }

    fn on_record(&self, id: &Id, values: &Values<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        // Values format themselves while they are visited, and may use spans meanwhile: no lock is held.
        let mut changes = Record::new(Plan::get(span.metadata()));
        values.record(&mut Fields(&mut changes));
        let _ = forward(&changes, |slots| {
            let values = span.metadata().fields().value_set(slots);
            quietly(|| self.inner.on_record(id, &Values::new(&values), ctx.clone()));
        });
        if let Some(record) = Record::among(&mut span.extensions_mut(), span.metadata()) {
            record.take_changes(changes);
        }
    }

    fn on_follows_from(&self, span: &Id, follows: &Id, ctx: Context<'_, S>) {
        quietly(|| self.inner.on_follows_from(span, follows, ctx));
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        if INSIDE.get() || event.metadata().target().starts_with("opentelemetry") {
            return;
        }
        let parent = event.parent().and_then(|id| ctx.span(id));
        let Some(span) = parent.or_else(|| event.is_contextual().then(|| ctx.lookup_current()).flatten()) else {
            return;
        };
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let failed = *event.metadata().level() == Level::ERROR;
        let EventFields {
            message,
            error,
            causes,
            is_return,
            mut attributes,
        } = fields;
        let exception = error.is_some() && (failed || message.is_none());
        if let Some(error) = &error {
            let key = if exception { "exception.message" } else { "error" };
            attributes.push(KeyValue::new(key, error.clone()));
        }
        if let Some(causes) = causes {
            attributes.push(KeyValue::new("exception.stacktrace", causes));
        }
        attributes.push(KeyValue::new("level", event.metadata().level().as_str()));
        let name: Cow<'static, str> = match (&message, exception) {
            (Some(message), false) => message.clone().into(),
            (None, false) => event.metadata().name().into(),
            (message, true) => {
                attributes.extend(message.clone().map(|message| KeyValue::new("message", message)));
                "exception".into()
            }
        };
        if !(self.flags.events || exception || failed || is_return) {
            return;
        }
        if let Some(record) = Record::among(&mut span.extensions_mut(), span.metadata()) {
            if is_return {
                record.more().returned = Some(ApiEvent::new(name, SystemTime::now(), attributes, 0));
            } else if self.flags.events || exception {
                record.event(name, attributes);
            }
            if exception || failed {
                record.more().outcome.fail(error.or(message).unwrap_or_default());
            }
        }
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        if panics::seen()
            && !std::thread::panicking()
            && let Some(span) = ctx.span(id)
            && let Some(record) = span.extensions_mut().get_mut::<Record>()
        {
            record.entered();
        }
        quietly(|| self.inner.on_enter(id, ctx));
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        if std::thread::panicking() {
            if let Some(span) = ctx.span(id)
                && let Some(record) = Record::among(&mut span.extensions_mut(), span.metadata())
                && !std::mem::replace(&mut record.opened_in_panic, true)
            {
                record.panicked(Panic::now());
            }
        } else if panics::seen()
            && let Some(span) = ctx.span(id)
            && let Some(record) = span.extensions_mut().get_mut::<Record>()
        {
            record.exited();
        }
        quietly(|| self.inner.on_exit(id, ctx));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        if let Some(open) = &self.open {
            open.closed(&id);
        }
        let record = ctx.span(&id).and_then(|span| span.extensions_mut().remove::<Record>());
        tracer::finish_with(record, || quietly(|| self.inner.on_close(id, ctx)));
    }

    // SAFETY: the pointers that are given out point into `self` and to the types that are asked for.
    #[expect(unsafe_code, reason = "helpers find the Layer behind a `Dispatch`; tracing has no safe way to ask")]
    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        if id == TypeId::of::<Access>() {
            return Some(std::ptr::from_ref(&self.access).cast());
        }
        // SAFETY: the inner layer answers for its own types, by the same rule.
        unsafe { self.inner.downcast_raw(id) }
    }
}

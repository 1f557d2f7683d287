//! Implements the Layer's reactions to spans that open, change and close.

use std::any::TypeId;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Event as ApiEvent, Link, TraceContextExt as _, Tracer};
use tracing::span::{Attributes, Id, Record as Values};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::access::Access;
use super::life::{Early, Life, Named, PendingSpan, Stage};
use super::panics::Panic;
use super::plan::Plan;
use super::quiet::{is_quiet, quietly};
use super::record::Record;
use super::span_layer::Layer;
use super::tracer::Closing;
use super::visit::{EventFields, Fields};
use super::{begin, composition, panics, tracer};

impl<S, T> tracing_subscriber::Layer<S> for Layer<S, T>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Clone + 'static,
    T::Span: Send + Sync + 'static,
{
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        composition::PROCESS.place(metadata);
        Interest::always()
    }

    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        if composition::has_other_layer::<S, T>(subscriber) {
            composition::report_other_layer();
        }
        if let Some(open) = &self.open {
            open.registered(subscriber);
        }
    }

    fn on_new_span(&self, attrs: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        composition::PROCESS.span();
        let mut record = Record::new(Plan::get(attrs.metadata()));
        attrs.record(&mut Fields(&mut record));
        let waiting = PendingSpan::new(self.parent(attrs, &ctx), Early::of(self.flags, &record));
        let life = Life {
            record,
            stage: Stage::Waiting(waiting),
            left: None,
            busy: self.flags.busy.then(Box::default),
            shadow: None,
        };
        self.access.0.insert(id, life);
    }

    fn on_record(&self, id: &Id, values: &Values<'_>, _: Context<'_, S>) {
        let lives = &self.access.0;
        let Some(plan) = lives.with(id, |life| life.record.plan) else {
            return;
        };
        // Values run their own formatting code when visited, which may use spans, so no lock is held.
        let mut changes = Record::new(plan);
        values.record(&mut Fields(&mut changes));
        let renamed = lives.with(id, |life| {
            life.record.take_changes(changes);
            if plan.forwarded.is_empty() || !matches!(life.stage, Stage::Shadow) {
                return None;
            }
            Some((life.shadow.clone()?, Named::of(&life.record)))
        });
        if let Some((shadow, named)) = renamed.flatten() {
            quietly(|| self.shadows.rename(&shadow, &named));
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        let Some(context) = self.context_of(follows) else { return };
        let followed = context.span().span_context().clone();
        let late = self.access.0.with(id, |life| match &mut life.stage {
            Stage::Waiting(waiting) => {
                let early = waiting.early.get_or_insert_default();
                early.links.push(Link::with_context(followed.clone()));
                None
            }
            Stage::Shadow => Some(life.shadow.clone()),
            Stage::Begun(_) | Stage::Beginning(_) => Some(None),
        });
        let Some(Some(shadow)) = late else { return };
        if let Some(shadow) = shadow {
            // The span does not begin here, so its parent can still be set.
            quietly(|| self.shadows.follow(&shadow, follows));
        } else if let Some(context) = self.context_of(id) {
            quietly(|| context.span().add_link(followed, Vec::new()));
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        if is_quiet() || event.metadata().target().starts_with("opentelemetry") {
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
        self.access.with(&span.id(), |record| {
            if is_return {
                record.plan.returns.store(true, Ordering::Relaxed);
                record.more().returned = Some(ApiEvent::new(name, SystemTime::now(), attributes, 0));
            } else if self.flags.events || exception {
                record.event(name, attributes);
            }
            if exception || failed {
                record.more().outcome.fail(error.or(message).unwrap_or_default());
            }
        });
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        let panicked = panics::seen() && !std::thread::panicking();
        if panicked || self.flags.busy {
            self.access.0.with(id, |life| {
                if panicked {
                    life.record.entered();
                }
                if let Some(busy) = &mut life.busy {
                    busy.entered();
                }
            });
        }
        if self.flags.activate
            && let Some(context) = self.context_of(id)
        {
            begin::enter(&self.access.0, id, context);
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.access.0.with(id, |life| {
            if std::thread::panicking() {
                if !std::mem::replace(&mut life.record.opened_in_panic, true) {
                    life.record.panicked(Panic::now());
                }
            } else if panics::seen() {
                life.record.exited();
            }
            life.left = Some(SystemTime::now());
            if let Some(busy) = &mut life.busy {
                busy.left();
            }
        });
        if self.flags.activate {
            begin::exit(&self.access.0, id);
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let Some(life) = self.access.0.remove(&id) else { return };
        let named = matches!(life.stage, Stage::Waiting(_)).then(|| Named::of(&life.record));
        let closing = Closing {
            record: life.record,
            end: life.left.unwrap_or_else(SystemTime::now),
            busy: life.busy,
        };
        let shadow = life.shadow;
        quietly(|| {
            match life.stage {
                Stage::Begun(context) => tracer::end_within(&context, closing),
                Stage::Waiting(waiting) => {
                    if let Some(named) = named {
                        let (builder, parent) = waiting.builder(&named);
                        self.tracer.begin(builder, &parent).close(closing);
                    }
                }
                // It begins now at the latest.
                Stage::Shadow => {
                    if let Some(context) = shadow.as_ref().and_then(|shadow| self.shadows.context_of(shadow)) {
                        tracer::end_within(&context, closing);
                    }
                }
                // This thread is creating it, so no one else can have it.
                Stage::Beginning(_) => {}
            }
            if let Some(shadow) = shadow {
                self.shadows.close(shadow);
            }
        });
    }

    // SAFETY: the returned pointers point into `self`, at values of the requested types.
    #[expect(unsafe_code, reason = "helpers find the Layer behind a `Dispatch`; tracing has no safe way to ask")]
    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        if id == TypeId::of::<Access>() {
            return Some(std::ptr::from_ref(&self.access).cast());
        }
        // SAFETY: `asked` follows the same rule for its own types.
        unsafe { self.asked.downcast_raw(id) }
    }
}

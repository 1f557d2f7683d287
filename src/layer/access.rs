//! The way from a `tracing::Span` to its record, for helpers that know the dispatcher and not the subscriber's type.

use tracing::span::Id;
use tracing::{Dispatch, Span, Subscriber};
use tracing_subscriber::registry::LookupSpan;

use super::life::Life;
use super::record::Record;

type With = fn(&Dispatch, &Id, &mut dyn FnMut(&mut Record));

/// Remembers the subscriber's type; found through `downcast_raw`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    with: With,
}

impl Access {
    pub(super) fn of<S>() -> Self
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        Self { with: with_record::<S> }
    }

    /// Uses the record of a span of this subscriber.
    pub(super) fn with(&self, dispatch: &Dispatch, id: &Id, use_it: &mut dyn FnMut(&mut Record)) {
        (self.with)(dispatch, id, use_it);
    }
}

fn with_record<S>(dispatch: &Dispatch, id: &Id, use_it: &mut dyn FnMut(&mut Record))
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let Some(span) = dispatch.downcast_ref::<S>().and_then(|subscriber| subscriber.span(id)) else {
        return;
    };
    if let Some(life) = span.extensions_mut().get_mut::<Life>() {
        use_it(&mut life.record);
    }
}

/// Uses the record of a span; `None` if the span is disabled or no [`Layer`](super::Layer) sees it.
pub(super) fn with<R>(span: &Span, use_it: impl FnOnce(&mut Record) -> R) -> Option<R> {
    let mut use_it = Some(use_it);
    let mut result = None;
    span.with_subscriber(|(id, dispatch)| {
        if let Some(access) = dispatch.downcast_ref::<Access>() {
            access.with(dispatch, id, &mut |record| {
                if let Some(use_it) = use_it.take() {
                    result = Some(use_it(record));
                }
            });
        }
    });
    result
}

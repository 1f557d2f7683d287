//! Reaches a span's record from its `tracing::Span`, for helpers that know the dispatcher but not the subscriber's type.

use std::sync::Arc;

use opentelemetry::Context;
use tracing::Span;
use tracing::span::Id;

use super::life::Stage;
use super::lives::Lives;
use super::record::Record;

/// The open spans of a layer, found through `downcast_raw`.
#[derive(Debug, Clone, Default)]
pub(super) struct Access(pub(super) Arc<Lives>);

impl Access {
    /// Runs `use_it` on the record of a span. A lock is held meanwhile, so it must not call foreign code.
    pub(super) fn with<R>(&self, id: &Id, use_it: impl FnOnce(&mut Record) -> R) -> Option<R> {
        self.0.with(id, |life| use_it(&mut life.record))
    }

    /// The context of a span whose OpenTelemetry span has been created.
    pub(super) fn begun(&self, id: &Id) -> Option<Context> {
        let found = self.0.with(id, |life| match &life.stage {
            Stage::Begun(context) => Some(context.clone()),
            Stage::Waiting(_) | Stage::Beginning(_) | Stage::Shadow => None,
        });
        found.flatten()
    }
}

/// Runs `use_it` on the record of a span; `None` if the span is disabled or no [`Layer`](super::Layer) sees it.
pub(super) fn with<R>(span: &Span, use_it: impl FnOnce(&mut Record) -> R) -> Option<R> {
    let found = span.with_subscriber(|(id, dispatch)| dispatch.downcast_ref::<Access>()?.with(id, use_it));
    found.flatten()
}

//! What a span had before tracing-opentelemetry was asked about it. See [`super::shadow`].

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use opentelemetry::trace::SpanBuilder;
use opentelemetry::{Context, Value};

use super::life::Waiting;

/// The attribute with which the builder of such a span comes back to our tracer.
pub(super) const NUMBER: &str = "spanbridge.handed";

/// Those whose spans have not begun.
#[derive(Debug, Default)]
pub(super) struct Handed(Mutex<HashMap<i64, Waiting>>);

impl Handed {
    /// Keeps it; the number is what [`NUMBER`] has to be.
    pub(super) fn keep(&self, waiting: Waiting) -> i64 {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, waiting);
        number
    }

    /// Gives a builder that comes back what its span had. Its parent may have been set meanwhile.
    pub(super) fn complete(&self, builder: &mut SpanBuilder) {
        let Some(attributes) = &mut builder.attributes else { return };
        let Some(place) = attributes.iter().position(|pair| pair.key.as_str() == NUMBER) else {
            return;
        };
        let Value::I64(number) = attributes.remove(place).value else {
            return;
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        let Some(Waiting { start, early, .. }) = kept else { return };
        builder.start_time = Some(start);
        if let Some(early) = early {
            attributes.splice(0..0, early.attributes);
            builder.links.get_or_insert_default().splice(0..0, early.links);
        }
    }
}

thread_local! {
    static SHARED: Cell<Option<Context>> = const { Cell::new(None) };
}

/// The next span that our tracer makes on this thread within `call` is the one of this context.
pub(super) fn sharing<R>(context: Context, call: impl FnOnce() -> R) -> R {
    SHARED.set(Some(context));
    let result = call();
    SHARED.set(None);
    result
}

pub(super) fn take_shared() -> Option<Context> {
    SHARED.take()
}

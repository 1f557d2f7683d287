//! What tracing-opentelemetry gets of a span when it is asked about one. See [`super::shadow`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use opentelemetry::trace::SpanBuilder;
use opentelemetry::{Context, Value};

use super::life::Early;

/// The attribute with which the builder of such a span comes back to our tracer.
pub(super) const NUMBER: &str = "spanbridge.handed";

/// Those whose builders have not come back.
#[derive(Debug, Default)]
pub(super) struct Handed(Mutex<HashMap<i64, Kept>>);

/// What the span is.
#[derive(Debug)]
pub(super) enum Kept {
    /// One that has not begun: it opened then, and had this.
    Waiting(SystemTime, Option<Box<Early>>),
    /// The one of this context.
    Begun(Context),
}

impl Handed {
    /// Keeps it; the number is what [`NUMBER`] has to be.
    pub(super) fn keep(&self, kept: Kept) -> i64 {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, kept);
        number
    }

    /// Gives a builder that comes back what its span had; the context of the span if there is one already.
    pub(super) fn complete(&self, builder: &mut SpanBuilder) -> Option<Context> {
        let attributes = builder.attributes.as_mut()?;
        let place = attributes.iter().position(|pair| pair.key.as_str() == NUMBER)?;
        let Value::I64(number) = attributes.get(place)?.value else {
            return None;
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)?;
        attributes.remove(place);
        match kept {
            Kept::Begun(context) => return Some(context),
            Kept::Waiting(start, early) => {
                builder.start_time = Some(start);
                if let Some(early) = early {
                    attributes.splice(0..0, early.attributes);
                    builder.links.get_or_insert_default().splice(0..0, early.links);
                }
            }
        }
        None
    }
}

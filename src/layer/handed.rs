//! Spans handed to tracing-opentelemetry when it is asked about them. See [`super::shadow`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use opentelemetry::trace::SpanBuilder;
use opentelemetry::{Context, Value};

use super::life::Early;

/// Attribute that identifies such a span when its builder comes back to our tracer.
pub(super) const NUMBER: &str = "spanbridge.handed";

/// The spans whose builders have not come back yet.
#[derive(Debug, Default)]
pub(super) struct Handed(Mutex<HashMap<i64, HandedSpan>>);

/// The span that was handed out.
#[derive(Debug)]
pub(super) enum HandedSpan {
    /// Not begun yet: its start time and early attributes.
    Waiting(SystemTime, Option<Box<Early>>),
    /// Already begun, in this context.
    Begun(Context),
}

impl Handed {
    /// Stores a span; returns the value to set for [`NUMBER`].
    pub(super) fn keep(&self, kept: HandedSpan) -> i64 {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, kept);
        number
    }

    /// Restores the data of a builder that comes back; returns the span's context if it has begun already.
    pub(super) fn complete(&self, builder: &mut SpanBuilder) -> Option<Context> {
        let attributes = builder.attributes.as_mut()?;
        let place = attributes.iter().position(|pair| pair.key.as_str() == NUMBER)?;
        let Value::I64(number) = attributes.get(place)?.value else {
            return None;
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)?;
        attributes.remove(place);
        match kept {
            HandedSpan::Begun(context) => return Some(context),
            HandedSpan::Waiting(start, early) => {
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

//! Helpers for building spans.

use super::facts::PREFIX;
use crate::events::event::Thread;
use crate::operation::Failure;
use crate::span::{AnyValue, Attributes, Link, SpanId, TraceId};

/// An id that is unique in the trace: a sub-agent may use the same ids as another agent.
pub(super) fn own(thread: &Thread, id: &str) -> String {
    if thread.under.is_some() {
        format!("{} {id}", thread.id)
    } else {
        id.to_owned()
    }
}

pub(super) fn failure(message: String) -> Failure {
    Failure {
        message: Some(message),
        ..Failure::default()
    }
}

/// A link to another span, with its relation to this one.
pub(super) fn link((trace_id, span_id): (TraceId, SpanId), relation: &str) -> Link {
    let mut attributes = Attributes::default();
    attributes.push(format!("{PREFIX}relation"), AnyValue::from(relation));
    Link {
        trace_id,
        span_id,
        trace_state: String::new(),
        attributes,
        dropped_attributes: 0,
        flags: 0,
    }
}

//! Steps for tests, built by hand.

use super::{Observed, Step};
use crate::operation::{Kind, Operation};
use crate::span::UnixNanos;

/// A step of the first scope that its id names, without a span.
pub(crate) fn step(id: String, kind: Kind, name: &str, started_at: UnixNanos, ended_at: UnixNanos) -> Step {
    Step {
        id,
        span_id: None,
        parent: None,
        scope: 0,
        observed: Observed::Span,
        operation: Box::new(Operation {
            kind,
            name: name.to_owned(),
            ..Operation::default()
        }),
        started_at,
        ended_at: Some(ended_at),
        turn: None,
        dispatched_by: None,
        call_index: None,
        inside_tool: None,
        called_by: None,
        evidence: Vec::new(),
        same_call_as: None,
    }
}

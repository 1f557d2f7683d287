//! Tool calls: where their messages are, and the facts of a call that no model asked for.

use serde_json::Value;

use crate::document::json::{Object, Text};
use crate::hash::HashMap;
use crate::run::{Run, ScopeId, Step};
use crate::span::{SpanId, UnixNanos};

/// A conversation while its messages are written.
pub(super) struct Conversation<'a> {
    pub(super) run: &'a Run,
    pub(super) scope: ScopeId,
    /// The turn of the entry that is written.
    pub(super) turn: usize,
    /// The calls so far, by the ids that entries use.
    pub(super) written: HashMap<Text<'a>, WrittenCall<'a>>,
}

/// A tool call with a message.
pub(super) struct WrittenCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) arguments: Object<'a>,
    pub(super) at: UnixNanos,
    pub(super) turn: usize,
    /// Index of the result's message.
    pub(super) result: Option<usize>,
}

impl<'a> WrittenCall<'a> {
    /// A call known only from a result; it has no message.
    pub(super) fn unseen(id: Text<'a>, at: UnixNanos, turn: usize) -> Self {
        Self {
            id,
            name: Text::default(),
            arguments: Object::new(),
            at,
            turn,
            result: None,
        }
    }
}

/// A call that is in no model's output.
pub(super) struct UnaskedCall<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Option<&'a Value>,
    pub(super) span: Option<SpanId>,
    pub(super) at: UnixNanos,
}

impl<'a> UnaskedCall<'a> {
    pub(super) fn of(step: &'a Step) -> Self {
        let tool = step.operation.tool.as_ref();
        Self {
            name: tool.and_then(|tool| tool.name.as_deref()).unwrap_or(&step.operation.name),
            arguments: tool.and_then(|tool| tool.arguments.as_ref()),
            span: step.span_id,
            at: step.started_at,
        }
    }
}

//! Findings: oddities of the data, by kind.

use serde::Serialize;

use crate::span::SpanId;

/// One oddity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The span it was found at.
    pub span_id: Option<SpanId>,
    /// What is odd.
    pub kind: FindingKind,
    /// A description for people.
    pub detail: String,
}

impl Finding {
    /// A finding.
    #[must_use]
    pub fn new(span_id: Option<SpanId>, kind: FindingKind, detail: impl Into<String>) -> Self {
        Self {
            span_id,
            kind,
            detail: detail.into(),
        }
    }
}

/// What is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// The same span id arrived with different bodies; the one that ended later is used.
    DuplicateSpan,
    /// The parent is not among the spans.
    DanglingParent,
    /// A span is its own ancestor.
    ParentCycle,
    /// All times are milliseconds or microseconds instead of nanoseconds.
    TimesInOtherUnit,
    /// A span has no start.
    NoStart,
    /// The end lies before the start.
    EndBeforeStart,
    /// A span has not ended.
    Unfinished,
    /// No span without a parent arrived.
    MissingRoot,
    /// More than one span has no parent.
    SeveralRoots,
    /// A child lies outside its parent's time.
    ClockSkew,
    /// A value could not be read as its key demands.
    UnreadableValue,
    /// Two spans record one operation; one is kept.
    SameOperation,
    /// The same model call is recorded in another trace.
    SameCallAs,
    /// A log record names a missing span.
    StrayLogRecord,
    /// A span is part of a missing operation.
    StrayDetail,
    /// A tool result refers to a call that does not exist.
    ResultWithoutCall,
    /// A span continues the conversation of a span that is missing or lacks the continued messages.
    UnresolvedContinuation,
    /// Messages shared with earlier calls are omitted from a model call's input: all inputs of the trace in full would be too large.
    InputLeftOut,
    /// The history of a conversation was edited or cut.
    HistoryBranch,
    /// The spans name more than one session.
    SeveralSessions,
    /// An attribute that marks the kind of an operation has an unknown value.
    UnknownKind,
    /// Keys of an unknown dialect were read by the shapes that all dialects share.
    UnknownDialect,
    /// Attributes that no rule reads, of a known dialect or named input or output.
    UnreadAttribute,
    /// A call could belong to more than one tool execution.
    AmbiguousCall,
    /// Tokens or cost of several model calls are recorded as one sum, which the last of them gets.
    SumOfCalls,
}

//! The names in paths of traces that blocks are written to.

use crate::formats::openreward::written;
use crate::span::TraceId;

/// A trace as named in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Name {
    /// `tr_` and the client's own name, or 32 lowercase hexadecimal digits.
    pub(in crate::web) text: String,
    /// The trace in the store.
    pub(in crate::web) id: TraceId,
}

impl Name {
    /// Parses the name in a path; bare hexadecimal digits name a recorded trace.
    pub(in crate::web) fn of(text: &str) -> Self {
        let recorded = TraceId::from_hex(text.strip_prefix("tr_").unwrap_or(text));
        Self {
            text: recorded.map_or_else(|| text.to_owned(), |id| format!("tr_{id}")),
            id: recorded.unwrap_or_else(|| written::trace_id_of(text)),
        }
    }
}

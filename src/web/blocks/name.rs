//! The traces that blocks are written to, by their names in paths.

use crate::formats::openreward::written;
use crate::span::TraceId;

/// A trace as a path names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Name {
    /// `tr_` and the client's own words, or 32 small hexadecimal digits.
    pub(in crate::web) text: String,
    /// The trace in the store.
    pub(in crate::web) id: TraceId,
}

impl Name {
    /// The name in a path; hexadecimal digits alone name a recorded trace.
    pub(in crate::web) fn of(text: &str) -> Self {
        let recorded = TraceId::from_hex(text.strip_prefix("tr_").unwrap_or(text));
        Self {
            text: recorded.map_or_else(|| text.to_owned(), |id| format!("tr_{id}")),
            id: recorded.unwrap_or_else(|| written::trace_id_of(text)),
        }
    }
}

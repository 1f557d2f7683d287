//! OpenReward's blocks over HTTP: written one by one or as a list, and read back as they were written.
//!
//! The store is the only place where a block is kept: each is a span of its trace
//! ([`written`](crate::formats::openreward::written)). Beside it a [`Ledger`] holds in memory what the rules must know of the
//! traces that are written to, so that a block costs about the same however many its trace has; it is read from the store
//! again when it is needed and not there.

mod ledger;
mod post;
mod read;
mod state;

pub(super) use ledger::Ledger;
pub(super) use post::Posted;
pub(super) use read::blocks;

use crate::formats::openreward::written;
use crate::span::TraceId;

/// A trace as a path names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// `tr_` and the client's own words, or 32 small hexadecimal digits.
    pub(super) text: String,
    /// The trace in the store.
    pub(super) id: TraceId,
}

impl Name {
    /// The name in a path; hexadecimal digits alone name a recorded trace.
    pub(super) fn of(text: &str) -> Self {
        let recorded = TraceId::from_hex(text.strip_prefix("tr_").unwrap_or(text));
        Self {
            text: recorded.map_or_else(|| text.to_owned(), |id| format!("tr_{id}")),
            id: recorded.unwrap_or_else(|| written::trace_id_of(text)),
        }
    }
}

//! Losses: data that a document could not contain.

use serde::Serialize;

use crate::span::SpanId;

/// A fact that a document could not contain unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The span that has the fact; the first of several.
    #[serde(serialize_with = "as_hex", skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The fact, in the format's terms.
    pub what: String,
    /// Why.
    pub reason: LossReason,
    /// The number of further spans with this fact.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: u64,
}

/// Why a document differs from the spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossReason {
    /// The format has no place for it.
    NoPlace,
    /// Its type had to change.
    Coerced,
    /// It was divided to fit a limit.
    Split,
    /// The spans allow more than one reading.
    Ambiguous,
    /// The format demands it and the spans lack it.
    Synthesized,
}

impl Loss {
    /// A loss.
    #[must_use]
    pub fn new(span_id: Option<SpanId>, what: impl Into<String>, reason: LossReason) -> Self {
        Self {
            span_id,
            what: what.into(),
            reason,
            others: 0,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn as_hex<S: serde::Serializer>(id: &Option<SpanId>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => serializer.collect_str(id),
        None => serializer.serialize_none(),
    }
}

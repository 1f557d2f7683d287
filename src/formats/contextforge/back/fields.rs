//! Fields that documents and steps share.

use crate::formats::back::{At, Result, time};
use crate::span::UnixNanos;

/// Lists of operations in metadata, because ContextForge has no step for them.
pub(super) const GROUPS: [&str; 7] = [
    "agents",
    "chains",
    "guardrails",
    "embeddings",
    "prompts",
    "evaluators",
    "operations",
];

/// A time that must be one.
pub(super) fn stamp(at: &At<'_>) -> Result<UnixNanos> {
    let text = at.text()?;
    time(text).ok_or_else(|| at.refuse(format!("`{text}` is no ISO 8601 time")))
}

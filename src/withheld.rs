//! Values that a client left out.

/// Texts with which clients say that they left a value out.
pub(crate) fn is_withheld(text: &str) -> bool {
    // Koog without content capture; OpenInference's hide settings; logfire's scrubbing.
    matches!(text, "HIDDEN:non-empty" | "__REDACTED__") || text.starts_with("[Scrubbed due to")
}

//! Values that a client left out.

/// Texts with which clients say that they left a value out.
const WITHHELD: [&str; 10] = [
    // Koog without content capture.
    "HIDDEN:non-empty",
    // OpenInference's hide settings.
    "__REDACTED__",
    // Google ADK and Google GenAI without content capture.
    "<elided>",
    "<not specified>",
    // Filters of attributes.
    "<redacted>",
    "<REDACTED>",
    "[REDACTED]",
    "[redacted]",
    "<omitted>",
    "<hidden>",
];

/// Whether a text says that its client left the value out.
pub(crate) fn is_withheld(text: &str) -> bool {
    let begins = matches!(text.as_bytes().first(), Some(b'H' | b'_' | b'<' | b'['));
    // Logfire's scrubbing says why.
    begins && (WITHHELD.contains(&text) || text.starts_with("[Scrubbed due to"))
}

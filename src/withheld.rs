//! Recognises values that a client left out.

/// Texts that clients put in place of values they left out.
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

/// Whether a text is a printed object without a text form, and so nobody's words.
pub(crate) fn is_printed_object(text: &str) -> bool {
    let text = text.trim();
    match text.as_bytes().first() {
        // From Python, and what serializers write in its place.
        Some(b'<') => text.ends_with('>') && !text.contains('\n') && (text.contains(" at 0x") || text.contains("serializable")),
        // From JavaScript, including lists and circular objects.
        Some(b'[') => text
            .split(',')
            .all(|item| matches!(item.trim(), "[object Object]" | "[Circular]" | "[object Promise]")),
        _ => false,
    }
}

/// Whether a text means that the client left the value out.
pub(crate) fn is_withheld(text: &str) -> bool {
    let begins = matches!(text.as_bytes().first(), Some(b'H' | b'_' | b'<' | b'['));
    // Logfire's scrubbing adds the reason.
    begins && (WITHHELD.contains(&text) || text.starts_with("[Scrubbed due to") || has_only_marks(text))
}

/// Whether a text only names tools in place of their results: `[tool-result: get_weather][tool-result: get_time]` (Mastra).
fn has_only_marks(text: &str) -> bool {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|marks| marks.split("][").all(|mark| mark.starts_with("tool-result: ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_of_values_without_words() {
        for text in [
            "<langchain_core.messages.HumanMessage object at 0x7f3a>",
            "<not serializable object of type: Session>",
            "<unserializable: MessageList>",
            "[object Object]",
            "[object Object],[object Object]",
            "[Circular]",
        ] {
            assert!(is_printed_object(text), "{text}");
        }
        for text in [
            "<b>Hello</b>",
            "[object Object] is all it said",
            "[1, 2]",
            "",
            "<p>\nat 0x10 serializable\n</p>",
        ] {
            assert!(!is_printed_object(text), "{text}");
        }
    }
}

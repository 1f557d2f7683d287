//! Decides by a search for rare marks which JSON texts must be parsed at once and which may stay text until needed.

use memchr::memmem::Finder;

use super::{cut, mend};

/// Whether a text begins like JSON with members, or like such JSON in quotes.
pub(super) fn may_be_json(text: &str) -> bool {
    let begin = text.trim_start_matches(['\u{feff}', '\0']).trim_start();
    begin.starts_with(['{', '[', '"'])
}

/// Searchers for rare marks, built once because each needs tables.
#[derive(Debug, Clone)]
pub(super) struct RareMarks {
    /// The key of LangChain's dumps ([`super::constructor`]).
    dump: Finder<'static>,
    escape: Finder<'static>,
}

impl Default for RareMarks {
    fn default() -> Self {
        Self {
            dump: Finder::new("\"lc\""),
            escape: Finder::new("\\u"),
        }
    }
}

impl RareMarks {
    /// Whether a text may contain dumps, or JSON that needs mending.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        may_be_json(text) && (self.dump.find(text.as_bytes()).is_some() || self.may_need_mending(text))
    }

    /// Quick look at the ends of a text, and for rare marks.
    fn may_need_mending(&self, text: &str) -> bool {
        text.trim_start().starts_with(['{', '['])
            && (cut::may_be_cut(text) || mend::long_digits(text).is_some() || may_be_non_finite(text) || self.may_halve_characters(text))
    }

    /// Whether a text escapes a character that needs two escapes.
    fn may_halve_characters(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut escapes = self.escape.find_iter(bytes);
        escapes.any(|at| matches!(bytes.get(at + 2), Some(b'd' | b'D')))
    }
}

/// Whether a text contains `NaN` or `Infinity`, searching for their rare capitals.
fn may_be_non_finite(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.starts_with(b"NaN") || rest.starts_with(b"Infinity")
    };
    memchr::memchr2_iter(b'N', b'I', bytes).any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks() {
        let marks = RareMarks::default();
        for text in [
            r#"{"a": {"lc": 1}}"#,
            r#"[NaN]"#,
            r#"{"a": -Infinity}"#,
            r#"["\ud83d"]"#,
            r#"[12345678901234567890123]"#,
            r#"{"text": "a text that lacks its end"#,
        ] {
            assert!(marks.may_be_in(text), "{text}");
        }
        for text in [
            "NaN",
            r#"{"a": "Nancy in India \u00e9"}"#,
            r#"[1234567890123456789]"#,
            "the key \"lc\"",
        ] {
            assert!(!marks.may_be_in(text), "{text}");
        }
    }
}

//! A destination's message in a form that can be kept: one short line without secrets. Every text from a destination passes
//! through here.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use regex::Regex;

use crate::forward::header::HeaderText;

/// Maximum characters of a kept text.
const MAX_TEXT_CHARS: usize = 300;

/// Shorter values are not treated as secrets: they would be found everywhere.
const MIN_SECRET_CHARS: usize = 4;

/// Replaces a secret.
const REDACTED: &str = "[redacted]";

/// Matches the values of a destination's headers, which it may repeat in its answers.
#[derive(Debug, Default)]
pub(in crate::forward) struct Secrets(Option<Regex>);

impl Secrets {
    /// The current values and the parts in them: the token after `Bearer`, the user and password of `Basic`.
    pub(super) fn of(headers: &[HeaderText]) -> Self {
        let mut all: Vec<String> = headers.iter().flat_map(HeaderText::secrets).collect();
        for value in all.clone() {
            let Some((_, token)) = value.trim().split_once(char::is_whitespace) else {
                continue;
            };
            let token = token.trim();
            all.push(token.to_owned());
            let decoded = BASE64_STANDARD.decode(token).or_else(|_| BASE64_STANDARD_NO_PAD.decode(token));
            let Some(credentials) = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
                continue;
            };
            all.extend(credentials.split_once(':').map(|(_, password)| password.to_owned()));
            all.push(credentials);
        }
        let encoded: Vec<String> = all
            .iter()
            .flat_map(|value| [percent_encoded(value), BASE64_STANDARD_NO_PAD.encode(value)])
            .collect();
        all.extend(encoded);
        all.retain(|value| value.len() >= MIN_SECRET_CHARS);
        // Longest first: a token is part of its header.
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        all.dedup();
        let patterns: Vec<String> = all.iter().map(|value| regex::escape(value)).collect();
        let pattern = (!patterns.is_empty()).then(|| format!("(?i){}", patterns.join("|")));
        Self(pattern.and_then(|pattern| Regex::new(&pattern).ok()))
    }

    /// A text of the destination in a form that can be kept.
    pub(in crate::forward) fn cleaned(&self, text: &str) -> String {
        let clean = match &self.0 {
            Some(secrets) => secrets.replace_all(text, REDACTED),
            None => text.into(),
        };
        // Replace control characters, which a terminal would interpret.
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let mut line: String = clean.trim().chars().map(plain).take(MAX_TEXT_CHARS).collect();
        let left = clean.trim().len().saturating_sub(line.len());
        if left > 0 {
            line.push_str(&format!("… ({left} more bytes)"));
        }
        line
    }
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn secrets(headers: &[(&str, &str)]) -> Secrets {
        let header = |(name, value): &(&str, &str)| HeaderText::new((*name).to_owned(), (*value).to_owned(), false).unwrap();
        Secrets::of(&headers.iter().map(header).collect::<Vec<_>>())
    }

    #[test]
    fn no_secret_of_a_header_is_kept_in_any_form() {
        let basic = format!("Basic {}", BASE64_STANDARD.encode("me:pa55word/+"));
        let secrets = secrets(&[("authorization", "Bearer tok/en-1234"), ("x-basic", &basic), ("x-key", "kkkk-9999")]);
        for cleaned in [
            "no right: Bearer tok/en-1234",
            "token tok/en-1234 is unknown",
            "TOK/EN-1234",
            "?token=tok%2Fen-1234",
            &basic,
            "user me:pa55word/+ has no right",
            "password pa55word/+",
            "x-key: kkkk-9999",
        ] {
            let kept = secrets.cleaned(cleaned);
            assert!(kept.contains(REDACTED), "{kept}");
            for secret in ["en-1234", "EN-1234", "pa55", "9999", "bWU6"] {
                assert!(!kept.contains(secret), "{kept}");
            }
        }
        // Where the text is cut, a part of a secret would be left.
        let long = format!("{}tok/en-1234", "x".repeat(MAX_TEXT_CHARS - 4));
        assert!(!secrets.cleaned(&long).contains("tok"), "{}", secrets.cleaned(&long));
        assert_eq!(secrets.cleaned("nothing\nsecret"), "nothing secret");
    }

    #[test]
    fn a_long_text_is_cut_once() {
        let none = Secrets::default();
        let kept = none.cleaned(&"é".repeat(100_000));
        assert!(kept.ends_with("… (199400 more bytes)"), "{kept}");
        assert!(kept.len() < 700);
    }
}

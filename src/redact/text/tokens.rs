//! JSON tokens of a text, and quoting of text as JSON strings.

use std::ops::Range;

use serde::de::IgnoredAny;

/// A JSON string, number or word.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Includes the quotes.
    pub(super) range: Range<usize>,
    pub(super) is_string: bool,
    pub(super) is_key: bool,
}

impl Token {
    pub(super) fn content(&self) -> Range<usize> {
        let quote = usize::from(self.is_string);
        self.range.start + quote..self.range.end.saturating_sub(quote)
    }
}

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

pub(super) fn is_number(token: &str) -> bool {
    token.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit())
}

/// Whether a text is a JSON object, array or string, not a lone number or word.
pub(super) fn begins_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"']) && is_json(text)
}

/// Iterator over JSON tokens: collecting them could take half as many as there are bytes.
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.bytes;
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let is_between = |byte: &u8| is_space(byte) || matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':');
        let rest = bytes.get(self.at..)?;
        let begin = self.at + rest.iter().position(|byte| !is_between(byte))?;
        let is_string = bytes.get(begin) == Some(&b'"');
        let mut at = begin;
        if is_string {
            at += 1;
            while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
                at += found;
                if bytes.get(at) == Some(&b'"') {
                    break;
                }
                at += 2;
            }
            at += 1;
        } else {
            let rest = bytes.get(begin..).unwrap_or_default();
            at += rest.iter().position(is_between).unwrap_or(rest.len());
        }
        self.at = at.min(bytes.len());
        let after = bytes.get(self.at..).unwrap_or_default();
        Some(Token {
            range: begin..self.at,
            is_string,
            is_key: is_string && after.iter().find(|byte| !is_space(byte)) == Some(&b':'),
        })
    }
}

/// Text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Text as a JSON string, without the quotes.
pub(super) fn escaped(text: &str) -> String {
    let quoted = quoted(text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

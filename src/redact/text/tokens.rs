//! JSON tokens of a text, and quoting of text as JSON strings.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::json_tokens::{Kind, Tokens};

/// A string, a number or a word of JSON.
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

/// The strings, numbers and words of a JSON text, one after the other.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut all = Tokens::of(text.as_bytes());
    std::iter::from_fn(move || {
        let token = all.find(|token| matches!(token.kind, Kind::Text | Kind::CutText | Kind::Bare))?;
        Some(Token {
            is_string: token.kind != Kind::Bare,
            is_key: token.kind == Kind::Text && all.is_after_key(),
            range: token.range,
        })
    })
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

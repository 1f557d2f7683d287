//! The tokens of JSON: where a text has brackets, strings, numbers and words. Nothing is parsed, checked or copied, so a text that
//! is cut off, or is not JSON at all, has tokens too.

use std::ops::Range;

/// One token, without the white space around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Bytes of the text; those of a string with its quotes.
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `{`
    Object,
    /// `[`
    List,
    /// `}` or `]`
    End,
    Comma,
    Colon,
    Text,
    /// A string without its closing quote, at the end of the text.
    CutText,
    /// A number or a word.
    Bare,
}

impl Token {
    /// The bytes of a string without its quotes; all of another token.
    pub(crate) fn content(&self) -> Range<usize> {
        match self.kind {
            Kind::Text => self.range.start + 1..self.range.end - 1,
            Kind::CutText => self.range.start + 1..self.range.end,
            _ => self.range.clone(),
        }
    }
}

/// The tokens of a text, one after the other: there may be as many as bytes.
#[derive(Debug, Clone)]
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Whether a colon is next: then the last string was a key.
    #[cfg(feature = "server")]
    pub(crate) fn is_after_key(&self) -> bool {
        self.clone().next().is_some_and(|next| next.kind == Kind::Colon)
    }

    /// From behind the opening quote: the kind of the string, and the byte behind it.
    fn string(&self, begin: usize) -> (Kind, usize) {
        let mut at = begin;
        while let Some(found) = self.text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            at += found + 1;
            if self.text.get(at - 1) == Some(&b'"') {
                return (Kind::Text, at);
            }
            at += 1;
        }
        (Kind::CutText, self.text.len())
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let is_of_word = |byte: &u8| !is_space(byte) && !matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"');
        let rest = self.text.get(self.at..)?;
        let begin = self.at + rest.iter().position(|byte| !is_space(byte))?;
        let (kind, end) = match self.text.get(begin)? {
            b'{' => (Kind::Object, begin + 1),
            b'[' => (Kind::List, begin + 1),
            b'}' | b']' => (Kind::End, begin + 1),
            b',' => (Kind::Comma, begin + 1),
            b':' => (Kind::Colon, begin + 1),
            b'"' => self.string(begin + 1),
            _ => {
                let length = self.text.get(begin..)?.iter().position(|byte| !is_of_word(byte));
                (Kind::Bare, length.map_or(self.text.len(), |length| begin + length))
            }
        };
        self.at = end;
        Some(Token { kind, range: begin..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Kind, &str)> {
        let tokens = Tokens::of(text.as_bytes());
        tokens.filter_map(|token| Some((token.kind, text.get(token.content())?))).collect()
    }

    #[test]
    fn strings_are_one_token_whatever_they_contain() {
        assert_eq!(
            tokens(r#" {"a\"{": [-1.5e3,true] , "b\\":"é"}"#),
            [
                (Kind::Object, "{"),
                (Kind::Text, r#"a\"{"#),
                (Kind::Colon, ":"),
                (Kind::List, "["),
                (Kind::Bare, "-1.5e3"),
                (Kind::Comma, ","),
                (Kind::Bare, "true"),
                (Kind::End, "]"),
                (Kind::Comma, ","),
                (Kind::Text, r"b\\"),
                (Kind::Colon, ":"),
                (Kind::Text, "é"),
                (Kind::End, "}"),
            ]
        );
    }

    #[test]
    fn a_text_that_is_cut_off_has_tokens() {
        assert_eq!(tokens(r#"["a\"#), [(Kind::List, "["), (Kind::CutText, r"a\")]);
        assert_eq!(tokens("\""), [(Kind::CutText, "")]);
        assert_eq!(tokens("nul"), [(Kind::Bare, "nul")]);
        assert_eq!(tokens(" \n"), []);
    }
}

//! The layout of documents as text.

use std::io::{self, Write};

/// The layout of several documents in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// A single document by itself, any other number as an array; indented.
    OneOrArray,
    /// An array, indented.
    Array,
    /// One document per line.
    Lines,
}

/// The layout of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    Compact,
    /// Indented by two spaces.
    Indented,
}

/// Characters that JSON allows in a text, but at which readers of lines may end one (Python's `splitlines`).
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Number of bytes checked at a time: most texts are ASCII, for which the check is fastest.
const CHUNK: usize = 256;

/// Whether a text contains one of [`LINE_ENDS`]. Most texts do not even contain their first bytes.
fn has_line_end(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_line_end = |at: usize| matches!(bytes.get(at..), Some([0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..]));
    let mut others = bytes.chunks(CHUNK).enumerate().filter(|(_, chunk)| !chunk.is_ascii());
    others.any(|(number, chunk)| memchr::memchr2_iter(0xC2, 0xE2, chunk).any(|at| is_line_end(number * CHUNK + at)))
}

/// The same JSON, on one line for every reader of lines.
pub(crate) fn on_one_line(json: String) -> String {
    if !has_line_end(&json) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for letter in json.chars() {
        // Outside of texts, JSON has no such character.
        if LINE_ENDS.contains(&letter) {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    out
}

/// Number of bytes written at once.
const PIECE_SIZE: usize = 64 << 10;

/// Writes JSON like [`on_one_line`], piece by piece. Each write must end at a character boundary.
pub(crate) struct OneLine<'o> {
    out: &'o mut dyn Write,
    piece: Vec<u8>,
}

impl<'o> OneLine<'o> {
    pub(crate) fn new(out: &'o mut dyn Write) -> Self {
        Self {
            out,
            piece: Vec::with_capacity(PIECE_SIZE),
        }
    }
}

impl Write for OneLine<'_> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        if self.piece.len() + json.len() > PIECE_SIZE {
            self.flush()?;
        }
        self.piece.extend_from_slice(json);
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        let mut piece = String::from_utf8(piece).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if has_line_end(&piece) {
            piece = on_one_line(piece);
        }
        self.out.write_all(piece.as_bytes())?;
        self.piece = piece.into_bytes();
        self.piece.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_text_ends_a_line() {
        let value = serde_json::json!({ "a\u{2028}": "b\u{2029}c\u{85}d\n" });
        let text = on_one_line(value.to_string());
        assert_eq!(text, "{\"a\\u2028\":\"b\\u2029c\\u0085d\\n\"}");
        let mut written = Vec::new();
        crate::document::text::stream(&value, &mut written).expect("is written");
        assert_eq!(written, text.as_bytes());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn letters_are_found_wherever_they_stand() {
        for before in 0..2 * CHUNK {
            for (letter, has) in [
                ('\u{85}', true),
                ('\u{2028}', true),
                ('\u{2029}', true),
                ('\u{2026}', false),
                ('\u{a0}', false),
            ] {
                let text = format!("{}{letter}", "x".repeat(before));
                assert_eq!(has_line_end(&text), has, "{letter:?} after {before} bytes");
            }
        }
    }
}

//! Splits text into words: consecutive letters and digits, in lower case, at most [`MAX_WORD_LEN`] bytes of each.
//!
//! Each trace of a batch is one document, in which each word occurs once. Base64 and the like are not words, since users never type them.

use std::borrow::Cow;

use crate::hash::HashSet;
use crate::otlp::words::{Word, each_word};
use crate::span::{Signal, TraceId};

/// Maximum length of a word in bytes. Longer ones are truncated, also in queries, so they are still found.
const MAX_WORD_LEN: usize = 64;
/// Anything longer than this is not a word.
const MAX_RUN_LEN: usize = 512;
/// Bytes of words added at a time.
const ROW_BYTES: usize = 1 << 20;
/// Maximum number of words in a query.
const MAX_TERMS: usize = 16;

/// The words of a document, each once, separated by spaces.
#[derive(Debug, Default)]
pub(super) struct Document {
    known: HashSet<u64>,
    text: String,
    small: String,
}

impl Document {
    /// A document for a trace, whose id is a word.
    pub(super) fn of(trace: TraceId) -> Self {
        let mut document = Self::default();
        document.add(&trace.to_string());
        document
    }

    /// The words, separated by spaces, in rows of about [`ROW_BYTES`] bytes.
    pub(super) fn rows(&self) -> impl Iterator<Item = &str> {
        let mut rest = Some(&*self.text);
        std::iter::from_fn(move || {
            let text = rest?;
            let end = memchr::memchr(b' ', text.as_bytes().get(ROW_BYTES..).unwrap_or_default());
            let Some((row, behind)) = end.and_then(|end| text.split_at_checked(ROW_BYTES + end)) else {
                return rest.take();
            };
            rest = Some(behind);
            Some(row)
        })
    }

    /// Adds the words of a message.
    pub(super) fn add_message(&mut self, message: &[u8], signal: Signal) {
        each_word(message, signal, &mut |word| match word {
            Word::Text(text) => self.add(text),
            Word::Bool(is) => self.add(if is { "true" } else { "false" }),
            Word::Int(number) => self.add(&number.to_string()),
            Word::Double(number) => self.add(&number.to_string()),
        });
    }

    /// Adds the words of a text.
    fn add(&mut self, text: &str) {
        each(text, |word| {
            self.small.clear();
            small(word, &mut self.small);
            if self.known.insert(hash(&self.small)) {
                self.text.push_str(&self.small);
                self.text.push(' ');
            }
        });
    }
}

fn hash(word: &str) -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let mut hasher = foldhash::fast::FixedState::with_seed(7).build_hasher();
    hasher.write(word.as_bytes());
    hasher.finish()
}

fn small(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.chars().map(|letter| letter.to_ascii_lowercase()));
    } else {
        out.extend(word.chars().flat_map(char::to_lowercase).filter(|letter| letter.is_alphanumeric()));
    }
}

/// The words of a query, in lower case, each once.
pub(super) fn of_query(text: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    each(text, |word| {
        let mut term = String::new();
        small(word, &mut term);
        if !term.is_empty() && !terms.contains(&term) && terms.len() < MAX_TERMS {
            terms.push(term);
        }
    });
    terms
}

/// JSON text with escapes decoded: `\u00e9` is a letter, `\n` is not.
fn unescaped(text: &str) -> Cow<'_, str> {
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    if !is_json || memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut high) = (text, None);
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = behind.strip_prefix('u').and_then(|behind| behind.get(..4));
        match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                let units = high.take().filter(|_| before.is_empty()).into_iter().chain([unit]);
                out.extend(char::decode_utf16(units).filter_map(Result::ok));
                high = (0xd800..0xdc00).contains(&unit).then_some(unit);
                rest = behind.get(5..).unwrap_or_default();
            }
            None => {
                out.push(' ');
                let mut letters = behind.chars();
                let _ = letters.next();
                rest = letters.as_str();
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Calls `word` with each word of a text, in its original case.
fn each(text: &str, mut word: impl FnMut(&str)) {
    let text = &*unescaped(text);
    let mut start: Option<usize> = None;
    let mut end = |start: &mut Option<usize>, at: usize| {
        let Some(from) = start.take() else { return };
        let found = text.get(from..at).unwrap_or_default();
        if found.len() <= MAX_RUN_LEN {
            word(found.get(..found.floor_char_boundary(MAX_WORD_LEN)).unwrap_or_default());
        }
    };
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() {
            let _ = start.get_or_insert(at);
        } else {
            end(&mut start, at);
        }
    }
    end(&mut start, text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut document = Document::default();
        document.add(text);
        document.text.trim_end().to_owned()
    }

    #[test]
    fn a_long_document_has_rows_that_begin_and_end_with_words() {
        let text: String = (0..400_000).map(|number| format!("w{number} ")).collect();
        let mut document = Document::default();
        document.add(&text);
        let rows: Vec<&str> = document.rows().collect();
        assert_eq!(rows.concat(), text);
        assert!(rows.len() > 2 && rows.iter().all(|row| row.len() <= ROW_BYTES + MAX_WORD_LEN));
        assert!(rows.iter().skip(1).all(|row| row.starts_with(' ')));
        assert_eq!(Document::default().rows().count(), 1);
    }

    #[test]
    fn letters_and_digits_are_words_once_and_in_small_letters() {
        for (text, expected) in [
            ("", ""),
            ("Divide by zero, by ZERO.", "divide by zero"),
            ("get_weather(\"Paris\") → 18C", "get weather paris 18c"),
            ("größe ÄRGER 東京", "größe ärger 東京"),
            (r#"{"text":"one\ntwo\u00e9x \"three\""}"#, "text one twoéx three"),
            (r#"["\u6771\u4eac", "\ud835\udc9c\u0062", "a\\b\ud835"]"#, "東京 \u{1d49c}b a b"),
            (r"C:\new", "c new"),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(&"a".repeat(MAX_RUN_LEN + 1)), "");
        assert_eq!(words(&"a".repeat(MAX_RUN_LEN)), "a".repeat(MAX_WORD_LEN));
        assert_eq!(words(&"ä".repeat(40)).len(), MAX_WORD_LEN);
    }

    #[test]
    fn a_query_has_the_words_of_documents() {
        assert_eq!(of_query("  Divide by-zero divide "), ["divide", "by", "zero"]);
        assert!(of_query("\" * :").is_empty());
    }
}

//! Case-insensitive search, in time linear in the text, and only while the client waits.

use std::ops::Range;

use memchr::memmem::Finder;

/// Maximum length of the words, in bytes.
pub(crate) const MAX_WORDS_BYTES: usize = 1 << 10;
/// Bytes searched between two checks whether the client waits.
const STEP: usize = 64 << 10;

/// The words to search for.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    /// In lowercase.
    words: String,
    finder: Finder<'static>,
}

impl Sought {
    /// `None`: there are no words.
    pub(crate) fn of(words: &str) -> Option<Self> {
        let words = small(words);
        (!words.is_empty()).then(|| Self {
            finder: Finder::new(words.as_bytes()).into_owned(),
            words,
        })
    }

    /// Whether a short text contains the words.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.look(text.as_bytes(), &|| true) == Some(true)
    }

    /// The first occurrence of the words.
    pub(crate) fn place(&self, text: &str) -> Option<Range<usize>> {
        let overlap = 3 * self.words.len() + 4;
        let mut at = 0_usize;
        loop {
            let end = text.floor_char_boundary(at.saturating_add(STEP + overlap).min(text.len()));
            let part = text.get(at..end)?;
            if let Some(found) = self.finder.find(small(part).as_bytes()) {
                let place = self.unfolded(part, found)?;
                return Some(at + place.start..at + place.end);
            }
            if end == text.len() {
                return None;
            }
            at = text.floor_char_boundary(at + STEP);
        }
    }

    /// The position in a text of a match in its lowercase form, which may have other lengths.
    fn unfolded(&self, text: &str, found: usize) -> Option<Range<usize>> {
        let (mut folded, mut start) = (0, None);
        for (at, letter) in text.char_indices() {
            folded += letter.to_lowercase().map(char::len_utf8).sum::<usize>();
            if folded > found {
                let start = *start.get_or_insert(at);
                if folded >= found + self.words.len() {
                    return Some(start..at + letter.len_utf8());
                }
            }
        }
        None
    }

    /// Whether bytes contain the words; `None`: unknown, because the search was stopped.
    pub(crate) fn look(&self, bytes: &[u8], goes_on: &dyn Fn() -> bool) -> Option<bool> {
        // A letter and its lowercase form may differ in length.
        let overlap = 3 * self.words.len() + 4;
        let mut at = 0_usize;
        let mut folded = Vec::new();
        loop {
            let end = at.saturating_add(STEP + overlap).min(bytes.len());
            let part = bytes.get(at..end).unwrap_or_default();
            if self.finder.find(fold(part, self.words.is_ascii(), &mut folded)).is_some() {
                return Some(true);
            }
            if end == bytes.len() {
                return Some(false);
            }
            if !goes_on() {
                return None;
            }
            at += STEP;
        }
    }
}

/// The part in lowercase. ASCII words match only ASCII letters.
fn fold<'f>(part: &[u8], ascii: bool, folded: &'f mut Vec<u8>) -> &'f [u8] {
    folded.clear();
    if ascii {
        folded.extend(part.iter().map(u8::to_ascii_lowercase));
    } else {
        for chunk in part.utf8_chunks() {
            folded.extend_from_slice(small(chunk.valid()).as_bytes());
            folded.extend_from_slice(chunk.invalid());
        }
    }
    folded
}

/// Lowercases letter by letter, so that context does not matter.
fn small(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
#[path = "seeking_tests.rs"]
mod tests;

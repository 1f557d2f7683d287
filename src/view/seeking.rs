//! Words that are looked for in any case: in time that grows with the text alone, and only while somebody waits.

use memchr::memmem::Finder;

/// The longest words that are looked for, in bytes.
pub(crate) const LONGEST: usize = 1 << 10;
/// Bytes that are looked through between two looks whether anybody waits.
const STEP: usize = 64 << 10;

/// Words that are looked for.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    /// In small letters.
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

    /// Whether a short text has the words.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.look(text.as_bytes(), &|| true) == Some(true)
    }

    /// Whether bytes have the words; `None`: that is not known, because the search ended before.
    pub(crate) fn look(&self, bytes: &[u8], goes_on: &dyn Fn() -> bool) -> Option<bool> {
        // A letter may have fewer bytes than its small one, and more.
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

/// The part in small letters. Words of ASCII letters alone are not found in others.
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

/// Letter by letter, so that it does not matter what is around one.
fn small(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_wherever_they_are() {
        let is_in = |words: &str, text: &str| Sought::of(words).is_some_and(|sought| sought.is_in(text));
        for (words, text) in [
            ("Zero", "divide by ZERO"),
            ("größe", "die GRÖSSE, die GRÖßE"),
            ("ΣΑΣ", "σας σασ"),
            ("東京", "in 東京."),
            ("é", "É"),
        ] {
            assert!(is_in(words, text), "{words} in {text}");
        }
        assert!(!is_in("zeros", "zero") && !is_in("a", "") && Sought::of("").is_none());
        for before in [0, 1, STEP - 3, STEP, STEP + 1, 2 * STEP + 7] {
            for words in ["needle", "nädel"] {
                let text = format!("{}{}", "ä".repeat(before / 2) + &"x".repeat(before % 2), words.to_uppercase());
                assert!(is_in(words, &text), "{words} behind {before}");
            }
        }
        assert_eq!(
            Sought::of("b").map(|sought| sought.look(&[0xff, 0xc3, b'B'], &|| true)),
            Some(Some(true))
        );
    }

    #[test]
    fn a_search_ends_when_nobody_waits() {
        let text = vec![b'a'; 10 * STEP];
        assert_eq!(Sought::of("b").map(|sought| sought.look(&text, &|| false)), Some(None));
    }
}

//! Escapes in the source of a JSON string: their characters and positions.

/// The next escape at or after a position: its start, character and end.
pub(super) fn next_escape(source: &str, mut at: usize) -> Option<(usize, char, usize)> {
    while let Some(found) = source.get(at..).and_then(|rest| memchr::memchr(b'\\', rest.as_bytes())) {
        let begin = at + found;
        if let Some((letter, length)) = escape(source.get(begin..).unwrap_or_default()) {
            return Some((begin, letter, begin + length));
        }
        at = begin + 1;
    }
    None
}

/// Maps positions in the decoded text to positions in its source, in ascending order.
pub(super) struct Places<'s> {
    source: &'s str,
    /// The end of an escape or the start of the text: in the source (`at`) and in the decoded text (`here`).
    at: usize,
    here: usize,
    /// The next escape.
    escape: Option<(usize, char, usize)>,
}

impl<'s> Places<'s> {
    pub(super) fn of(source: &'s str) -> Self {
        Self {
            source,
            at: 0,
            here: 0,
            escape: next_escape(source, 0),
        }
    }

    pub(super) fn of_source(&mut self, place: usize) -> usize {
        while let Some((begin, letter, end)) = self.escape {
            let behind = self.here + (begin - self.at) + letter.len_utf8();
            if behind > place {
                break;
            }
            (self.at, self.here) = (end, behind);
            self.escape = next_escape(self.source, end);
        }
        self.at + place.saturating_sub(self.here)
    }
}

/// The character of an escape at the start of a text, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let letter = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let unit = |at: usize| {
                let digits = text.get(at..at + 4)?;
                let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                all.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
            };
            let first = unit(2)?;
            let second = text.get(6..8).filter(|begin| *begin == "\\u").and_then(|_| unit(8));
            let mut letters = char::decode_utf16([first].into_iter().chain(second));
            return match letters.next()? {
                Ok(letter) => Some((letter, if letter.len_utf16() == 2 { 12 } else { 6 })),
                Err(_) => Some((char::REPLACEMENT_CHARACTER, 6)),
            };
        }
        _ => return None,
    };
    Some((letter, 2))
}

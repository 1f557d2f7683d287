//! Keeps part of a text that is written in pieces; the rest is only counted.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

/// Bytes written between two checks whether the text is still wanted.
const STEP: usize = 64 << 10;
/// Maximum bytes of a letter.
const LETTER: usize = 4;

/// Keeps part of what is written to it.
pub(crate) struct Excerpt<'g> {
    /// The range of bytes to keep.
    window: Range<usize>,
    kept: Vec<u8>,
    len: usize,
    asked_at: usize,
    goes_on: &'g dyn Fn() -> bool,
}

impl<'g> Excerpt<'g> {
    /// Keeps `most` bytes from `from` on. Fails writes once `goes_on` returns false.
    pub(crate) fn new(from: usize, most: usize, goes_on: &'g dyn Fn() -> bool) -> Self {
        Self {
            window: from.saturating_sub(LETTER)..from.saturating_add(most).saturating_add(LETTER),
            kept: Vec::new(),
            len: 0,
            asked_at: 0,
            goes_on,
        }
    }

    /// Length of the whole text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The last boundary between letters at or before this byte.
    pub(crate) fn floor(&self, at: usize) -> usize {
        let mut at = at.min(self.len);
        let is_inside = |at: usize| {
            self.kept
                .get(at.wrapping_sub(self.window.start))
                .is_some_and(|byte| (0x80..0xc0).contains(byte))
        };
        while at > self.window.start && is_inside(at) {
            at -= 1;
        }
        at
    }

    /// Part of the kept text, cut between letters.
    pub(crate) fn text(&self, range: Range<usize>) -> Cow<'_, str> {
        let from = range.start.saturating_sub(self.window.start);
        let until = range.end.saturating_sub(self.window.start).min(self.kept.len());
        String::from_utf8_lossy(self.kept.get(from..until).unwrap_or_default())
    }
}

impl io::Write for Excerpt<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len - self.asked_at >= STEP {
            self.asked_at = self.len;
            if !(self.goes_on)() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        let inside = |at: usize| at.saturating_sub(self.len).min(bytes.len());
        let part = inside(self.window.start)..inside(self.window.end);
        self.kept.extend_from_slice(bytes.get(part).unwrap_or_default());
        self.len += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_part_is_kept_and_the_rest_counted() {
        let text = "aé€😀bc".repeat(10);
        for from in 0..=text.len() {
            for most in [0, 1, 5, 30, 500] {
                let goes_on = || true;
                let mut excerpt = Excerpt::new(from, most, &goes_on);
                for piece in text.as_bytes().chunks(3) {
                    excerpt.write_all(piece).expect("is written");
                }
                let (begin, end) = (excerpt.floor(from), excerpt.floor(from + most));
                assert_eq!(
                    (begin, end),
                    (text.floor_char_boundary(from), text.floor_char_boundary(from + most))
                );
                assert_eq!(excerpt.text(begin..end), text[begin..end]);
                assert_eq!(excerpt.len(), text.len());
                assert!(excerpt.kept.len() <= most + 2 * LETTER);
            }
        }
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_written_on() {
        let mut excerpt = Excerpt::new(0, 10, &|| false);
        let written = (0..100).take_while(|_| excerpt.write_all(&[b'a'; 4_096]).is_ok()).count();
        assert!(written <= 1 + STEP / 4_096, "{written}");
    }
}

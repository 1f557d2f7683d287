//! The words in which two texts differ.

use serde::Serialize;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Longer texts, in words, are not compared word by word: they differ as a whole.
const MAX_WORDS: usize = 4_000;

/// Which of two texts has a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    /// Both texts have them.
    Both,
    /// Only the first.
    Left,
    /// Only the second.
    Right,
}

/// A part of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Piece {
    /// Which text has it.
    pub(crate) side: Side,
    /// The words, with the whitespace between them.
    pub(crate) text: String,
}

/// Limits the work of a whole comparison: beyond it, texts are reported as different as a whole.
pub(crate) struct Effort<'g> {
    /// Pairs of words that may still be compared.
    pairs: usize,
    /// Parts that may still be reported.
    pieces: usize,
    goes_on: &'g dyn Fn() -> bool,
}

impl<'g> Effort<'g> {
    /// Limits for one comparison. `goes_on`: whether the client still waits for it.
    pub(crate) fn new(goes_on: &'g dyn Fn() -> bool) -> Self {
        Self {
            pairs: 1 << 28,
            pieces: 20_000,
            goes_on,
        }
    }

    /// Whether two texts may be compared word by word.
    fn allows(&mut self, ones: &[&str], others: &[&str]) -> bool {
        let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(one, other)| one == other).count();
        let begin = same(&mut ones.iter().zip(others));
        let end = same(&mut ones.iter().skip(begin).rev().zip(others.iter().skip(begin).rev()));
        let differ = |words: &[&str]| words.len() - begin - end;
        let pairs = differ(ones).saturating_mul(differ(others));
        let allowed = self.pieces > 0 && pairs <= self.pairs && (self.goes_on)();
        if allowed {
            self.pairs -= pairs;
        }
        allowed
    }
}

/// The parts of two texts, in order; `None` if they are equal. The parts of one side, together with the common ones, add up to its text.
pub(crate) fn differences(left: &str, right: &str, effort: &mut Effort<'_>) -> Option<Vec<Piece>> {
    if left == right {
        return None;
    }
    let whole = || {
        let piece = |side, text: &str| Piece {
            side,
            text: text.to_owned(),
        };
        Some(vec![piece(Side::Left, left), piece(Side::Right, right)])
    };
    let (ones, others) = (words(left), words(right));
    let (Some(ones), Some(others)) = (ones, others) else {
        return whole();
    };
    if !effort.allows(&ones, &others) {
        return whole();
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |side, words: Option<&[&str]>| {
        let text = words.unwrap_or_default().concat();
        if !text.is_empty() {
            pieces.push(Piece { side, text });
        }
    };
    for op in capture_diff_slices(Algorithm::Myers, &ones, &others) {
        if op.tag() == DiffTag::Equal {
            add(Side::Both, ones.get(op.old_range()));
        } else {
            add(Side::Left, ones.get(op.old_range()));
            add(Side::Right, others.get(op.new_range()));
        }
    }
    if pieces.len() > effort.pieces {
        effort.pieces = 0;
        return whole();
    }
    effort.pieces -= pieces.len();
    Some(pieces)
}

/// Splits a text into words, whitespace and single signs. `None`: there are too many.
fn words(text: &str) -> Option<Vec<&str>> {
    let class = |letter: char| match letter {
        letter if letter.is_whitespace() => 0,
        letter if letter.is_alphanumeric() || letter == '_' => 1,
        _ => 2,
    };
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let of = class(first);
        // Each sign is a word of its own: `"a":1` and `"a":2` differ only in the number.
        let end = match of {
            2 => first.len_utf8(),
            of => rest.find(|letter| class(letter) != of).unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        if words.len() == MAX_WORDS {
            return None;
        }
        words.push(word);
        rest = behind;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_each_side_are_its_text() {
        for (left, right) in [
            ("Paris: 18C sunny", "Paris: 19C sunny"),
            ("", "new"),
            ("{\"city\":\"Paris\"}", "{\"city\":\"Tokyo\"}"),
            ("ä b", "ä  b"),
            ("a", "b"),
        ] {
            let pieces = differences(left, right, &mut Effort::new(&|| true)).expect("they differ");
            let of = |other: Side| -> String {
                pieces
                    .iter()
                    .filter(|piece| piece.side != other)
                    .map(|piece| piece.text.as_str())
                    .collect()
            };
            assert_eq!((of(Side::Right).as_str(), of(Side::Left).as_str()), (left, right));
        }
        let mut effort = Effort::new(&|| true);
        assert_eq!(differences("same", "same", &mut effort), None);
        let pieces = differences("Paris: 18C sunny", "Paris: 19C sunny", &mut effort).expect("they differ");
        assert_eq!(pieces.len(), 4, "{pieces:?}");
    }
    #[test]
    fn a_whole_comparison_has_a_bound() {
        let text = |from: usize| -> String { (from..from + 1_900).map(|number| format!("{} ", number * 7 % 90)).collect() };
        let (left, right) = (text(0), text(31));
        let mut effort = Effort::new(&|| true);
        let told: usize = (0..500)
            .filter_map(|_| differences(&left, &right, &mut effort))
            .map(|pieces| pieces.len())
            .sum();
        assert!(told <= 20_000 + 2 * 500, "{told}");
        let mut nobody = Effort::new(&|| false);
        assert_eq!(differences("a b", "a c", &mut nobody).map(|pieces| pieces.len()), Some(2));
    }
}

//! The words in which two texts differ.

use serde::Serialize;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Texts of more words are not looked into: the whole of them differs.
const MOST: usize = 4_000;

/// Whose words.
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
    /// The words, with the blanks between them.
    pub(crate) text: String,
}

/// The parts of two texts, in order; `None` if they are equal. The parts of one side, joined with those of both, are its text.
pub(crate) fn differences(left: &str, right: &str) -> Option<Vec<Piece>> {
    if left == right {
        return None;
    }
    let (ones, others) = (words(left), words(right));
    let whole = |side, text: &str| Piece {
        side,
        text: text.to_owned(),
    };
    if ones.len().max(others.len()) > MOST {
        return Some(vec![whole(Side::Left, left), whole(Side::Right, right)]);
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
    Some(pieces)
}

/// Words, blanks and signs. Each letter of the text is in one of them.
fn words(text: &str) -> Vec<&str> {
    let class = |letter: char| match letter {
        letter if letter.is_whitespace() => 0,
        letter if letter.is_alphanumeric() || letter == '_' => 1,
        _ => 2,
    };
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let of = class(first);
        // Each sign is a word: `"a":1` and `"a":2` differ in the number alone.
        let end = match of {
            2 => first.len_utf8(),
            of => rest.find(|letter| class(letter) != of).unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
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
            let pieces = differences(left, right).expect("they differ");
            let of = |other: Side| -> String {
                pieces
                    .iter()
                    .filter(|piece| piece.side != other)
                    .map(|piece| piece.text.as_str())
                    .collect()
            };
            assert_eq!((of(Side::Right).as_str(), of(Side::Left).as_str()), (left, right));
        }
        assert_eq!(differences("same", "same"), None);
        let pieces = differences("Paris: 18C sunny", "Paris: 19C sunny").expect("they differ");
        assert_eq!(pieces.len(), 4, "{pieces:?}");
    }
}

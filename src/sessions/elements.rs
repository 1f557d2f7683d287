//! The objects of a JSON list, one by one: programs that buffer their output instead of printing lines write it as a list.

use crate::json_tokens::{Kind, Tokens};

/// Finds the objects of a list in its bytes, which are added in pieces.
#[derive(Debug)]
pub(super) struct Elements {
    /// The maximum size of one object in bytes.
    limit: usize,
    /// The current nesting depth.
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The object so far, unless it exceeds the limit.
    object: Vec<u8>,
    is_too_long: bool,
    /// Whether the list is open.
    in_list: bool,
    /// Whether a list item that is not an object is being skipped.
    in_other: bool,
    left_out: usize,
}

impl Elements {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            depth: 0,
            in_text: false,
            escaped: false,
            object: Vec::new(),
            is_too_long: false,
            in_list: false,
            in_other: false,
            left_out: 0,
        }
    }

    /// Adds a piece, and passes each object that ends in it to `take`.
    pub(super) fn add(&mut self, piece: &[u8], take: &mut dyn FnMut(&[u8])) {
        for byte in piece {
            if self.depth == 0 && !self.in_text {
                self.between(*byte);
            }
            let was_inside = self.depth > 0;
            self.step(*byte);
            if !was_inside && self.depth == 0 {
                continue;
            }
            if self.object.len() < self.limit {
                self.object.push(*byte);
            } else {
                self.is_too_long = true;
                self.object.clear();
            }
            if self.depth == 0 {
                if self.is_too_long {
                    self.left_out += 1;
                } else {
                    take(&self.object);
                }
                self.is_too_long = false;
                self.object.clear();
            }
        }
    }

    /// Handles a byte outside all objects.
    fn between(&mut self, byte: u8) {
        match byte {
            b'[' => self.in_list = true,
            b']' => (self.in_list, self.in_other) = (false, false),
            b',' | b'{' => self.in_other = false,
            byte if byte.is_ascii_whitespace() => {}
            _ if self.in_other => {}
            _ => {
                self.in_other = true;
                self.left_out += 1;
            }
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_text => self.escaped = true,
            b'"' => self.in_text = !self.in_text,
            _ if self.in_text => {}
            b'{' => self.depth += 1,
            b'[' if self.depth > 0 => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// The number of items that are not objects, or are too long.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether the list, or an object in it, is incomplete.
    pub(super) fn is_open(&self) -> bool {
        self.in_list
    }
}

/// The first objects of a list at the beginning of a text, which may be cut off.
pub(super) fn first(text: &[u8], count: usize) -> Vec<&[u8]> {
    let (mut out, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    // Behind the bracket of the list.
    for token in Tokens::of(text).skip(1) {
        match token.kind {
            Kind::Object | Kind::List => {
                if depth == 0 {
                    begin = token.range.start;
                }
                depth += 1;
            }
            Kind::End => {
                let member = text.get(begin..token.range.end).filter(|_| depth == 1);
                out.extend(member.filter(|member| member.starts_with(b"{")));
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if out.len() == count {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, pieces: usize, limit: usize) -> (Vec<String>, usize, bool) {
        let (mut out, mut elements) = (Vec::new(), Elements::new(limit));
        for piece in text.as_bytes().chunks(pieces) {
            elements.add(piece, &mut |object| out.push(String::from_utf8_lossy(object).into_owned()));
        }
        (out, elements.left_out(), elements.is_open())
    }

    #[test]
    fn the_objects_of_a_list_whatever_the_pieces() {
        let text = r#"[ {"a": "}]\\\"{"}, 1, "x{", [2], {"b": [{"c": {}}]},
            {"d": 1} ]"#;
        for pieces in [1, 3, 1000] {
            let (objects, left_out, is_open) = all(text, pieces, 1000);
            assert_eq!(objects, [r#"{"a": "}]\\\"{"}"#, r#"{"b": [{"c": {}}]}"#, r#"{"d": 1}"#]);
            assert!(left_out >= 2 && !is_open, "{left_out}");
        }
        let begin: Vec<&[u8]> = first(text.as_bytes(), 2);
        assert_eq!(begin.last().copied(), Some(r#"{"b": [{"c": {}}]}"#.as_bytes()));
        assert!(first(br#"[{"cut": "#, 2).is_empty());
    }

    #[test]
    fn what_is_too_long_or_cut_off_costs_itself() {
        let (objects, left_out, is_open) = all(r#"[{"a": "long enough"}, {"b": 1}, {"c"#, 2, 10);
        assert_eq!((objects, left_out, is_open), (vec![r#"{"b": 1}"#.to_owned()], 1, true));
    }
}

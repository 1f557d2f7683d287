//! Recovers JSON that a client truncated at its limit for attribute values (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`): the complete part, and
//! the beginning of the truncated text.

use serde_json::Value;

use crate::json_tokens::{Kind, Token, Tokens};

/// Shorter texts that start with a bracket are prose.
const MIN_JSON_BYTES: usize = 32;

/// Members whose text is useful without its end. Half an id or name would be a different one.
const WORDS: [&str; 7] = ["content", "text", "response", "result", "output", "thinking", "reasoning"];

/// Words that mark truncation, in brackets or after dots.
const OF_MARKS: [&str; 9] = [
    "truncat",
    "cut",
    "omitted",
    "elided",
    "clipped",
    "shortened",
    "chars",
    "characters",
    "bytes",
];

/// Maximum length of a mark in brackets.
const MAX_MARK_BYTES: usize = 100;

/// Whether a text may be truncated JSON, judging by its ends.
pub(super) fn may_be_cut(text: &str) -> bool {
    let bytes = text.trim_ascii().as_bytes();
    bytes.len() >= MIN_JSON_BYTES && matches!(bytes, [b'[' | b'{', .., last] if !matches!(last, b']' | b'}'))
}

/// The text before a client's truncation mark: `...`, `[truncated]`, `... (512 more chars)`.
pub(super) fn without_mark(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let is_end = |char: char| char.is_whitespace() || matches!(char, '.' | '\u{2026}' | '-' | '_' | '*');
    let dots = |text: &str| text.ends_with('\u{2026}') || text.ends_with("...");
    let has_word = |note: &str| {
        let note = note.to_ascii_lowercase();
        OF_MARKS.iter().any(|word| note.contains(word)) || note.trim_matches(is_end).is_empty()
    };
    let brackets = [('[', ']'), ('(', ')'), ('<', '>')];
    let closed = brackets.iter().find(|(_, close)| text.ends_with(*close));
    if let Some((open, close)) = closed {
        let at = text.rfind(*open)?;
        let note = text.get(at + 1..)?.strip_suffix(*close)?;
        let is_note = note.len() <= MAX_MARK_BYTES && !note.contains(['"', '{', '}']) && !note.is_empty() && has_word(note);
        return is_note.then(|| text.get(..at).unwrap_or_default().trim_end_matches(is_end));
    }
    // `... truncated`
    let last = text.trim_end_matches(|char: char| char.is_ascii_alphanumeric() || char == ' ');
    let note = text.get(last.len()..)?;
    if dots(last) && note.len() <= MAX_MARK_BYTES && has_word(note) {
        return Some(last.trim_end_matches(is_end));
    }
    dots(text).then(|| text.trim_end_matches(is_end))
}

/// Parses truncated JSON as a list or object; `None` if the text is nothing like that.
pub(super) fn open(text: &str) -> Option<Value> {
    may_be_cut(text).then(|| open_unmarked(text)).flatten()
}

/// Like [`open`], for text before a truncation mark, which may end in a bracket.
pub(super) fn open_unmarked(text: &str) -> Option<Value> {
    let text = text.trim_ascii();
    if text.len() < MIN_JSON_BYTES || !text.starts_with(['[', '{']) {
        return None;
    }
    let mut scan = Scan::default();
    for token in Tokens::of(text.as_bytes()) {
        scan.step(text, &token);
    }
    let mut whole = match scan.string {
        Some(begin) if scan.contains_words() => {
            let mut said = text.get(..text.len() - half_escape(text.get(begin..)?))?.to_owned();
            said.push('"');
            said
        }
        _ => {
            scan.open.truncate(scan.whole_depth);
            text.get(..scan.whole)?.to_owned()
        }
    };
    whole.extend(scan.open.iter().rev().map(|open| if open.is_object { '}' } else { ']' }));
    serde_json::from_str(&whole).ok().filter(|value: &Value| {
        value.as_array().is_none_or(|items| !items.is_empty()) && value.as_object().is_none_or(|map| !map.is_empty())
    })
}

/// State of a scan through JSON text. The scan does not validate: whatever it keeps is parsed afterwards.
#[derive(Default)]
struct Scan<'a> {
    open: Vec<Open<'a>>,
    /// Start of the string that is still open.
    string: Option<usize>,
    /// The text up to here is complete if `whole_depth` brackets are closed: before a comma or after a bracket.
    whole: usize,
    whole_depth: usize,
}

struct Open<'a> {
    is_object: bool,
    /// Whether the next string is a key.
    expects_key: bool,
    key: &'a str,
}

impl<'a> Scan<'a> {
    fn step(&mut self, text: &'a str, token: &Token) {
        match token.kind {
            Kind::CutText => self.string = Some(token.range.start),
            Kind::Text => {
                if let Some(open) = self.open.last_mut().filter(|open| open.is_object && open.expects_key) {
                    open.key = text.get(token.content()).unwrap_or_default();
                    open.expects_key = false;
                }
            }
            Kind::Object | Kind::List => {
                let is_object = token.kind == Kind::Object;
                self.open.push(Open {
                    is_object,
                    expects_key: is_object,
                    key: "",
                });
                self.is_whole(token.range.end);
            }
            Kind::End => {
                let _ = self.open.pop();
                self.is_whole(token.range.end);
            }
            Kind::Comma => {
                self.is_whole(token.range.start);
                if let Some(open) = self.open.last_mut() {
                    open.expects_key = open.is_object;
                }
            }
            Kind::Colon | Kind::Bare => {}
        }
    }

    fn is_whole(&mut self, until: usize) {
        (self.whole, self.whole_depth) = (until, self.open.len());
    }

    /// Whether the open string is the value of a member of [`WORDS`].
    fn contains_words(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| open.is_object && !open.expects_key && WORDS.contains(&open.key))
    }
}

/// Length of an incomplete escape at the end of a string.
pub(super) fn half_escape(string: &str) -> usize {
    let bytes = string.as_bytes();
    let escape = bytes.iter().rposition(|byte| *byte == b'\\');
    let Some(at) = escape.filter(|at| bytes.len() - at < 6) else {
        return 0;
    };
    let slashes = bytes.iter().take(at + 1).rev().take_while(|byte| **byte == b'\\').count();
    let rest = bytes.len() - at;
    // An even number of backslashes escape each other.
    let is_half = slashes % 2 == 1 && (rest == 1 || bytes.get(at + 1) == Some(&b'u'));
    if is_half { rest } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_whole_is_kept_and_words_are_kept_as_far_as_they_stand() {
        let text = r#"[{"role": "user", "content": "What is the weather?"}, {"role": "assistant", "content": "Let me lo"#;
        let read = json!([{"role": "user", "content": "What is the weather?"}, {"role": "assistant", "content": "Let me lo"}]);
        assert_eq!(open(text), Some(read));
        let text = r#"[{"role": "assistant", "tool_calls": [{"id": "call_1", "name": "find"}, {"id": "call_2", "name": "fi"#;
        let read = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "name": "find"}, {"id": "call_2"}]}]);
        assert_eq!(open(text), Some(read), "half a name is no name");
        let text = r#"{"messages": [{"role": "user", "content": "one"}], "count": 12"#;
        assert_eq!(
            open(text),
            Some(json!({"messages": [{"role": "user", "content": "one"}]})),
            "it may be 123"
        );
        for (end, said) in [
            ("a\\", "a"),
            ("a\\u00", "a"),
            ("a\\\\", "a\\"),
            ("a\\n", "a\n"),
            ("a\\\\u00", "a\\u00"),
        ] {
            let text = format!(r#"[{{"role": "user", "content": "long enough {end}"#);
            assert_eq!(
                open(&text),
                Some(json!([{"role": "user", "content": format!("long enough {said}")}])),
                "{end}"
            );
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "[1, 2",
            "[the tool was called and said nothing at all",
            "{city} is the place that they asked about",
            r#"[{"role": "user", "content": "What is the weather?"}]"#,
            "[\"\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert_eq!(open(text), None, "{text}");
        }
    }

    proptest! {
        /// Wherever a list of messages is cut, the messages before are there.
        #[test]
        fn messages_before_the_cut_are_there(texts in proptest::collection::vec("[a\"\\\\\u{e9}\n ]{0,12}", 1..6), cut in 0_usize..400) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text, "n": [1, {"a": true}]})).collect();
            let text = Value::Array(messages.clone()).to_string();
            let cut = text.floor_char_boundary(cut.min(text.len().saturating_sub(1)));
            let before = messages.iter().scan(1, |end, message| { *end += message.to_string().len() + 1; Some(*end) });
            let before = before.take_while(|end| *end <= cut).count();
            if let Some(Value::Array(read)) = open(&text[..cut]) {
                prop_assert!(read.len() >= before);
                prop_assert_eq!(read.get(..before), messages.get(..before));
            } else {
                prop_assert!(before == 0 || !may_be_cut(&text[..cut]), "{}", &text[..cut]);
            }
        }
    }
}

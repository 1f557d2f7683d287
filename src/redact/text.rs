//! Searches text as its readers see it: with escapes undone and JSON parsed, including JSON inside JSON strings. Replacements are made in
//! the original text; all other bytes stay unchanged.

mod escapes;
mod tokens;

use std::cell::Cell;
use std::ops::Range;

use regex::Regex;

use escapes::{Places, next_escape};
use tokens::{Token, begins_json, escaped, is_json, is_number, quoted, tokens};

/// Each further level of JSON inside a JSON string doubles its backslashes, so no text that fits in memory has more levels.
const MAX_LEVELS: usize = 32;

/// Changes take memory, so a text may have at most this many, or one per [`BYTES_PER_CHANGE`] bytes if that is more; beyond that, the
/// whole text is replaced.
const MAX_CHANGES: usize = 10_000;
const BYTES_PER_CHANGE: usize = 96;

/// Replaces the matches of an expression. JSON stays valid: a matched number becomes a string.
pub(super) struct Replace<'a> {
    expression: &'a Regex,
    /// Computes the replacement of a match.
    with: &'a dyn Fn(&str) -> String,
    /// Number of changes still allowed.
    left: Cell<usize>,
    is_over: Cell<bool>,
}

/// A range of the text and its replacement.
#[derive(Debug, Clone)]
struct Change {
    range: Range<usize>,
    text: String,
}

impl<'a> Replace<'a> {
    pub(super) fn new(expression: &'a Regex, with: &'a dyn Fn(&str) -> String) -> Self {
        Self {
            expression,
            with,
            left: Cell::new(0),
            is_over: Cell::new(false),
        }
    }

    /// The text with all matches replaced, and their number; `None` if nothing matches.
    pub(super) fn in_text(&self, text: &str) -> Option<(String, u64)> {
        self.left.set(MAX_CHANGES.max(text.len() / BYTES_PER_CHANGE));
        self.is_over.set(false);
        let changes = self.changes(text, 0);
        if self.is_over.get() {
            return Some(((self.with)(text), 1));
        }
        (!changes.is_empty()).then(|| (spliced(text, &changes), changes.len() as u64))
    }

    /// Spends one of the changes allowed; false when none remain.
    fn spend_change(&self) -> bool {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => self.is_over.set(true),
        }
        !self.is_over.get()
    }

    /// The changes to make, in order and without overlaps.
    fn changes(&self, text: &str, level: usize) -> Vec<Change> {
        if level < MAX_LEVELS && begins_json(text) {
            self.in_json(text, level)
        } else {
            self.in_plain(text, level)
        }
    }

    fn matches(&self, text: &str) -> Vec<Change> {
        self.matches_where(text, |_| true)
    }

    fn matches_where(&self, text: &str, mut wanted: impl FnMut(&Range<usize>) -> bool) -> Vec<Change> {
        let found = self.expression.find_iter(text).filter(|found| !found.is_empty());
        found
            .filter(|found| wanted(&found.range()))
            .take_while(|_| self.spend_change())
            .map(|found| Change {
                range: found.range(),
                text: (self.with)(found.as_str()),
            })
            .collect()
    }

    /// Searches the text both as it is and with JSON escapes undone, as it may be a fragment of JSON.
    fn in_plain(&self, text: &str, level: usize) -> Vec<Change> {
        let raw = self.matches(text);
        if level >= MAX_LEVELS || !text.contains('\\') {
            return raw;
        }
        let view = View::of(text);
        // An escape is longer than its character, so equal lengths mean there was none.
        if view.text.len() == text.len() {
            return raw;
        }
        let mut all = view.changes_of_source(self.changes(&view.text, level + 1), 0);
        all.extend(raw);
        // Of two that begin together, the one from the decoded text comes first.
        all.sort_by_key(|change| change.range.start);
        let mut merged: Vec<Change> = Vec::with_capacity(all.len());
        for change in all {
            match merged.last_mut() {
                Some(last) if change.range.start < last.range.end => last.range.end = last.range.end.max(change.range.end),
                _ => merged.push(change),
            }
        }
        merged
    }

    fn in_json(&self, text: &str, level: usize) -> Vec<Change> {
        let mut changes = Vec::new();
        for token in tokens(text).take_while(|_| !self.is_over.get()) {
            let content = token.content();
            let Some(inside) = text.get(content.clone()) else { continue };
            if !token.is_string {
                let found = if is_number(inside) { self.matches(inside) } else { Vec::new() };
                if !found.is_empty() {
                    changes.push(Change {
                        range: token.range.clone(),
                        text: quoted(&spliced(inside, &found)),
                    });
                }
            } else if inside.contains('\\') {
                let view = View::of(inside);
                changes.extend(view.changes_of_source(self.changes(&view.text, level + 1), content.start));
            } else {
                let found = self.changes(inside, level + 1).into_iter();
                changes.extend(found.map(|change| Change {
                    range: content.start + change.range.start..content.start + change.range.end,
                    text: escaped(&change.text),
                }));
            }
        }
        if self.is_over.get() {
            return Vec::new();
        }
        let mut after = tokens(text).peekable();
        let across = self.matches_where(text, |found| {
            while after.next_if(|token| token.range.end <= found.start).is_some() {}
            let within = |token: &Token| token.content().start <= found.start && found.end <= token.content().end;
            !after.peek().is_some_and(within)
        });
        if across.is_empty() {
            changes
        } else {
            self.across(text, changes, across)
        }
    }

    /// Adds matches that extend across several values or lie between them.
    fn across(&self, text: &str, changes: Vec<Change>, across: Vec<Change>) -> Vec<Change> {
        let ranges: Vec<Range<usize>> = across.iter().map(|change| change.range.clone()).collect();
        let mut as_is = apart_from(changes.clone(), &ranges);
        as_is.extend(across);
        as_is.sort_by_key(|change| change.range.start);
        if is_json(&spliced(text, &as_is)) {
            return as_is;
        }
        drop(as_is);
        // The result would not be JSON, so replace every value the matches touch, or the key if they touch no value.
        let touched = self.touched(text, &ranges);
        let ranges: Vec<Range<usize>> = touched.iter().map(|token| token.range.clone()).collect();
        let mut changes = apart_from(changes, &ranges);
        changes.extend(touched.iter().map(|token| {
            let content = text.get(token.content()).unwrap_or_default();
            let content = if token.is_string {
                View::of(content).text
            } else {
                content.to_owned()
            };
            Change {
                range: token.range.clone(),
                text: quoted(&(self.with)(&content)),
            }
        }));
        changes.sort_by_key(|change| change.range.start);
        changes
    }

    /// The values that the ranges touch, or keys where a range touches no value. The ranges are in order.
    fn touched(&self, text: &str, ranges: &[Range<usize>]) -> Vec<Token> {
        let mut touched: Vec<Token> = Vec::new();
        let mut all = tokens(text).peekable();
        // The last token of a range may be the first one of the next.
        let mut last: Option<Token> = None;
        for range in ranges {
            let mut these: Vec<Token> = last.take().filter(|token| token.range.end > range.start).into_iter().collect();
            while all.next_if(|token| token.range.end <= range.start).is_some() {}
            while let Some(token) = all.next_if(|token| token.range.start < range.end) {
                if !self.spend_change() {
                    return Vec::new();
                }
                these.push(token);
            }
            last = these.last().cloned();
            let values = these.iter().any(|token| !token.is_key);
            touched.extend(these.into_iter().filter(|token| !(values && token.is_key)));
        }
        touched.dedup_by_key(|token| token.range.start);
        touched
    }
}

/// The changes that overlap none of the ranges; both are in order.
fn apart_from(mut changes: Vec<Change>, ranges: &[Range<usize>]) -> Vec<Change> {
    let mut rest = ranges.iter().peekable();
    changes.retain(|change| {
        while rest.next_if(|range| range.end <= change.range.start).is_some() {}
        rest.peek().is_none_or(|range| change.range.end <= range.start)
    });
    changes
}

/// A text with its escapes undone.
struct View<'s> {
    text: String,
    source: &'s str,
}

impl<'s> View<'s> {
    fn of(source: &'s str) -> Self {
        let mut text = String::with_capacity(source.len());
        let mut at = 0;
        while let Some((begin, letter, end)) = next_escape(source, at) {
            text.push_str(source.get(at..begin).unwrap_or_default());
            text.push(letter);
            at = end;
        }
        text.push_str(source.get(at..).unwrap_or_default());
        Self { text, source }
    }

    /// Maps changes of this text to its source, which starts at `at` in a larger text. The changes are in order.
    fn changes_of_source(&self, changes: Vec<Change>, at: usize) -> Vec<Change> {
        let mut places = Places::of(self.source);
        let changes = changes.into_iter().map(|change| Change {
            range: at + places.of_source(change.range.start)..at + places.of_source(change.range.end),
            text: escaped(&change.text),
        });
        changes.collect()
    }
}

fn spliced(text: &str, changes: &[Change]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for change in changes {
        out.push_str(text.get(copied..change.range.start).unwrap_or_default());
        out.push_str(&change.text);
        copied = change.range.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(expression: &str, text: &str) -> Option<String> {
        let expression = Regex::new(expression).expect("an expression");
        Replace::new(&expression, &|_| "[-]".to_owned()).in_text(text).map(|(text, _)| text)
    }

    #[test]
    fn what_an_escape_hides_is_found_and_all_else_keeps_its_bytes() {
        for (expression, text, expected) in [
            (
                r"\bsk-[a-z]+",
                r#"{"a" : "caf\u00e9\nsk-secret", "n":1.50}"#,
                r#"{"a" : "caf\u00e9\n[-]", "n":1.50}"#,
            ),
            ("[a-z]+@[a-z]+", r#"["ann\u0040example"]"#, r#"["[-]"]"#),
            ("https://[a-z/]+", r#"{"u":"https:\/\/example\/x"}"#, r#"{"u":"[-]"}"#),
            (
                "Müller",
                r#"{"who":"M\u00fcller","e":"\ud83d\ude00"}"#,
                r#"{"who":"[-]","e":"\ud83d\ude00"}"#,
            ),
            ("😀", r#"{"e":"a\ud83d\ude00b"}"#, r#"{"e":"a[-]b"}"#),
            // JSON in a string of JSON, twice.
            (
                "a@b",
                r#"{"x":"{\"y\":\"{\\\"z\\\":\\\"a\\u0040b\\\"}\"}"}"#,
                r#"{"x":"{\"y\":\"{\\\"z\\\":\\\"[-]\\\"}\"}"}"#,
            ),
            ("4111", r#"{"x":"{\"card\":4111}"}"#, r#"{"x":"{\"card\":\"[-]\"}"}"#),
            // A key.
            ("a@b", r#"{"a\u0040b":1}"#, r#"{"[-]":1}"#),
            // A whole string.
            ("^secret$", r#"{"k":"secret"}"#, r#"{"k":"[-]"}"#),
            // Cut off, and words around it.
            ("a@b", r#"{"k":"x a\u0040b y"#, r#"{"k":"x [-] y"#),
            ("a@b", r#"said: {"k":"a\u0040b"} C:\new"#, r#"said: {"k":"[-]"} C:\new"#),
            // An escape is never cut in two.
            ("n+", r#"["\n", "nn"]"#, r#"["\n", "[-]"]"#),
            // Across values.
            (
                r#""password":\s*"[^"]*""#,
                r#"{"password": "x", "n": 1}"#,
                r#"{"password": "[-]", "n": 1}"#,
            ),
            (r#"5481,"b":77"#, r#"{"a":5481,"b":77}"#, r#"{"a":"[-]","b":"[-]"}"#),
        ] {
            assert_eq!(replaced(expression, text).as_deref(), Some(expected), "{expression} in {text}");
        }
        for (expression, text) in [("zzz", r#"{"a":"\u00e9"}"#), ("nul", "[null]"), ("u00e9", r#"["\u00e9"]"#)] {
            assert_eq!(replaced(expression, text), None, "{expression} in {text}");
        }
    }

    #[test]
    fn the_work_grows_with_the_text() {
        let mut text = "[\"a\\u0040b\"]".to_owned();
        while text.len() < 1 << 20 {
            text = format!("[{}]", quoted(&text));
        }
        let outcome = replaced("a@b", &text).expect("found at the innermost level");
        assert!(is_json(&outcome) && !outcome.contains("0040"));
        // So many matches that each of them would take a multiple of its bytes: the text goes whole.
        let many = format!("[{}]", vec!["1"; 1 << 18].join(","));
        assert_eq!(replaced("[0-9]", &many).as_deref(), Some("[-]"));
        assert_eq!(replaced("[0-9],", &many).as_deref(), Some("[-]"));
        assert!(replaced("a@b", &"[\"\\\\".repeat(1 << 18)).is_none());
        assert!(replaced("a@b", &"[".repeat(1 << 20)).is_none());
    }
}

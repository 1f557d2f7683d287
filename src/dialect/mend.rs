//! Parses JSON as clients write it: with `NaN`, half characters, extra commas, double quoting, or truncated.
//!
//! Text is parsed strictly first. If that fails, it is mended in one pass over its tokens; [`cut`] handles what then lacks its end.

use serde_json::Value;

use super::cut;

/// Faults of a JSON text that was read nevertheless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mended {
    /// It is truncated.
    pub(super) cut: bool,
    /// It contains `NaN` or an infinity.
    pub(super) non_finite: bool,
    /// It contains an integer of more than 64 bits.
    pub(super) large_integer: bool,
    /// It contains half of a character that needs two escapes.
    pub(super) half_character: bool,
    /// It violates JSON's syntax in another way.
    pub(super) syntax: bool,
}

impl Mended {
    /// Describes the faults of this key's value, and how each was handled.
    pub(super) fn findings(self, key: &str) -> impl Iterator<Item = String> {
        [
            (self.cut, "was cut off in the middle of its JSON: what is complete is used"),
            (
                self.non_finite,
                "contains NaN or an infinity, which JSON cannot represent: read as text",
            ),
            (
                self.large_integer,
                "contains an integer of more than 64 bits: read as text, with all its digits",
            ),
            (
                self.half_character,
                "contains half of a character (a lone surrogate): read as U+FFFD",
            ),
            (
                self.syntax,
                "is not valid JSON (a control character, an extra comma, an unknown escape): read as intended",
            ),
        ]
        .into_iter()
        .filter(|(is, _)| *is)
        .map(move |(_, what)| format!("{key} {what}"))
    }

    pub(super) fn add(&mut self, other: Self) {
        self.cut |= other.cut;
        self.non_finite |= other.non_finite;
        self.large_integer |= other.large_integer;
        self.half_character |= other.half_character;
        self.syntax |= other.syntax;
    }
}

/// Which incomplete texts are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// None: the text may have been shortened on purpose.
    Whole,
    /// Texts that stop in the middle.
    Cut,
    /// Also texts with a truncation mark: `...[truncated]`.
    Marked,
}

/// Parses complete JSON text, mending it if necessary.
pub(crate) fn parse(text: &str) -> Option<Value> {
    parse_noting(text, Ends::Whole, &mut Mended::default())
}

/// Parses JSON text; `mended` receives its faults.
pub(super) fn parse_noting(text: &str, ends: Ends, mended: &mut Mended) -> Option<Value> {
    let large_integer = long_digits(text).is_some();
    if !large_integer && let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let text = text.trim_start_matches(['\u{feff}', '\0']).trim_end_matches('\0').trim_ascii();
    match text.as_bytes().first()? {
        b'{' | b'[' => {}
        b'"' if large_integer => return serde_json::from_str(text).ok(),
        b'"' => return unquoted(text, ends, mended),
        _ => return serde_json::from_str(text).ok(),
    }
    let mut said = Mended::default();
    let Some(tokens) = tokens(text, &mut said) else {
        // A truncation mark between two values is not a token.
        let before = cut::without_mark(text).filter(|_| ends == Ends::Marked)?;
        let mut said = Mended::default();
        let value = cut::open_unmarked(&tokens(before, &mut said)?)?;
        mended.add(Mended { cut: true, ..said });
        return Some(value);
    };
    if let Ok(value) = serde_json::from_str(&tokens) {
        said.syntax |= said == Mended::default() && !large_integer;
        mended.add(said);
        return Some(value);
    }
    let value = match ends {
        Ends::Whole => None,
        Ends::Cut => cut::open(&tokens),
        Ends::Marked => match cut::without_mark(&tokens) {
            Some(before) => cut::open_unmarked(before),
            None => cut::open(&tokens),
        },
    }?;
    mended.add(Mended { cut: true, ..said });
    Some(value)
}

/// Reads concatenated JSON objects as a list, and a value that is repeated as that value.
pub(super) fn several(text: &str) -> Option<Value> {
    let all: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()
        .ok()?;
    let first = all.get(1).and(all.first())?;
    if all.iter().all(|value| value == first) {
        return Some(first.clone());
    }
    all.iter().all(Value::is_object).then_some(Value::Array(all))
}

/// Parses truncated JSON that was quoted as a text.
fn unquoted(text: &str, ends: Ends, mended: &mut Mended) -> Option<Value> {
    let inside = text.get(1..)?.trim_start();
    if ends == Ends::Whole || !inside.starts_with(['{', '[']) || !inside.contains("\\\"") {
        return None;
    }
    let mut whole = text.get(..text.len() - cut::half_escape(text))?.to_owned();
    whole.push('"');
    let inner: String = serde_json::from_str(&tokens(&whole, mended)?).ok()?;
    parse_noting(&inner, ends, mended)
}

/// Whether a text was meant as JSON of messages or a request, but is broken.
pub(super) fn is_broken_request(text: &str) -> bool {
    is_broken(text)
}

/// Whether a text was meant as JSON of an answer, but is broken. The model's own text may be JSON that it did not finish.
pub(super) fn is_broken_answer(text: &str) -> bool {
    const MEMBERS: [&str; 6] = ["role", "parts", "messages", "contents", "choices", "candidates"];
    let is_member = |name: &str| {
        let found = memchr::memmem::find_iter(text.as_bytes(), name.as_bytes());
        let is_quote = |at: Option<usize>| matches!(at.and_then(|at| text.as_bytes().get(at)), Some(b'"' | b'\''));
        found
            .into_iter()
            .any(|at| is_quote(at.checked_sub(1)) && is_quote(Some(at + name.len())))
    };
    MEMBERS.iter().any(|name| is_member(name)) && is_broken(text)
}

/// Whether a text was meant as JSON, but is broken.
fn is_broken(text: &str) -> bool {
    let text = text.trim_start();
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let begins = match (bytes.next(), bytes.next()) {
        (Some(b'{'), Some(b'"' | b'\'')) => true,
        (Some(b'['), Some(b'{')) => matches!(bytes.next(), Some(b'"' | b'\'')),
        _ => false,
    };
    begins && parse(text).is_none()
}

/// Number of digits from which an integer may exceed 64 bits.
const LONG: usize = 19;

/// The start of a number with at least that many digits, if any.
pub(super) fn long_digits(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = LONG - 1;
    // Any run of that many digits contains a digit at one of these steps.
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            let before = bytes.iter().take(at).rev().take_while(|byte| byte.is_ascii_digit()).count();
            let behind = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
            let begin = at - before;
            let is_fraction = begin > 0 && bytes.get(begin - 1) == Some(&b'.');
            if before + behind >= LONG && !is_fraction {
                let digits = text.get(begin..at + behind).unwrap_or_default();
                if digits.parse::<u64>().is_err() {
                    return Some(begin);
                }
            }
            at += behind;
        }
        at += LONG;
    }
    None
}

/// Rewrites the text with valid JSON tokens; `None` if it contains other words.
fn tokens(text: &str, mended: &mut Mended) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '"' => rest = string(rest, &mut out, mended),
            ',' => {
                rest = rest.get(1..)?;
                if rest.trim_start().starts_with(['}', ']']) {
                    mended.syntax = true;
                } else {
                    out.push(',');
                }
            }
            '{' | '}' | '[' | ']' | ':' | ' ' | '\n' | '\r' | '\t' => {
                out.push(first);
                rest = rest.get(1..)?;
            }
            '-' | '+' | '.' | '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => {
                let end = rest.find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '-' | '+' | '.' | '_')));
                let (word, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
                bare(word, behind.is_empty(), &mut out, mended)?;
                rest = behind;
            }
            char if char.is_control() || char == '\u{feff}' => {
                mended.syntax = true;
                rest = rest.get(char.len_utf8()..)?;
            }
            // A truncation mark follows the text.
            _ => {
                out.push_str(rest);
                rest = "";
            }
        }
    }
    Some(out)
}

/// Rewrites a number or word.
fn bare(word: &str, is_last: bool, out: &mut String, mended: &mut Mended) -> Option<()> {
    let as_text = |out: &mut String| {
        out.push('"');
        out.push_str(word);
        out.push('"');
    };
    match word {
        "true" | "false" | "null" => out.push_str(word),
        "True" | "False" | "None" | "undefined" => {
            mended.syntax = true;
            out.push_str(match word {
                "True" => "true",
                "False" => "false",
                _ => "null",
            });
        }
        "NaN" | "nan" | "-nan" | "Infinity" | "-Infinity" | "+Infinity" | "inf" | "-inf" => {
            mended.non_finite = true;
            as_text(out);
        }
        number if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            if number.len() >= LONG && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                mended.large_integer = true;
                as_text(out);
            } else {
                out.push_str(number);
            }
        }
        // Beyond the range of `f64`, such as Python's `1e400`.
        number if number.parse::<f64>().is_ok_and(f64::is_infinite) => {
            mended.non_finite = true;
            as_text(out);
        }
        number if number.starts_with(|first: char| first.is_ascii_digit() || first == '-') => out.push_str(number),
        // Truncated text may end in half a word or in a mark.
        half if is_last || half.starts_with("..") => out.push_str(half),
        _ => return None,
    }
    Some(())
}

/// Rewrites a string, starting at its quote; returns the rest.
fn string<'a>(text: &'a str, out: &mut String, mended: &mut Mended) -> &'a str {
    out.push('"');
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        let end = rest
            .find(|char: char| matches!(char, '"' | '\\') || char < ' ')
            .unwrap_or(rest.len());
        let (words, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        out.push_str(words);
        let mut chars = behind.chars();
        match chars.next() {
            None => return "",
            Some('"') => {
                out.push('"');
                return chars.as_str();
            }
            Some('\\') => rest = escape(behind, out, mended),
            Some(control) => {
                mended.syntax = true;
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
                rest = chars.as_str();
            }
        }
    }
}

/// Rewrites an escape, starting at its backslash; returns the rest.
fn escape<'a>(text: &'a str, out: &mut String, mended: &mut Mended) -> &'a str {
    let unit = |text: &str| -> Option<u32> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        digits
            .bytes()
            .all(|digit| digit.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let mut take = |count: usize| {
        let (escape, behind) = text.split_at_checked(count).unwrap_or((text, ""));
        out.push_str(escape);
        behind
    };
    match text.chars().nth(1) {
        None => take(1),
        Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => take(2),
        Some('u') => match unit(text) {
            Some(0xD800..=0xDBFF) if matches!(text.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => take(12),
            Some(0xD800..=0xDFFF) => {
                mended.half_character = true;
                out.push_str("\\ufffd");
                text.get(6..).unwrap_or_default()
            }
            Some(_) => take(6),
            // The end of truncated text.
            None if text.len() < 6 && text.bytes().skip(2).all(|digit| digit.is_ascii_hexdigit()) => take(text.len()),
            None => {
                mended.syntax = true;
                out.push_str("\\\\u");
                text.get(2..).unwrap_or_default()
            }
        },
        Some(other) => {
            mended.syntax = true;
            if other != '\'' {
                out.push_str("\\\\");
            }
            text.get(1..).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests;

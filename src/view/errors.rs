//! The errors of a run: a line for each, with the stack separate.

use std::borrow::Cow;

use crate::operation::Failure;

/// How Python begins a stack trace; some clients put one into the message.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// The type and message of a failure, without a stack.
pub(crate) fn words(failure: &Failure) -> Cow<'_, str> {
    let message = failure.message.as_deref().map_or("", |message| split(message).0);
    let kind = failure.error_type.as_deref().map_or("", str::trim);
    // `builtins.ValueError` and a message that begins with `ValueError` mean the same.
    let short = kind.rsplit(['.', ':']).next().unwrap_or(kind);
    match (message, kind) {
        ("", "") => "error".into(),
        ("", kind) => kind.into(),
        (message, "") => message.into(),
        (message, _) if message.contains(short) => message.into(),
        (message, kind) => format!("{kind}: {message}").into(),
    }
}

/// Replaces numbers and hexadecimal ids by `#`, so that failures of one kind become equal.
pub(crate) fn without_numbers(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|letter: char| !letter.is_alphanumeric())
            .unwrap_or(rest.len())
            .max(first.len_utf8());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let digits = word.trim_start_matches("0x");
        if word.contains(|letter: char| letter.is_ascii_digit()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            out.push('#');
            continue;
        }
        let mut in_number = false;
        for letter in word.chars() {
            match (letter.is_numeric(), in_number) {
                (true, true) => {}
                (true, false) => out.push('#'),
                (false, _) => out.push(letter),
            }
            in_number = letter.is_numeric();
        }
    }
    out
}

/// The stack of a failure, wherever the client put it.
pub(crate) fn stack(failure: &Failure) -> Option<&str> {
    let own = failure.stacktrace.as_deref().filter(|stack| !stack.trim().is_empty());
    own.or_else(|| split(failure.message.as_deref()?).1)
}

fn split(message: &str) -> (&str, Option<&str>) {
    let Some((words, stack)) = message.find(TRACEBACK).and_then(|at| message.split_at_checked(at)) else {
        return (message.trim(), None);
    };
    if !words.trim().is_empty() {
        return (words.trim(), Some(stack));
    }
    // The last line of a Python stack is the message.
    let last = stack.trim_end().lines().next_back().unwrap_or(stack);
    (last.trim(), Some(stack))
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;

//! The errors of a run: a line for each, with the stack separate.

use std::borrow::Cow;

use crate::operation::Failure;

/// How Python begins a stack that a client put into the message itself.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// The words of a failure: its type and its message, without a stack.
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

/// The stack of a failure, from wherever the client put it.
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
    // In Python the last line of a stack is the message.
    let last = stack.trim_end().lines().next_back().unwrap_or(stack);
    (last.trim(), Some(stack))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: Option<&str>, message: Option<&str>) -> Failure {
        Failure {
            message: message.map(str::to_owned),
            error_type: kind.map(str::to_owned),
            stacktrace: None,
        }
    }

    #[test]
    fn the_type_is_said_once() {
        for (kind, message, expected) in [
            (None, None, "error"),
            (Some("Timeout"), None, "Timeout"),
            (Some("Timeout"), Some("after 3 s"), "Timeout: after 3 s"),
            (Some("builtins.ValueError"), Some("ValueError('x')"), "ValueError('x')"),
            (None, Some("no city"), "no city"),
        ] {
            assert_eq!(words(&failure(kind, message)), expected);
        }
    }

    #[test]
    fn a_stack_in_the_message_is_no_part_of_the_words() {
        let after = failure(
            None,
            Some("ValueError('x')Traceback (most recent call last):\n  File 1\nValueError: x\n"),
        );
        assert_eq!(words(&after), "ValueError('x')");
        assert!(stack(&after).is_some_and(|stack| stack.starts_with("Traceback")));
        let alone = failure(None, Some("Traceback (most recent call last):\n  File 1\nValueError: x\n"));
        assert_eq!(words(&alone), "ValueError: x");
        assert_eq!(stack(&failure(None, Some("x"))), None);
    }
}

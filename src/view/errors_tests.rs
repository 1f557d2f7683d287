//! Words of failures.

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
fn what_differs_between_failures_of_one_kind_is_left_out() {
    for (one, expected) in [
        ("HTTP 502 after 1.5 s", "HTTP # after #.# s"),
        ("no order A-4711 (0x7fAc, 9f8e4c)", "no order A-# (#, #)"),
        ("550e8400-e29b-41d4-a716-446655440000", "#-#-#-#-#"),
        ("gpt4o2 für Öl", "gpt#o# für Öl"),
        ("", ""),
    ] {
        assert_eq!(without_numbers(one), expected);
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

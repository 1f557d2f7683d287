//! What a person who is new meets: files of the wrong kind, folders, addresses that are none. The message says what to do.
#![expect(clippy::expect_used, reason = "a test")]

use std::fs;

use crate::serving::spanbridge;
use crate::session_files::text;

/// The exit status, what is on standard output, and what is said beside it.
fn ran(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = spanbridge(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn messages_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("writes");
        path.to_str().expect("text").to_owned()
    };
    let otlp = file("otlp.json", br#"{"resourceSpans": []}"#);
    let utf16 = file("utf16.json", b"\xff\xfe{\x00}\x00");
    let missing = folder.path().join("none.json");
    for (arguments, status, words) in [
        (vec!["check", &otlp], 1, "this is OTLP; `convert` makes documents of it"),
        (vec!["convert", "--to", "atif", &utf16], 1, "iconv -f UTF-16"),
        (vec!["show", text(&missing)], 1, "there is no file"),
        (
            vec!["serve", "--otlp-http", "here", "--data-dir", text(folder.path())],
            2,
            "write HOST:PORT",
        ),
        (
            vec!["ls", "--server", "127.0.0.1:1"],
            1,
            "http://127.0.0.1:1: nothing listens there",
        ),
        (vec!["import", "--sessions", "--client", "vscode"], 2, "give import the files"),
    ] {
        let (have, _, said) = ran(&arguments);
        assert!(have == Some(status) && said.contains(words), "{arguments:?}: {have:?} {said}");
    }
}

/// What a program writes while it talks is one conversation, whatever its lines are.
#[test]
fn a_message_a_line_is_one_conversation() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("messages.jsonl");
    let lines = [
        r#"{"role": "user", "content": "Hi", "timestamp": "2026-03-02T09:00:00Z"}"#,
        r#"{"role": "assistant", "content": "Hello.", "timestamp": "2026-03-02T09:00:02Z"}"#,
        r#"{"role": "user", "content": "Bye"}"#,
        r#"{"role": "assistant", "content": "See you."}"#,
    ];
    fs::write(&path, lines.join("\r\n")).expect("writes");
    for arguments in [
        vec!["convert", "--to", "messages", text(&path)],
        vec!["convert", "--to", "messages", "--from", "messages", text(&path)],
    ] {
        let (status, rows, said) = ran(&arguments);
        assert_eq!((status, rows.lines().count()), (Some(0), 1), "{rows} {said}");
        assert!(rows.contains("Hello.") && rows.contains("See you."), "{rows}");
    }
}

//! What a person who is new meets: files of the wrong kind, folders, addresses that are none. The message says what to do.
#![expect(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::Path;

use crate::serving::{self, Serving, spanbridge};
use crate::session_files::text;

/// The exit status, what is on standard output, and what is said beside it.
fn ran(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = spanbridge(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The same from a folder.
fn ran_in(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = serving::program().current_dir(folder).args(arguments).output().expect("runs");
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
    let cut = file("cut.json", br#"{"resourceSpans": [{"resource": {"attributes": ["#);
    let cut_row = file("cut.jsonl", br#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assi"#);
    let missing = folder.path().join("none.json");
    for (arguments, status, words) in [
        (vec!["check", &otlp], 1, "this is OTLP; `convert` makes documents of it"),
        (vec!["convert", "--to", "atif", &utf16], 1, "iconv -f UTF-16"),
        (vec!["convert", "--to", "atif", &cut], 1, "the JSON ends in the middle"),
        (vec!["convert", "--to", "atif", &cut_row], 1, "the JSON ends in the middle"),
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

#[test]
fn what_exists_on_the_disk_is_read_whatever_its_name() {
    let folder = tempfile::tempdir().expect("a directory");
    let rows = br#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}"#;
    let below = folder.path().join("deadbeef/more");
    fs::create_dir_all(&below).expect("made");
    for (name, content) in [
        ("deadbeef/rows.jsonl", &rows[..]),
        (
            "deadbeef/more/rows.json",
            br#"[{"role": "user", "content": "Bye"}, {"role": "assistant", "content": "See you."}]"#,
        ),
        ("deadbeef/README.md", b"# Rows\n"),
        ("deadbeef/.cache", rows),
        ("cafe", rows),
    ] {
        fs::write(folder.path().join(name), content).expect("writes");
    }
    let [named_as_id, file, below] = ["deadbeef", "cafe", "deadbeef/more"].map(|name| folder.path().join(name));
    let convert = |path: &Path| ran(&["convert", "--to", "messages", text(path)]);
    let (status, rows, said) = convert(&named_as_id);
    assert_eq!((status, rows.lines().count()), (Some(0), 2), "{rows} {said}");
    assert!(said.contains("1 file left out, as nothing in them is read: README.md"), "{said}");
    let (_, shown, _) = ran_in(folder.path(), &["show", "deadbeef"]);
    assert!(shown.contains("file deadbeef") && shown.contains("2 runs"), "{shown}");
    let (_, shown, _) = ran_in(folder.path(), &["show", "cafe"]);
    assert!(shown.contains("asked Hi"), "{shown}");
    let data = folder.path().join("data");
    let (status, _, said) = ran(&["import", "--data-dir", text(&data), text(&named_as_id)]);
    assert!(status == Some(0) && said.contains("read 2 rows"), "{said}");
    fs::remove_file(below.join("rows.json")).expect("removed");
    let (status, _, said) = convert(&below);
    assert!(status == Some(1) && said.contains("no file below this folder"), "{said}");
    let (status, _, said) = convert(&file);
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn advice_is_a_command_that_works() {
    let folder = tempfile::tempdir().expect("a directory");
    let data = folder.path().join("data");
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/oi-langchain-toolerror/001.traces.bin");
    let (status, ..) = ran(&["import", "--data-dir", text(&data), text(&case)]);
    assert_eq!(status, Some(0));
    let data_dir = ["--data-dir", text(&data)];
    let (status, listed, said) = ran(&[&["ls", "--status", "error"], &data_dir[..]].concat());
    assert!(status == Some(0) && listed.is_empty() && said.contains("ls --failures"), "{said}");
    let (_, _, said) = ran(&[&["ls", "--model", "none"], &data_dir[..]].concat());
    assert!(said.contains("`spanbridge ls` without filters"), "{said}");
    let (status, _, said) = ran(&[&["grep", "nowhere"], &data_dir[..]].concat());
    assert!(status == Some(1) && said.contains("nowhere: not found in 1 trace of"), "{said}");
    let config = folder.path().join("spanbridge.toml");
    fs::write(&config, "data_dir = \"data\"\n").expect("writes");
    let (status, _, said) = ran(&["forward", "status", "--config", text(&config)]);
    assert!(status == Some(0) && said.contains("no destinations"), "{said}");

    let serving = Serving::start(&data);
    let (status, _, said) = ran(&[&["import"], &data_dir[..], &[text(&case)]].concat());
    let advice = format!("spanbridge send --to {} '{}'", serving.http, case.display());
    assert!(status == Some(1) && said.contains(&advice), "{said}");
    let (status, _, said) = ran(&["send", "--to", &serving.http, text(&case)]);
    assert_eq!(status, Some(0), "{said}");
    let server = format!("pass --server {}", serving.api);
    for arguments in [["label", "ecba", "help=1", "--by=me"], ["delete", "--yes", "--trace", "ecba"]] {
        let (status, _, said) = ran(&[&arguments, &data_dir[..]].concat());
        assert!(status == Some(1) && said.contains(&server), "{said}");
        let (status, _, said) = ran(&[&arguments[..], &["--server", &serving.api]].concat());
        assert_eq!(status, Some(0), "{arguments:?} {said}");
    }
    serving.stop();
}

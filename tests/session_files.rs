//! Session files of coding agents, recorded: whatever the order of the files, wherever a file is cut off, and however often it is
//! read. What the documents must contain, `tests/judge/sessions.py` counts.
#![expect(clippy::expect_used, reason = "a test")]

use crate::serving;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serving::spanbridge;

/// The recorded sessions.
pub(crate) fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("cases")
        .map(|entry| entry.expect("a case").path().join("session"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 55, "only {} cases", cases.len());
    cases
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Files whose lines are a session, by the ends of their names.
pub(crate) fn is_session(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let beside = ["usage_record.jsonl", "journal.jsonl"].contains(&name);
    path.extension().is_some_and(|end| end == "jsonl") && !beside
}

/// The documents of these inputs, and what is said beside them.
pub(crate) fn documents(inputs: &[&Path]) -> (BTreeSet<String>, String) {
    // Rows of a run and of what is read back differ in the ids of their traces.
    let mut arguments = vec!["convert", "--to", "messages", "--option", "messages.origin=none"];
    arguments.extend(inputs.iter().map(|input| text(input)));
    let output = spanbridge(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{inputs:?}: {said}");
    let documents = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    (documents, said)
}

#[test]
fn the_order_of_the_files_changes_nothing() {
    let mut compared = 0;
    for case in cases() {
        let mut list: Vec<PathBuf> = files(&case).into_iter().filter(|file| is_session(file)).collect();
        if list.len() < 2 {
            continue;
        }
        compared += 1;
        let (wanted, _) = documents(&[&case]);
        list.reverse();
        let list: Vec<&Path> = list.iter().map(PathBuf::as_path).collect();
        assert_eq!(documents(&list).0, wanted, "{}", case.display());
    }
    assert!(compared >= 8, "{compared} cases have several files");
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let directory = tempfile::tempdir().expect("a directory");
    for case in cases() {
        let Some(file) = files(&case).into_iter().find(|file| is_session(file)) else {
            continue;
        };
        let bytes = fs::read(&file).expect("reads");
        // In the middle of its last line, and of the line in its middle.
        for cut in [bytes.len() - 9, bytes.len() / 2] {
            let begun = directory.path().join("begun.jsonl");
            fs::write(&begun, bytes.get(..cut).expect("inside")).expect("writes");
            let output = spanbridge(&["convert", "--to", "messages", text(&begun)]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{} to {cut}: {said}", file.display());
            let half = bytes.get(cut - 1) != Some(&b'\n') && bytes.get(cut) != Some(&b'\n');
            assert_eq!(
                said.contains("the last line is not complete"),
                half,
                "{} to {cut}: {said}",
                file.display()
            );
        }
    }
}

#[test]
fn a_second_import_stores_nothing_and_a_grown_file_what_is_new() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let import = |input: &Path| {
        let output = spanbridge(&["import", "--data-dir", text(&data), text(input)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let counts = said.lines().find(|line| line.contains("already stored before")).expect("counts");
        let numbers: Vec<usize> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [stored, before] => (*stored, *before),
            _ => panic!("{said}"),
        }
    };
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    // Some sessions are there twice: in the client's database, and as it exports them.
    let (stored, twice) = import(&all);
    assert!(stored > 300 && twice > 0, "{stored} spans, {twice} twice");
    let (again, before) = import(&all);
    assert_eq!((again, before), (0, stored + twice));
    // A file of a session of its own, which grows.
    let grown = directory.path().join("grown.jsonl");
    let resumed = all.join("claudecode-resume/session");
    let text_of = fs::read_to_string(files(&resumed).into_iter().find(|file| is_session(file)).expect("a file")).expect("reads");
    let other = text_of.replace("\"uuid\":\"", "\"uuid\":\"9");
    let lines: Vec<&str> = other.lines().collect();
    let half = lines.len() / 2;
    fs::write(&grown, lines.get(..half).expect("half").join("\n") + "\n").expect("writes");
    let (first, _) = import(&grown);
    fs::write(&grown, &other).expect("writes");
    let (second, before) = import(&grown);
    assert!(first > 0 && second > 0, "{first}, {second}");
    // What was whole before is not stored again.
    assert!(before > 0 && before + second > first, "{first}, {second}, {before}");
}

#[test]
fn a_session_and_what_was_exported_of_it_are_one_run() {
    let mut joined = 0;
    for case in cases() {
        let folder = case.parent().expect("a case");
        let mut bodies: Vec<PathBuf> = files(folder)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end == "bin"))
            .collect();
        if bodies.is_empty() {
            continue;
        }
        joined += 1;
        let (alone, _) = documents(&[&case]);
        bodies.push(case.clone());
        let mut inputs: Vec<&Path> = bodies.iter().map(PathBuf::as_path).collect();
        let (both, _) = documents(&inputs);
        // The messages are the session's; the exporter adds times, cost and counts.
        assert_eq!(both.len(), alone.len(), "{}", case.display());
        inputs.reverse();
        assert_eq!(documents(&inputs).0, both, "{}", case.display());
    }
    assert!(joined >= 4, "{joined} cases have what was exported");
}

#[test]
fn a_session_and_its_exported_spans_are_one_run_in_a_store_too() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    let directory = tempfile::tempdir().expect("a directory");
    let mut joined = 0;
    for case in fs::read_dir(all).expect("cases").map(|entry| entry.expect("a case").path()) {
        let mut exported = files(&case);
        exported.retain(|file| text(file).ends_with(".traces.bin"));
        if exported.is_empty() {
            continue;
        }
        joined += 1;
        let session = case.join("session");
        let mut both = vec![session.as_path()];
        both.extend(exported.iter().map(PathBuf::as_path));
        // Whatever comes first; and a second reading stores nothing.
        for exported_first in [true, false] {
            let data = directory.path().join(format!("{joined}{exported_first}"));
            let import = |inputs: &[&Path]| {
                let mut arguments = vec!["import", "--data-dir", text(&data)];
                arguments.extend(inputs.iter().map(|input| text(input)));
                String::from_utf8_lossy(&spanbridge(&arguments).stderr).into_owned()
            };
            if !exported_first {
                import(&[&session]);
            }
            import(both.get(1..).unwrap_or_default());
            import(&[&session]);
            let again = import(&[&session]);
            assert!(again.contains("0 spans stored"), "{}: {again}", case.display());
            let no_ids = ["--option", "messages.origin=none"];
            let stored = spanbridge(&[&["export", "--to", "messages", "--data-dir", text(&data)][..], &no_ids].concat());
            let stored: BTreeSet<String> = String::from_utf8_lossy(&stored.stdout).lines().map(str::to_owned).collect();
            assert_eq!(stored, documents(&both).0, "{}", case.display());
        }
    }
    assert!(joined >= 4, "{joined} cases have exported spans");
}

/// Runs with this home folder, in which no client was told of another folder.
pub(crate) fn at_home<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    for client in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "QWEN_RUNTIME_DIR",
        "QWEN_HOME",
    ] {
        command.env_remove(client);
    }
    for client in ["COPILOT_HOME", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR"] {
        command.env_remove(client);
    }
    command.env("HOME", home)
}

#[test]
fn sessions_of_a_home_are_found_and_taken_when_asked() {
    let home = tempfile::tempdir().expect("a directory");
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    for case in ["claudecode-tools", "codex-tools"] {
        let from = all.join(case).join("session");
        for file in files(&from) {
            let below = file.strip_prefix(&from).expect("below");
            // Codex was told of another folder than `.codex`.
            let below = below
                .strip_prefix(".codex")
                .map_or_else(|_| below.to_owned(), |below| Path::new("elsewhere").join(below));
            let to = home.path().join(below);
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::copy(&file, to).expect("copied");
        }
    }
    let data = home.path().join("data");
    let import = |flags: &[&str]| {
        let mut command = serving::program();
        command.args(["import", "--sessions", "--data-dir", text(&data)]).args(flags);
        let command = at_home(&mut command, home.path()).env("CODEX_HOME", home.path().join("elsewhere"));
        let output = command.stdin(std::process::Stdio::null()).output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = import(&[]);
    assert!(
        code == Some(2) && said.contains("claude-code: 1 session file") && said.contains("codex: 1 session file") && said.contains("--yes"),
        "{said}"
    );
    let (code, said) = import(&["--yes", "--since", "2099-01-01"]);
    assert!(code == Some(0) && said.contains("no session files") && !data.exists(), "{said}");
    let (code, said) = import(&["--yes", "--client", "codex"]);
    assert!(
        code == Some(0) && said.contains("10 spans stored") && !said.contains("claude-code"),
        "{said}"
    );
    // What must not be stored is not.
    let (code, said) = import(&[
        "--yes",
        "--redact",
        "[{ value = 'gamma', action = 'mask' }]",
        "--client",
        "claude-code",
    ]);
    assert!(code == Some(0) && said.contains("10 spans stored"), "{said}");
    let (_, stored) = (
        code,
        serving::spanbridge(&[
            "export",
            "--to",
            "messages",
            "--data-dir",
            text(&data),
            "--session",
            "cefea75c-a57d-4833-82b6-955ac2769b71",
        ]),
    );
    let stored = String::from_utf8_lossy(&stored.stdout).into_owned();
    assert!(stored.contains("alpha") && !stored.contains("gamma"), "{stored}");
}

/// A session that is written while a server watches: a line is there within a second, and what must not be stored is not.
#[test]
fn a_server_stores_sessions_while_they_are_written() {
    let home = tempfile::tempdir().expect("a directory");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases/claudecode-tools/session");
    let file = files(&from).into_iter().find(|file| is_session(file)).expect("a session");
    let to = home.path().join(file.strip_prefix(&from).expect("below"));
    fs::create_dir_all(to.parent().expect("a folder")).expect("made");
    let data = home.path().join("data");
    let mut command = serving::program();
    command.args(["serve", "--data-dir", text(&data)]).args(serving::ANY_PORTS);
    command.args(["--watch-sessions", "--redact", "[{ value = 'gamma', action = 'mask' }]"]);
    let server = serving::Serving::launch(at_home(&mut command, home.path()));
    let documents = || {
        let output = spanbridge(&["export", "--to", "messages", "--server", &server.api]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let whole = fs::read_to_string(&file).expect("reads");
    let half = whole.find("Now I check it").expect("said");
    let wait = |words: &str| {
        let begun = Instant::now();
        while !documents().contains(words) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{words} does not come: {}", documents());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // The first look comes before the file.
    std::thread::sleep(Duration::from_millis(500));
    fs::write(&to, whole.get(..half).expect("half")).expect("writes");
    wait("I will read the file first.");
    assert!(!documents().contains("Now I check it"), "half a line is read");
    fs::write(&to, &whole).expect("writes");
    wait("missing.txt does not exist");
    assert!(documents().contains("alpha") && !documents().contains("gamma"), "{}", documents());
}

#[test]
fn a_file_that_is_not_read_is_named_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("rows");
    let said = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("writes");
        let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let database = [b"SQLite format 3\0".as_slice(), &[0; 84], b"CREATE TABLE cursorDiskKV"].concat();
    assert!(said(&database).contains("this is a database of Cursor; spanbridge reads"));
    let lines = said("{\"event\":1}\n".repeat(50).as_bytes());
    assert!(
        lines.lines().count() == 1 && lines.contains("this is JSON with the key event, which no known format has; spanbridge reads"),
        "{lines}"
    );
    // What is between requests is counted beside them.
    let mixed = said(format!("{{\"resourceSpans\":[]}}\n{}", "{\"event\":1}\n".repeat(50)).as_bytes());
    assert!(mixed.lines().count() == 2 && mixed.contains("and 49 more"), "{mixed}");
    let text = said(b"\n# aider chat started\n\n> Aider v0.70.0\n");
    assert!(text.lines().count() == 1 && text.contains("this is text, not JSON"), "{text}");
}

#[test]
fn export_requests_with_their_lengths_before_them() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases/copilot-subagent");
    let bodies: Vec<PathBuf> = files(&case)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "bin"))
        .collect();
    let mut all = Vec::new();
    for body in &bodies {
        let bytes = fs::read(body).expect("reads");
        let mut length = bytes.len();
        while length >= 0x80 {
            all.push(u8::try_from(length & 0x7f).expect("a byte") | 0x80);
            length >>= 7;
        }
        all.push(u8::try_from(length).expect("a byte"));
        all.extend(bytes);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("delimited.bin");
    fs::write(&file, all).expect("writes");
    let inputs: Vec<&Path> = bodies.iter().map(PathBuf::as_path).collect();
    assert_eq!(documents(&[&file]).0, documents(&inputs).0);
}

/// The law of the way back: what is written as a session file is read as the same run.
#[test]
fn a_run_that_is_written_as_a_session_file_is_read_as_the_same_run() {
    let directory = tempfile::tempdir().expect("a directory");
    for (index, case) in cases().iter().enumerate() {
        let (before, _) = documents(&[case]);
        for format in ["claude-code", "codex"] {
            let folder = directory.path().join(format!("{index}.{format}"));
            let output = spanbridge(&["convert", "--to", format, "--output", text(&folder), text(case)]);
            assert!(
                output.status.success(),
                "{}: {}",
                case.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(documents(&[&folder]).0, before, "{} as {format}", case.display());
        }
    }
}

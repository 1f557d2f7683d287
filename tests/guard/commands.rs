//! The same law for every command: what it reads are spans of every shape, sessions of coding agents, and the store that they are in.
//!
//! The commands are taken from the program's help, so a new one is in this test, or fails it; the forms from their made inputs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use spanbridge::formats;
use spanbridge::otlp::encode;

use super::law::most;
use super::{LEAST, MORE, TIMES, shapes, short_or_long, trace};
use crate::serving::{Measured, measured, spanbridge};

/// A session file, and its number of records in a short test.
type Session = (&'static str, u64, fn(u64) -> String);

const SESSIONS: &[Session] = &[
    ("turns of a session", 250, |records| claude_code(records, false)),
    ("one turn of a session", 250, |records| claude_code(records, true)),
];

/// A session of Claude Code: turns of a question and an answer, or one turn of calls and their results.
fn claude_code(records: u64, is_one_turn: bool) -> String {
    let record = |number: u64| {
        let is_answer = number % 2 == 1;
        let content = match (is_one_turn && number > 0, is_answer) {
            (true, true) => {
                json!([{"type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": {"command": format!("ls {number}")}}])
            }
            (true, false) => json!([{"type": "tool_result", "tool_use_id": format!("c{}", number - 1), "content": "a file\n".repeat(150)}]),
            (false, _) => json!(format!("said {number} ").repeat(100)),
        };
        let message = match is_answer {
            true => json!({"role": "assistant", "content": content, "id": format!("m{number}"), "model": "claude",
                "usage": {"input_tokens": 12, "output_tokens": 7}}),
            false => json!({"role": "user", "content": content}),
        };
        let parent = number.checked_sub(1).map(|before| format!("u{before}"));
        let second = number % 60;
        json!({"type": if is_answer { "assistant" } else { "user" }, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s1",
            "timestamp": format!("2026-11-21T{:02}:{:02}:{second:02}.000Z", number / 3600 % 24, number / 60 % 60), "cwd": "/x",
            "version": "2.1.300", "message": message})
        .to_string()
            + "\n"
    };
    (0..records).map(record).collect()
}

/// The commands that the program's help lists.
fn commands() -> Vec<String> {
    let help = String::from_utf8(spanbridge(&["--help"]).stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// How a command is asked about a file and the store that has it. `None`: it reads neither.
fn asks(command: &str, file: &str, folder: &str, trace: &str) -> Option<Vec<Vec<String>>> {
    let store = format!("{folder}/store");
    let of_formats = |most: usize, before: &[&str], after: &[&str]| -> Vec<Vec<String>> {
        let formats = formats::all().take(most).map(|format| [before, &[format.id], after].concat());
        formats.map(|words| words.into_iter().map(str::to_owned).collect()).collect()
    };
    let one = |words: &[&str]| Some(vec![words.iter().map(|word| (*word).to_owned()).collect()]);
    match command {
        "convert" => Some(of_formats(usize::MAX, &["convert", "--to"], &[file])),
        // It makes documents as `convert` does.
        "export" => Some(
            [
                of_formats(2, &["export", "--data-dir", &store, "--to"], &[]),
                vec![
                    [
                        "export",
                        "--data-dir",
                        &store,
                        "--to",
                        "messages",
                        "--hub",
                        &format!("{folder}/hub"),
                    ]
                    .map(str::to_owned)
                    .to_vec(),
                ],
            ]
            .concat(),
        ),
        "show" => Some(vec![
            vec!["show".into(), "--full".into(), file.into()],
            vec!["show".into(), "--data-dir".into(), store, trace.into()],
        ]),
        "ls" => one(&["ls", "--data-dir", &store, "--where", "tool = \"none\""]),
        "grep" => one(&["grep", "--data-dir", &store, "none said"]),
        "label" => one(&["label", "--data-dir", &store, "--dry-run", "--where", "tool = \"none\"", "a=b"]),
        "compare" => Some(vec![
            vec!["compare".into(), "--data-dir".into(), store, trace.into(), trace.into()],
            vec!["compare".into(), "--by".into(), "question".into(), file.into(), file.into()],
        ]),
        "check" => one(&["check", file]),
        "forms" => one(&["forms", "--try", "langchain", file]),
        "import" => one(&["import", "--data-dir", &format!("{folder}/other"), file]),
        "delete" => one(&["delete", "--data-dir", &store, "--dry-run", "--where", "tool = \"none\""]),
        "doctor" => one(&["doctor", "--data-dir", &store]),
        "reindex" => one(&["reindex", "--data-dir", &store]),
        "store" => one(&["store", "copy", "--from", &store, "--to", &format!("{folder}/copy")]),
        // The server's ways have a test of their own; these end with what they are asked, or read nothing of anybody's.
        "serve" | "mcp" | "tail" | "send" | "forward" => None,
        "formats" | "token" | "man" | "completions" | "packaging" | "help" => None,
        unknown => panic!("how is {unknown} asked about a file?"),
    }
}

/// The made inputs of the forms of messages, rows and logs: of each a file with its longest list, or its lines, so many times.
fn forms() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/message_forms");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| {
        path.is_file()
            && path
                .extension()
                .is_some_and(|ending| ["json", "jsonl", "md"].iter().any(|read| ending == *read))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn longer(name: &str, text: &str, times: u64) -> String {
    fn longest(value: &mut Value) -> Option<&mut Vec<Value>> {
        if value.as_array().is_some_and(|list| list.len() > 1) {
            return value.as_array_mut();
        }
        match value {
            Value::Array(list) => list.first_mut().and_then(longest),
            Value::Object(map) => map.values_mut().filter_map(longest).max_by_key(|list| list.len()),
            _ => None,
        }
    }
    let times = usize::try_from(times).unwrap();
    if !name.ends_with(".json") {
        return (text.trim_end().to_owned() + "\n").repeat(times);
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    if let Some(list) = longest(&mut value) {
        *list = std::iter::repeat_n(list.as_slice(), times).flatten().cloned().collect();
    }
    value.to_string()
}

struct Looked {
    broken: Vec<String>,
    before: BTreeMap<String, Duration>,
}

impl Looked {
    fn look(&mut self, shape: &str, size: u64, ask: &[String], folder: &Path, came: u64) {
        let arguments: Vec<&str> = ask.iter().map(String::as_str).collect();
        let Measured {
            memory,
            processor,
            code,
            said,
        } = measured(&arguments);
        let name = ask.join(" ").replace(folder.to_str().unwrap(), "");
        let mut breaks = |what: String| self.broken.push(format!("{shape} of {size} ({came} bytes), {name}: {what}"));
        if !matches!(code, Some(0 | 1)) || said.contains("panicked") {
            breaks(format!("ended with {code:?}: {said:.300}"));
        }
        if memory > most(came) {
            breaks(format!("{} MB of memory", memory / 1_000_000));
        }
        if let Some(before) = self.before.insert(name.clone(), processor)
            && processor > LEAST
            && processor.as_secs_f64() > MORE * before.as_secs_f64().max(0.05) * TIMES as f64
        {
            breaks(format!("{before:?}, and {processor:?} for {TIMES} times as much"));
        }
    }

    fn look_at(&mut self, shape: &str, size: u64, name: &str, content: &[u8]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let (file, directory) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
        let store = format!("{directory}/store");
        let stored = spanbridge(&["import", "--data-dir", &store, file]);
        assert!(stored.status.success(), "{shape}: {}", String::from_utf8_lossy(&stored.stderr));
        for command in commands() {
            for ask in asks(&command, file, directory, &trace(1).to_string()).unwrap_or_default() {
                self.look(shape, size, &ask, folder.path(), content.len() as u64);
            }
        }
    }
}

#[test]
fn every_command_keeps_the_law() {
    let mut looked = Looked {
        broken: Vec::new(),
        before: BTreeMap::new(),
    };
    for (shape, size, make) in short_or_long(shapes::SHAPES) {
        looked.before.clear();
        for size in [size, size * TIMES] {
            looked.look_at(shape, size, "spans.bin", &encode::traces(&make(trace(1), size)));
        }
    }
    for (shape, size, make) in SESSIONS {
        let size = if crate::long_form::is_long_form() { size * 8 } else { *size };
        looked.before.clear();
        for size in [size, size * TIMES] {
            looked.look_at(shape, size, "session.jsonl", make(size).as_bytes());
        }
    }
    let (step, size) = if crate::long_form::is_long_form() { (1, 400) } else { (3, 50) };
    for (name, text) in forms().iter().step_by(step) {
        looked.before.clear();
        for size in [size, size * TIMES] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            let content = longer(name, text, size);
            fs::write(&path, &content).unwrap();
            for command in [["convert", "--to", "messages"].as_slice(), &["show"]] {
                let ask: Vec<String> = command.iter().copied().chain(path.to_str()).map(str::to_owned).collect();
                looked.look(name, size, &ask, folder.path(), content.len() as u64);
            }
        }
    }
    assert!(looked.broken.is_empty(), "{}", looked.broken.join("\n"));
}

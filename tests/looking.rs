//! What people see of runs: `show`, `ls`, `tail`, and the page for browsers, as the real program makes them.
//!
//! `UPDATE=1 cargo test --test looking` writes the goldens in `tests/looking`, which a person reads.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use crate::serving;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use serving::Serving;
use unicode_width::UnicodeWidthStr as _;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn program(arguments: &[&str]) -> Command {
    let mut command = serving::program();
    command.args(arguments).env("COLUMNS", "80");
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).stdin(Stdio::null()).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The payloads of a case: its own, else those of the corpus.
fn payloads(case: &str) -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| -> Vec<PathBuf> {
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files
            .filter(|file| {
                [".traces.json", ".logs.json"]
                    .iter()
                    .any(|end| file.to_string_lossy().ends_with(end))
            })
            .collect();
        files.sort();
        files
    };
    let own = in_folder(root().join("looking").join(case));
    let files = if own.is_empty() {
        in_folder(root().join("corpus").join(case))
    } else {
        own
    };
    assert!(!files.is_empty(), "{case} has payloads");
    files
}

fn send(serving: &Serving, case: &str) {
    for file in payloads(case) {
        let signal = if file.to_string_lossy().ends_with(".logs.json") {
            "logs"
        } else {
            "traces"
        };
        let request = ureq::post(format!("{}/v1/{signal}", serving.http)).header("content-type", "application/json");
        let answer = request.send(&fs::read(&file).expect("reads")[..]).expect("an answer");
        assert_eq!(answer.status(), 200, "{}", file.display());
    }
}

/// The traces of a case, in the order in which its payloads name them.
fn traces(case: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for file in payloads(case)
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(".traces.json"))
    {
        let payload: Value = serde_json::from_slice(&fs::read(file).expect("reads")).expect("JSON");
        find_ids(&payload, &mut ids);
    }
    ids
}

fn find_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let (Some(Value::String(id)), true) = (map.get("traceId"), map.contains_key("startTimeUnixNano"))
                && !ids.contains(id)
            {
                ids.push(id.clone());
            }
            map.values().for_each(|value| find_ids(value, ids));
        }
        Value::Array(list) => list.iter().for_each(|value| find_ids(value, ids)),
        _ => {}
    }
}

/// A store with these cases, written by a server that has ended.
fn store(cases: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    cases.iter().for_each(|case| send(&serving, case));
    serving.stop();
    directory
}

fn data_of(directory: &tempfile::TempDir) -> &str {
    directory.path().to_str().expect("text")
}

/// Each golden and the arguments that print it.
const VIEWS: &[(&str, &[&str])] = &[
    ("show.txt", &[]),
    ("full.txt", &["--full"]),
    ("spans.txt", &["--spans", "-v"]),
    ("run.json", &["--json"]),
    ("page.html", &["--html", "-"]),
];

/// A file is shown as a store shows what it took of it.
#[test]
fn a_file_is_shown_without_a_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data").to_string_lossy().into_owned();
    let session = "session_files/cases/codex-tools/session/.codex/sessions/2026/11/25/\
                   rollout-2026-11-25T13-46-13-01a212f4-f595-78a3-aec6-594700697091.jsonl";
    for file in ["corpus/oi-langchain-toolerror/001.traces.bin", session] {
        let file = root().join(file).to_string_lossy().into_owned();
        let id = stdout(&["show", &file]).split_whitespace().nth(1).expect("an id").to_owned();
        stdout(&["import", "--data-dir", &data, &file]);
        for flags in [&[][..], &["--full"], &["--spans", "-v"], &["--json"], &["--spans", "--json"]] {
            let [of_file, of_store] =
                [&["show", &file][..], &["show", &id, "--data-dir", &data]].map(|show| stdout(&[show, flags].concat()));
            assert_eq!(of_file, of_store, "{file} {flags:?}");
        }
    }
    let [folder, file] = ["session_files/cases/codex-tools/session", session].map(|path| root().join(path));
    let [of_folder, of_file] = [&folder, &file].map(|path| stdout(&["show", path.to_str().expect("text")]));
    assert_eq!(of_folder, of_file);
}

/// Several runs of a file are shown as those of a session.
#[test]
fn the_runs_of_a_file_are_shown_one_after_the_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("runs.jsonl").to_string_lossy().into_owned();
    let payload: Value = serde_json::from_slice(&fs::read(&payloads("made-handoff")[0]).expect("reads")).expect("JSON");
    let (payload, first) = (payload.to_string(), traces("made-handoff").remove(0));
    let second = first.chars().rev().collect::<String>();
    fs::write(&file, format!("{payload}\n{}\n", payload.replace(&first, &second))).expect("writes");
    let shown = stdout(&["show", &file]);
    assert!(shown.starts_with("file ") && shown.contains("2 runs"), "{shown}");
    assert!(
        shown.contains(&format!("trace {first}")) && shown.contains(&format!("trace {second}")),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&stdout(&["show", &file, "--json"])).expect("JSON");
    assert_eq!(
        (json["file"].as_str(), json["runs"].as_array().map(Vec::len)),
        (Some(file.as_str()), Some(2))
    );
    let page = stdout(&["show", &file, "--html", "-"]);
    assert!(page.contains(&first) && page.contains(&second), "{page}");
    let spans = stdout(&["show", &file, "--spans"]);
    assert_eq!(spans.lines().filter(|line| line.starts_with("trace ")).count(), 2, "{spans}");
    let nothing = directory.path().join("nothing.json").to_string_lossy().into_owned();
    fs::write(&nothing, r#"{"resourceSpans": []}"#).expect("writes");
    let output = run(&["show", &nothing]);
    assert!(
        output.status.code() == Some(1) && text(&output.stderr).contains("nothing.json has no spans"),
        "{output:?}"
    );
}

/// Rows have no times: they are shown in their order, without times, and those that are refused are passed over.
#[test]
fn rows_of_a_file_are_shown_in_their_order_without_times() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("rows.jsonl").to_string_lossy().into_owned();
    let row = |number: u32| {
        format!(r#"{{"messages": [{{"role": "user", "content": "question {number}"}}, {{"role": "assistant", "content": "answer"}}]}}"#)
    };
    let refused = r#"{"messages": [{"role": "user", "content": {"neither": "text nor parts"}}]}"#;
    let rows: Vec<String> = (1..=9).map(row).chain([refused.to_owned(), row(10)]).collect();
    fs::write(&file, rows.join("\n")).expect("writes");
    let output = run(&["show", &file, "--full"]);
    assert!(
        output.status.code() == Some(1) && text(&output.stderr).contains("document 10"),
        "{output:?}"
    );
    let shown = text(&output.stdout);
    let asked: Vec<u32> = shown
        .match_indices("question ")
        .filter_map(|(at, _)| shown[at + 9..].lines().next()?.parse().ok())
        .collect();
    let mut once = asked.clone();
    once.dedup();
    assert_eq!(once, (1..=10).collect::<Vec<_>>(), "{shown}");
    assert!(!shown.contains("1970") && !shown.contains("µs"), "{shown}");
    assert_eq!(shown.matches("times not recorded").count(), 10, "{shown}");
    fs::write(&file, row(1)).expect("writes");
    for command in [&["compare", &file, &file, "--json"][..], &["show", &file, "--json"]] {
        let json = stdout(command);
        assert!(!json.contains("_nano"), "{json}");
    }
    let page = stdout(&["show", &file, "--html", "-"]);
    assert!(page.contains("not recorded") && !page.contains("1970-01-01"), "{page}");
}

fn golden_cases() -> Vec<String> {
    let entries = fs::read_dir(root().join("looking")).expect("the cases").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut cases: Vec<String> = folders.map(|entry| entry.file_name().into_string().expect("text")).collect();
    cases.sort();
    cases
}

#[test]
fn show_prints_what_a_person_has_read() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let cases = golden_cases();
    assert!(cases.len() >= 6, "{cases:?}");
    let directory = store(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for case in &cases {
        let id = traces(case).remove(0);
        for (name, arguments) in VIEWS {
            let mut printed = stdout(&[&["show", &id, "--data-dir", data_of(&directory)], *arguments].concat());
            if *name == "page.html" {
                printed = without_style_and_script(&printed);
            }
            let golden = root().join("looking").join(case).join(name);
            if update {
                fs::write(&golden, &printed).expect("writes");
            } else if fs::read_to_string(&golden).ok().as_deref() != Some(&printed) {
                wrong.push(format!("{}\n{printed}", golden.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "UPDATE=1 rewrites them:\n{}", wrong.join("\n"));
}

/// A page without what is the same in all of them: its style, its script, and their hashes.
fn without_style_and_script(page: &str) -> String {
    let mut page = page.to_owned();
    for (open, close) in [("<style>", "</style>"), ("<script type=\"module\">", "</script>")] {
        let (before, rest) = page.split_once(open).expect("it is there");
        let (_, after) = rest.split_once(close).expect("it ends");
        page = format!("{before}{open}{close}{after}");
    }
    let pieces: Vec<&str> = page.split("'sha256-").collect();
    let hashless = pieces.iter().enumerate().map(|(at, piece)| {
        if at == 0 {
            *piece
        } else {
            piece.split_once('\'').expect("it ends").1
        }
    });
    hashless.collect::<Vec<_>>().join("'sha256-'")
}

/// Recordings with long texts, deep trees and wide letters.
const RECORDED: &[&str] = &[
    "oi-lc-subagents",
    "oi-lc-compact",
    "adk-error",
    "oi-agents-onetrace",
    "ls-langchain-toolerror",
];

#[test]
fn nothing_is_wider_than_the_terminal() {
    let mut cases = golden_cases();
    cases.extend(RECORDED.iter().map(|case| (*case).to_owned()));
    let directory = store(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    let data = data_of(&directory);
    let mut checked = 0;
    let mut check = |arguments: &[&str]| {
        for line in stdout(arguments).lines() {
            assert!(line.width() <= 80, "{arguments:?}: {} columns: {line}", line.width());
            checked += 1;
        }
    };
    check(&["ls", "-n", "0", "--data-dir", data]);
    check(&["ls", "--sessions", "--data-dir", data]);
    for id in cases.iter().flat_map(|case| traces(case)) {
        for view in [&[][..], &["--full"], &["--spans"], &["--spans", "-v"], &["--spans", "-v", "--full"]] {
            check(&[&["show", &id, "--data-dir", data], view].concat());
        }
    }
    assert!(checked > 1_000, "{checked} lines");
}

#[test]
fn each_filter_of_ls_takes_its_traces() {
    let cases = [
        "oi-langchain-toolerror",
        "adk-error",
        "made-running-root",
        "made-plain-spans",
        "oi-lc-subagents",
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    cases.iter().for_each(|case| send(&serving, case));
    let case_of = |id: &str| cases.iter().find(|case| traces(case).iter().any(|trace| trace == id)).copied();
    let all: BTreeSet<&str> = cases.into_iter().collect();
    let without = |case: &str| -> BTreeSet<&str> { all.iter().copied().filter(|have| *have != case).collect() };
    let some = |cases: &[&'static str]| -> BTreeSet<&str> { cases.iter().copied().collect() };
    for (arguments, expected) in [
        (&[][..], all.clone()),
        (&["--status", "error"], some(&["adk-error"])),
        (&["--status", "running"], some(&["made-running-root"])),
        (&["--status", "none"], some(&["made-plain-spans"])),
        (&["--status", "ok"], some(&["oi-langchain-toolerror", "oi-lc-subagents"])),
        (&["--agent", "lead"], some(&["oi-lc-subagents"])),
        (&["--agent", "RESEARCHER"], some(&["oi-lc-subagents"])),
        (&["--agent", "travel*"], some(&["oi-langchain-toolerror", "adk-error"])),
        (&["--agent", "nobody"], some(&[])),
        (&["--model", "gemini-2.5-flash"], some(&["adk-error"])),
        (
            &["--model", "gpt-4o-mini-2024-07-18"],
            some(&["oi-langchain-toolerror", "oi-lc-subagents"]),
        ),
        (&["--model", "gemini*", "--status", "ok"], some(&[])),
        (&["--service", "adk-app"], some(&["adk-error"])),
        (&["--session", "sess-subagents"], some(&["oi-lc-subagents"])),
        (&["--since", "2026-11-23"], some(&["oi-lc-subagents"])),
        (&["--until", "2026-11-23"], without("oi-lc-subagents")),
    ] {
        for from in [["--server", &serving.api], ["--data-dir", data_of(&directory)]] {
            let printed = stdout(&[&["ls", "--json", "-n", "0"], arguments, &from].concat());
            let listed = printed.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let found: BTreeSet<&str> = listed
                .filter_map(|listed| case_of(listed["trace_id"].as_str().expect("an id")))
                .collect();
            assert_eq!(found, expected, "{arguments:?} {from:?}");
        }
    }
    for from in [["--server", &serving.api], ["--data-dir", data_of(&directory)]] {
        let found = stdout(&[&["ls", "--json", "--search", "No Such City"][..], &from].concat());
        assert!(
            found.lines().count() == 1 && found.contains(&traces("oi-langchain-toolerror")[0]),
            "{found}"
        );
        let rows = stdout(&[&["export", "--to", "messages", "--search", "No Such City"][..], &from].concat());
        assert!(
            rows.lines().count() == 1 && rows.to_lowercase().contains("no such city"),
            "the same runs are exported: {rows}"
        );
        let none = run(&[&["ls", "--search", "nothing like this"][..], &from].concat());
        assert!(
            text(&none.stdout).is_empty() && text(&none.stderr).contains("no traces match"),
            "{none:?}"
        );
        let sorted = stdout(&[&["ls", "--json", "-n", "2", "--sort", "tokens"][..], &from].concat());
        let tokens = sorted
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["input_tokens"].as_u64());
        let tokens: Vec<Option<u64>> = tokens.collect();
        assert!(tokens.len() == 2 && tokens[0] >= tokens[1] && tokens[0] > Some(0), "{tokens:?}");
        let failures = stdout(&[&["ls", "--failures", "--json"][..], &from].concat());
        let groups: Vec<Value> = failures.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(groups.len() >= 2 && groups.iter().all(|group| group["runs"] == 1), "{failures}");
        assert!(
            !failures.contains("message\":\"HTTP 5"),
            "numbers are no part of a kind: {failures}"
        );
    }
    let tools = stdout(&["ls", "--by", "tool", "--sort", "failures", "--server", &serving.api]);
    let row = tools.lines().nth(1).expect("a tool");
    assert!(
        tools.starts_with("NAME") && row.split_whitespace().nth(3).is_some_and(|failed| failed != "0"),
        "{tools}"
    );
    let kinds = stdout(&["ls", "--by", "kind", "--agent", "lead", "--data-dir", data_of(&directory)]);
    assert!(kinds.contains("llm") && kinds.contains("tool"), "{kinds}");
    let wrong = run(&["ls", "--sort", "beauty", "--server", &serving.api]);
    assert!(
        wrong.status.code() == Some(2) && text(&wrong.stderr).contains("started, took"),
        "{wrong:?}"
    );
    // A limit counts those that hold.
    let one = stdout(&["ls", "--json", "-n", "1", "--status", "error", "--server", &serving.api]);
    assert_eq!(one.lines().count(), 1, "{one}");
    let table = stdout(&["ls", "--wide", "--server", &serving.api]);
    assert!(
        table.contains("AGENT OR ROOT") && table.contains(&traces("adk-error")[0]),
        "{table}"
    );
    serving.stop();
}

#[test]
fn ls_lists_sessions() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    ["oi-lc-subagents", "made-session"].iter().for_each(|case| send(&serving, case));
    for from in [["--server", &serving.api], ["--data-dir", data_of(&directory)]] {
        let printed = stdout(&[&["ls", "--sessions", "--json"][..], &from].concat());
        let sessions: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(sessions[0]["session"], "sess-subagents", "the newest first: {printed}");
        assert!(sessions[0]["question"].is_string() && sessions[0]["runs"] == 1, "{printed}");
        let found = stdout(&[&["ls", "--sessions", "--json", "--search", "i AM ana"][..], &from].concat());
        assert!(found.lines().count() == 1 && found.contains("talk-1"), "{found}");
        let sorted = stdout(&[&["ls", "--sessions", "--sort", "runs"][..], &from].concat());
        assert!(sorted.lines().nth(1).is_some_and(|line| line.starts_with("talk-1")), "{sorted}");
        let made = traces("made-session").len() as u64;
        assert!(made > 1 && sessions.iter().any(|session| session["traces"] == made), "{printed}");
        let one = stdout(&[&["ls", "--sessions", "-n", "1"][..], &from].concat());
        assert!(
            one.starts_with("SESSION") && one.contains("sess-subagents") && one.lines().count() == 2,
            "{one}"
        );
    }
    let output = run(&["ls", "--sessions", "--status", "error", "--server", &serving.api]);
    assert_eq!(output.status.code(), Some(2), "sessions have no status");
    serving.stop();
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    ["made-failures", "made-handoff"].iter().for_each(|case| send(&serving, case));
    for from in [["--server", &serving.api], ["--data-dir", data_of(&directory)]] {
        let output = run(&[&["show", "5b8e"][..], &from].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("trace ids start with 5b8e; pass more digits:"), "{said}");
        for id in [traces("made-failures"), traces("made-handoff")].concat() {
            assert!(said.contains(&format!("\n  {id}  2026-01-01 10:00:00Z  ")), "{said}");
        }
        let output = run(&[&["show", "0000"][..], &from].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("no trace id starts with 0000; `spanbridge ls`"));
    }
    serving.stop();
}

/// `tail` and the lines that it prints.
struct Tail {
    child: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program(&[&["tail", "--interval", "0.1"], arguments].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let (sender, lines) = channel();
        for pipe in [
            Box::new(child.stdout.take().expect("piped")) as Box<dyn std::io::Read + Send>,
            Box::new(child.stderr.take().expect("piped")),
        ] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("a line in time")
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn tail_prints_runs_as_they_come_and_when_their_status_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    send(&serving, "made-handoff");
    let tails = [
        Tail::start(&["--server", &serving.api]),
        Tail::start(&["--data-dir", data_of(&directory)]),
        Tail::start(&["--data-dir", data_of(&directory), "--status", "error", "--json"]),
    ];
    for tail in &tails {
        let first = tail.next();
        assert!(first.contains("following ") && first.contains("Ctrl-C"), "{first}");
    }
    // It began long ago, and comes now. Its root span comes later, with an end.
    let id = "0e22000000000000000000000000000e";
    let span = |span: &str, name: &str, end: u64, more: &str| {
        let attributes =
            r#"[{"key":"openinference.span.kind","value":{"stringValue":"AGENT"}},{"key":"agent.name","value":{"stringValue":"late"}}]"#;
        let body = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{id}","spanId":"{span}","name":"{name}","startTimeUnixNano":"1000000000","endTimeUnixNano":"{end}","attributes":{attributes}{more}}}]}}]}}]}}"#
        );
        let request = ureq::post(format!("{}/v1/traces", serving.http)).header("content-type", "application/json");
        assert_eq!(request.send(body).expect("an answer").status(), 200);
    };
    span("0e22000000000001", "root", 0, "");
    for tail in &tails[..2] {
        let line = tail.next();
        assert!(
            line.starts_with(&id[..8]) && line.contains("running") && line.contains("late"),
            "{line}"
        );
    }
    span(
        "0e22000000000001",
        "root",
        3_000_000_000,
        r#","status":{"code":2,"message":"broken"}"#,
    );
    for tail in &tails[..2] {
        let line = tail.next();
        assert!(
            line.starts_with(&id[..8]) && line.contains("error") && line.contains("2.00 s"),
            "{line}"
        );
    }
    let line: Value = serde_json::from_str(&tails[2].next()).expect("JSON");
    assert_eq!(
        (&line["trace_id"], &line["status"]),
        (&id.into(), &"error".into()),
        "the filter let the running one out"
    );
    // Another run is news; the one that was there before the start never was.
    send(&serving, "made-failures");
    for tail in &tails[..2] {
        let line = tail.next();
        assert!(
            line.contains("error") && line.starts_with(&traces("made-failures")[0][..8]),
            "{line}"
        );
    }
    serving.stop();
}

/// What moves a cursor, rings, or turns the direction of writing.
fn is_harmful(letter: char) -> bool {
    letter != '\n' && letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn hostile_spans_stay_text() {
    let directory = store(&["hostile"]);
    let id = traces("hostile").remove(0);
    let from = ["--data-dir", data_of(&directory)];
    for view in [
        &["show", &id][..],
        &["show", &id, "--full"],
        &["show", &id, "--spans", "-v"],
        &["show", &id, "--spans", "-v", "--full"],
        &["show", &id, "--html", "-"],
        &["ls"],
        &["ls", "--sessions"],
        &["show", "0e11", "--full"],
    ] {
        let printed = stdout(&[view, &from].concat());
        assert!(!printed.contains(is_harmful), "{view:?}: {printed:?}");
    }
    let mut page = stdout(&["show", &id, "--html", "-", from[0], from[1]]);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the text is there");
    // What is between these tags is ours to its end: nothing closes it early.
    for (open, close) in [("<style>", "</style>"), ("<script type=\"module\">", "</script>")] {
        assert_eq!(page.matches(open).count(), 1, "{open}");
        let (before, rest) = page.split_once(open).expect("it is there");
        let (ours, after) = rest.split_once(close).expect("it ends");
        assert!(!ours.contains("alert("), "{open}");
        page = format!("{before}{after}");
    }
    let (tags, attributes) = tags_and_attributes(&page);
    let known = "a article aside b body button canvas code dd details div dl dt em h1 h2 h3 head header html i input kbd li main meta nav ol output p path pre rect \
                 circle script section small span summary svg table tbody td th thead time title tr ul";
    let known: BTreeSet<&str> = known.split_whitespace().collect();
    assert!(tags.iter().all(|tag| known.contains(tag.as_str())), "{tags:?}");
    for (name, value) in &attributes {
        assert!(
            !name.starts_with("on") && !["style", "src", "srcset", "action", "formaction"].contains(&name.as_str()),
            "{name}={value}"
        );
        if name == "href" {
            assert!(value.starts_with('#'), "{value}");
        }
        if name == "class" || name == "id" {
            assert!(!value.contains(['<', '&', '\'']), "{name}={value}");
        }
    }
}

/// The names of all tags of a page, and all attributes, read as a browser does.
fn tags_and_attributes(page: &str) -> (BTreeSet<String>, BTreeSet<(String, String)>) {
    let (mut tags, mut attributes) = (BTreeSet::new(), BTreeSet::new());
    for piece in page.split('<').skip(1) {
        let mut left = piece.trim_start_matches('/');
        if left.starts_with("!DOCTYPE html>") {
            continue;
        }
        let end = left.find(|letter: char| !letter.is_ascii_alphanumeric()).expect("a tag ends");
        tags.insert(left[..end].to_owned());
        left = &left[end..];
        loop {
            left = left.trim_start();
            if left.starts_with('>') {
                break;
            }
            let end = left.find(['=', ' ', '>']).unwrap_or_else(|| panic!("no attribute: {left}"));
            let (name, rest) = left.split_at(end);
            let Some(rest) = rest.strip_prefix("=\"") else {
                attributes.insert((name.to_owned(), String::new()));
                left = rest;
                continue;
            };
            let (value, rest) = rest.split_once('"').expect("a quote ends");
            attributes.insert((name.to_owned(), value.to_owned()));
            left = rest;
        }
    }
    (tags, attributes)
}

/// Two recordings of one question: of two frameworks' versions, with a tool that failed in one of them.
fn two_recordings() -> [String; 2] {
    ["oi-langchain-toolerror/001.traces.bin", "oi-langchain-agent/001.traces.json"].map(|name| {
        let path = root().join("corpus").join(name);
        path.to_str().expect("text").to_owned()
    })
}

#[test]
fn compare_shows_what_differs_between_two_runs() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let [one, other] = two_recordings();
    let mut wrong = Vec::new();
    for (name, more) in [
        ("compare.txt", &[][..]),
        ("compare-full.txt", &["--full"]),
        ("compare.json", &["--json"]),
    ] {
        let printed = stdout(&[&["compare", &one, &other][..], more].concat());
        let golden = root().join("looking").join(name);
        if update {
            fs::write(&golden, &printed).expect("writes");
        } else if fs::read_to_string(&golden).ok().as_deref() != Some(&printed) {
            wrong.push(format!("{}\n{printed}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "UPDATE=1 rewrites them:\n{}", wrong.join("\n"));

    let same: Value = serde_json::from_str(&stdout(&["compare", &one, &one, "--json"])).expect("JSON");
    let steps = same["steps"].as_array().expect("steps");
    assert!(!steps.is_empty() && steps.iter().all(|pair| pair["change"] == "same"), "{same}");
}

#[test]
fn files_that_are_not_there_are_named_as_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = data_of(&directory);
    let [file, other] = two_recordings();
    let cases = [
        (["show", "no/such/file.json", "--full"], "there is no file no/such/file.json"),
        (["compare", &file, "no/such/file.json"], "there is no file no/such/file.json"),
        (["compare", &file, "run 7"], "run 7 is not a trace id"),
    ];
    let check = |(arguments, wanted): &([&str; 3], &str)| {
        let output = run(&[&arguments[..], &["--data-dir", data]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(wanted), "{arguments:?}: {said}");
    };
    // Without a store, and with one.
    cases.iter().take(2).for_each(check);
    assert!(run(&["import", &other, "--data-dir", data]).status.success());
    cases.iter().for_each(check);
}

#[test]
fn compare_pairs_the_runs_of_two_sets() {
    let directory = tempfile::tempdir().expect("a directory");
    let from = ["--data-dir", data_of(&directory)];
    for file in two_recordings() {
        stdout(&[&["import", &file][..], &from].concat());
    }
    let sets = ["compare", "failures = 0", "failures > 0", "--by", "question"];
    let compared: Value = serde_json::from_str(&stdout(&[&sets[..], &["--json"], &from].concat())).expect("JSON");
    let pairs = compared["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 1, "{compared}");
    assert!(
        pairs[0]["key"].as_str().is_some_and(|key| key.starts_with("What is the weather")),
        "{compared}"
    );
    assert_eq!(pairs[0]["same_answer"], false, "{compared}");
    assert_eq!(
        (&compared["left"]["failures"], &compared["right"]["failures"]),
        (&0.into(), &1.into())
    );
    let alone = (&compared["failed_only_left"], &compared["failed_only_right"]);
    assert_eq!(
        (alone, &compared["tools"][0]["right"]["failures"]),
        ((&0.into(), &0.into()), &1.into()),
        "{compared}"
    );
    assert_eq!(
        compared["left"]["median"]["input_tokens"], compared["left"]["input_tokens"],
        "{compared}"
    );
    let printed = stdout(&[&sets[..], &from].concat());
    for words in [
        "differs",
        "tool calls",
        "failed only here",
        "median tokens in",
        "get_weather failed  0 of 2  1 of 2",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    for (arguments, words) in [
        (&["compare", "failures = 0", "failures > 0", "--by", "answer"][..], "metadata.NAME"),
        (&["compare", "failures == 0", "failures > 0", "--by", "question"], "write `=` here"),
        (&["compare", "ffff", "eeee"], "no trace id starts with ffff"),
    ] {
        let output = run(&[arguments, &from].concat());
        assert!(
            !output.status.success() && text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
}

/// Costs that no span records are computed by the user's prices, and marked; what is recorded stays.
#[test]
fn prices_give_calls_a_cost_that_is_marked() {
    let directory = tempfile::tempdir().expect("a directory");
    let prices = directory.path().join("prices.yaml");
    fs::write(&prices, "gpt-4o*: { input: 10, output: 100 }\n").expect("writes");
    let prices = prices.to_str().expect("text");
    let file = root().join("corpus/oi-langchain-toolerror/001.traces.bin");
    let file = file.to_str().expect("text");
    // 223 tokens in, 28 out.
    let shown = stdout(&["show", file, "--prices", prices]);
    assert!(
        shown.contains("28 out · ~$0.00503") && shown.contains("11 out  ~$0.00266"),
        "{shown}"
    );
    assert!(!stdout(&["show", file]).contains('$'));
    let json: Value = serde_json::from_str(&stdout(&["show", file, "--json", "--prices", prices])).expect("JSON");
    assert_eq!(
        (&json["totals"]["cost_usd"], &json["totals"]["cost_computed"]),
        (&0.005_03.into(), &true.into()),
        "{}",
        json["totals"]
    );

    let from = ["--data-dir", data_of(&directory)];
    assert!(run(&[&["import", file][..], &from].concat()).status.success());
    assert!(!stdout(&[&["ls"][..], &from].concat()).contains('$'));
    let wide = |arguments: &[&str]| {
        let output = program(arguments).env("COLUMNS", "200").output().expect("runs");
        text(&output.stdout)
    };
    let listed = wide(&[&["ls", "--where", "cost > 0.005", "--prices", prices][..], &from].concat());
    assert!(listed.contains("~$0.0050"), "{listed}");
    let serving = Serving::start_with(directory.path(), &["--prices", prices]);
    let listed = wide(&["ls", "--server", &serving.api]);
    assert!(listed.contains("~$0.0050"), "{listed}");
    let page = |path: &str| {
        let mut answer = ureq::get(format!("{}{path}", serving.api)).call().expect("answers");
        answer.body_mut().read_to_string().expect("text")
    };
    let trace = &traces("oi-langchain-toolerror")[0];
    for path in ["/runs", "/work", &format!("/runs/{trace}"), &format!("/runs/{trace}/work")] {
        assert!(page(path).contains("~$0.005"), "{path}");
    }
    serving.stop();

    fs::write(directory.path().join("prices.yaml"), "gpt-4o: { input: cheap, output: 1 }\n").expect("writes");
    let output = run(&["show", file, "--prices", prices]);
    assert!(
        !output.status.success() && text(&output.stderr).contains("prices.yaml"),
        "{}",
        text(&output.stderr)
    );
}

/// `grep` prints the step and the place of words; `show` shows a part of a run.
#[test]
fn words_lead_to_their_step_and_a_part_of_a_run_is_shown() {
    let directory = store(&["made-failures", "made-handoff"]);
    let failed = traces("made-failures").remove(0);
    let data = ["--data-dir", data_of(&directory)];
    let grep = |words: &[&str]| run(&[&["grep"], words, &data].concat());
    let found = text(&grep(&["DIVISION by"]).stdout);
    let line = found.lines().find(|line| line.contains("error: ")).expect("a line of the error");
    assert!(
        line.starts_with(&failed[..8]) && line.contains("tool divide") && line.contains("division by"),
        "{found}"
    );
    let json = text(&grep(&["division by", "--json"]).stdout);
    let hits: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let hit = hits.iter().find(|hit| hit["place"] == "error").expect("a hit in an error");
    assert_eq!(
        (&hit["words"], &hit["trace_id"]),
        (&Value::from("division by"), &Value::from(failed.as_str())),
        "{json}"
    );
    assert_eq!(grep(&["nothing like this"]).status.code(), Some(1));

    let show = |flags: &[&str]| stdout(&[&["show", &failed][..], flags, &data].concat());
    let tree = |text: &str| -> Vec<String> {
        let rows = text.lines().skip_while(|line| !line.contains("START"));
        rows.skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let (all, errors) = (tree(&show(&[])), tree(&show(&["--errors"])));
    assert!(
        errors.len() < all.len() && errors.iter().any(|line| line.contains("FAILED")),
        "{errors:?}"
    );
    assert!(errors[0].contains("agent"), "what is above stays: {errors:?}");
    assert_eq!(tree(&show(&["--depth", "1"])).len(), 1);
    let tools = tree(&show(&["--kind", "tool"]));
    assert!(
        tools.iter().filter(|line| line.contains("tool ")).count() == 2 && !tools.iter().any(|line| line.contains("llm ")),
        "{tools:?}"
    );
    let step = hit["step"].as_str().expect("an id");
    let one = show(&["--step", step]);
    assert!(
        one.contains("input") && one.contains("ZeroDivisionError") && tree(&one).len() == 1,
        "{one}"
    );
    assert_eq!(
        run(&[&["show", &failed, "--step", "ffff"][..], &data].concat()).status.code(),
        Some(1)
    );
    let wrong = run(&[&["show", &failed, "--kind", "beauty"][..], &data].concat());
    assert!(
        wrong.status.code() == Some(2) && text(&wrong.stderr).contains("the kinds are"),
        "{wrong:?}"
    );
}

/// A coding session: the files that it changed, what was said without the work between, and a session that goes on from a step.
#[test]
fn a_coding_session_is_read_without_its_work_and_cut_at_a_step() {
    let case = root().join("session_files/cases/claudecode-tools2030/session");
    let case = case.to_str().expect("UTF-8");
    let shown = stdout(&["show", case]);
    let files: Vec<Vec<&str>> = shown
        .lines()
        .skip_while(|line| !line.starts_with("FILE"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        files,
        [
            vec!["FILE", "EDITS", "ADDED", "REMOVED"],
            vec!["/home/user/project/notes.txt", "1", "1", "1"]
        ],
        "{shown}"
    );
    let said = stdout(&["show", "--hide-working", case]);
    assert!(
        said.contains("Read notes.txt, change beta") && said.contains("missing.txt does not exist.") && said.contains("FILE"),
        "{said}"
    );
    assert!(
        !said.contains("I will read the file first") && !said.contains("old_string"),
        "{said}"
    );

    let steps = |file: &str| -> Vec<(String, String, Value)> {
        let run: Value = serde_json::from_str(&stdout(&["show", "--json", file])).expect("JSON");
        let steps = run["steps"].as_array().expect("steps").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        steps
            .map(|step| {
                let mut output = step["output"].clone();
                // A session file keeps the reason with the request, not with each message of it.
                for message in output.as_array_mut().into_iter().flatten() {
                    message.as_object_mut().and_then(|message| message.remove("finish_reason"));
                }
                (text(&step["id"]), text(&step["name"]), output)
            })
            .collect()
    };
    let all = steps(case);
    // A tool and the call that asked for it are one turn, which stays whole.
    for (cut, left) in [(1, 3), (2, 3), (3, 5), (6, 7), (9, 10)] {
        for format in ["claude-code", "codex"] {
            let folder = tempfile::tempdir().expect("a directory");
            let output = folder.path().to_str().expect("UTF-8");
            stdout(&["convert", "--to", format, "--until-step", &all[cut].0, "--output", output, case]);
            let files: Vec<PathBuf> = fs::read_dir(output)
                .expect("a folder")
                .map(|file| file.expect("a file").path())
                .collect();
            let [file] = files.as_slice() else { panic!("{files:?}") };
            let text = fs::read_to_string(file).expect("reads");
            assert!(
                !text.contains("47d0a2ea-4f54-45f1-a592-876a0541f8e9\","),
                "it is a session of its own: {text}"
            );
            let kept = steps(file.to_str().expect("UTF-8"));
            let names = |steps: &[(String, String, Value)]| {
                steps
                    .iter()
                    .skip(1)
                    .map(|(_, name, output)| (name.clone(), output.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(&kept), names(&all[..left]), "{format} at {cut}");
        }
    }
    let missing = run(&["convert", "--to", "codex", "--until-step", "ffff", case]);
    assert!(
        missing.status.code() == Some(1) && text(&missing.stderr).contains("there is no step ffff"),
        "{missing:?}"
    );
    let one = run(&["export", "--to", "codex", "--until-step", "ffff", "--data-dir", "nowhere"]);
    assert!(one.status.code() == Some(2) && text(&one.stderr).contains("--trace ID"), "{one:?}");
}

/// `label` judges, corrects and deletes, in a directory and over a server, and `ls` counts no more spans than before.
#[test]
fn label_judges_runs_of_a_directory_and_of_a_server() {
    let directory = store(&["made-failures", "made-handoff"]);
    let (failed, other) = (traces("made-failures").remove(0), traces("made-handoff").remove(0));
    let listed = |from: [&str; 2]| -> Vec<Value> {
        let printed = stdout(&[&["ls", "--json"][..], &from].concat());
        printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let of = |list: &[Value], id: &str| list.iter().find(|run| run["trace_id"] == id).expect("the run").clone();
    let labels = |run: &Value| -> Vec<String> {
        let scores = run["scores"]
            .as_array()
            .expect("scores")
            .iter()
            .filter(|score| score["annotator"] == "ana");
        scores
            .map(|score| {
                format!(
                    "{}={}{}",
                    score["name"].as_str().unwrap_or_default(),
                    score["label"],
                    score["score"]
                )
            })
            .collect()
    };
    let data = ["--data-dir", data_of(&directory)];
    let before = of(&listed(data), &failed);
    let label = |words: &[&str], from: [&str; 2]| run(&[&["label", "--by", "ana"], words, &from].concat());
    let dry = label(&["--where", "failures > 0", "triage=open", "--dry-run"], data);
    assert!(
        text(&dry.stdout).contains("would be judged") && text(&dry.stdout).contains(&failed),
        "{dry:?}"
    );
    assert_eq!(of(&listed(data), &failed), before, "nothing is stored");
    for words in [
        &["--where", "failures > 0", "triage=open"][..],
        &[&failed, "help=0.25", "--note", "why"],
        &[&failed, "triage=closed"],
    ] {
        assert_eq!(
            label(words, data).status.code(),
            Some(0),
            "{words:?}: {}",
            text(&label(words, data).stderr)
        );
    }
    let after = of(&listed(data), &failed);
    assert_eq!(labels(&after), [r#"triage="closed"null"#, "help=null0.25"]);
    assert_eq!(after["spans"], before["spans"]);
    assert_eq!(labels(&of(&listed(data), &other)), Vec::<String>::new());
    let shown = stdout(&[&["show", &failed][..], &data].concat());
    assert!(
        shown.contains("triage closed (ana)") && shown.contains("help 0.25 (ana): why"),
        "{shown}"
    );

    let serving = Serving::start(directory.path());
    let server = ["--server", serving.api.as_str()];
    assert_eq!(label(&[&failed, "--delete", "triage"], server).status.code(), Some(0));
    assert_eq!(labels(&of(&listed(server), &failed)), ["help=null0.25"]);
    let again = label(&[&failed, "--delete", "triage"], server);
    assert!(
        again.status.code() == Some(1) && text(&again.stderr).contains("there is no judgement triage by ana to withdraw"),
        "{again:?}"
    );
    for wrong in [&["feedback=good"][..], &[&failed, "--note", "x"], &[&failed, "feedback="]] {
        assert_eq!(label(wrong, server).status.code(), Some(2), "{wrong:?}");
    }
    serving.stop();
}

#[test]
fn ls_says_what_was_asked_and_takes_expressions() {
    let directory = tempfile::tempdir().expect("a directory");
    let from = ["--data-dir", data_of(&directory)];
    for file in two_recordings() {
        stdout(&[&["import", &file][..], &from].concat());
    }
    let all = stdout(&[&["ls", "--wide"][..], &from].concat());
    assert!(
        all.contains("QUESTION") && all.contains("What is the weather in Paris and Tokyo, and the time?"),
        "{all}"
    );
    assert!(all.contains("ok, 1 failed"), "{all}");
    let narrow = stdout(&[&["ls"][..], &from].concat());
    assert!(narrow.contains("What is the") && narrow.contains("Z  "), "{narrow}");
    let failed = stdout(&[&["ls", "--json", "--where", "failures > 0 and tool = get_weather"][..], &from].concat());
    let failed: Vec<Value> = failed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["failures"], 1);
    assert_eq!(failed[0]["question"], "What is the weather in Paris and Tokyo, and the time?");
    assert!(
        failed[0]["answer"].as_str().is_some_and(|answer| answer.contains("no such city")),
        "{failed:?}"
    );
    for (expression, words) in [
        ("failures == 1", "write `=` here"),
        ("tool contains weather", "write `~ '*TEXT*'` here"),
        ("failures = 1 && cost > 0", "write `and` here"),
    ] {
        let output = run(&[&["ls", "--where", expression][..], &from].concat());
        assert!(
            output.status.code() == Some(2) && text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn what_others_must_not_read_is_redacted_in_every_view() {
    let directory = store(&["made-session"]);
    let from = ["--data-dir", data_of(&directory)];
    let made = traces("made-session");
    let rules = ["--redact", "[{ value = 'Ana', action = \"mask\" }]"];
    let views: [&[&str]; 6] = [
        &["show", &made[0]],
        &["show", &made[0], "--full"],
        &["show", &made[0], "--html", "-"],
        &["show", &made[0], "--json"],
        &["show", &made[0], "--spans", "--json"],
        &["show", "--session", "talk-1", "--html", "-"],
    ];
    for view in views {
        let plain = stdout(&[view, &from].concat());
        let kept_back = stdout(&[view, &from, &rules].concat());
        assert!(plain.contains("I am Ana.") && !kept_back.contains("Ana"), "{view:?}: {kept_back}");
        assert!(kept_back.contains("I am "), "{view:?}: {kept_back}");
    }
}

#[test]
fn a_session_is_looked_at_as_one() {
    let directory = store(&["made-session"]);
    let from = ["--data-dir", data_of(&directory)];
    let made = traces("made-session");
    let shown = stdout(&[&["show", "--session", "talk-1"][..], &from].concat());
    assert!(
        shown.starts_with("session talk-1\n") && made.iter().all(|id| shown.contains(&format!("trace {id}"))),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.width() <= 80), "{shown}");
    let json: Value = serde_json::from_str(&stdout(&[&["show", "--session", "talk-1", "--json"][..], &from].concat())).expect("JSON");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(made.len()), "{json}");
    let page = stdout(&[&["show", "--session", "talk-1", "--html", "-"][..], &from].concat());
    assert!(
        page.contains("<title>session talk-1</title>") && made.iter().all(|id| page.contains(id.as_str())),
        "{page}"
    );
    assert_eq!(page.matches("<html").count(), 1);
    let output = run(&[&["show", "talk-1"][..], &from].concat());
    assert!(
        output.status.code() == Some(2) && text(&output.stderr).contains("--session"),
        "{}",
        text(&output.stderr)
    );
    let output = run(&[&["show", "--session", "other"][..], &from].concat());
    assert!(
        output.status.code() == Some(1) && text(&output.stderr).contains("ls --sessions"),
        "{}",
        text(&output.stderr)
    );
}

/// Documents and clients call runs as they like.
#[test]
fn names_that_people_gave_find_their_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let documents = directory.path().join("run.json");
    let run_document = r#"{"run_id":"my-run-7","started_at":"2026-11-01T10:00:00Z","agent_info":{"name":"a"},
        "steps":[{"step_id":"s1","step_type":"user_input","timestamp":"2026-11-01T10:00:00Z","content":"hi"}]}"#;
    fs::write(&documents, run_document).expect("writes");
    let data = directory.path().join("data");
    let from = ["--data-dir", data.to_str().expect("text")];
    stdout(&[&["import", documents.to_str().expect("text")][..], &from].concat());
    let shown = stdout(&[&["show", "my-run-7"][..], &from].concat());
    assert!(shown.contains("name my-run-7"), "{shown}");
    let listed = stdout(&[&["ls", "--wide"][..], &from].concat());
    assert!(listed.contains("NAME") && listed.contains("my-run-7"), "{listed}");

    let serving = Serving::start(&data);
    let block = r#"{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"hello"}}"#;
    let posted = ureq::post(format!("{}/v1/organizations/default/traces/tr_1/blocks", serving.api))
        .header("content-type", "application/json")
        .send(block);
    let status = posted.expect("an answer").status().as_u16();
    assert!((200..300).contains(&status), "{status}");
    for from in [["--server", &serving.api], from] {
        let shown = stdout(&[&["show", "tr_1"][..], &from].concat());
        assert!(shown.contains("asked hello"), "{shown}");
    }
    let document = ureq::get(format!("{}/api/v1/traces/tr_1/atif", serving.api))
        .call()
        .expect("an answer");
    assert_eq!(document.status(), 200);
    let listed = stdout(&["ls", "--wide", "--server", &serving.api]);
    assert!(listed.contains("tr_1"), "{listed}");
    serving.stop();
}

/// Dozens of losses of one document are a line: content first.
#[test]
fn losses_are_grouped_on_one_line() {
    let [file, _] = two_recordings();
    let output = run(&["convert", "--to", "deepeval", &file]);
    let said = text(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("not in the documents")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    let (content, metadata) = (lines[0].find("of content"), lines[0].find("of metadata"));
    assert!(content.is_none() || content < metadata, "{said}");
    assert!(lines[0].contains(" × ") && lines[0].contains("--losses FILE lists each"), "{said}");

    let directory = tempfile::tempdir().expect("a directory");
    let atif = root().join("corpus/made-session/5b8efff798038103d2690000001a0001.atif.json");
    let losses = directory.path().join("losses.ndjson");
    let [atif, losses_path] = [&atif, &losses].map(|path| path.to_str().expect("text"));
    stdout(&["import", "--data-dir", data_of(&directory), "--losses", losses_path, atif]);
    let listed = fs::read_to_string(&losses).expect("the file");
    assert!(
        listed.lines().count() > 0 && listed.lines().all(|line| line.starts_with("{\"file\":")),
        "{listed}"
    );
}

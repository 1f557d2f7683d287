//! Log records of coding agents that export no spans: the default of Claude Code, Codex and Gemini CLI.
#![expect(clippy::expect_used, reason = "a test")]

use crate::serving;
use crate::session_files::{files, text};

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serving::spanbridge;

/// Recorded log records of sessions, a folder a session; `expected.jsonl` is what they become.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/logs");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("cases")
        .map(|entry| entry.expect("a case").path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 8, "only {} cases", cases.len());
    cases
}

/// The recorded export requests of a case.
fn bodies(case: &Path) -> Vec<PathBuf> {
    let mut all = files(case);
    all.retain(|file| text(file).ends_with(".bin.gz"));
    assert!(!all.is_empty(), "{} has no log records", case.display());
    all
}

fn case(name: &str) -> Vec<PathBuf> {
    let all = cases();
    bodies(all.iter().find(|case| case.ends_with(name)).expect("the case"))
}

fn rows(inputs: &[PathBuf]) -> String {
    let mut arguments = vec!["convert", "--to", "messages"];
    arguments.extend(inputs.iter().map(|input| text(input)));
    let output = spanbridge(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `UPDATE=1` writes what is expected; what really happened is in `meta.json` of the session of the same name.
#[test]
fn log_records_alone_become_the_runs_of_their_sessions() {
    for case in cases() {
        let mut inputs = bodies(&case);
        let have = rows(&inputs);
        let expected = case.join("expected.jsonl");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &have).expect("writes");
        }
        assert_eq!(fs::read_to_string(&expected).expect("rows"), have, "{}", case.display());
        inputs.reverse();
        inputs.extend(inputs.clone());
        assert_eq!(rows(&inputs), have, "{}: order and repetition change nothing", case.display());
    }
}

/// A request with one span of the session that the log records are of.
fn span_of(session: &str) -> String {
    let attributes = format!(
        r#"[{{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}},{{"key":"session.id","value":{{"stringValue":"{session}"}}}},
           {{"key":"gen_ai.input.messages","value":{{"stringValue":"[{{\"role\":\"user\",\"content\":\"as spans\"}}]"}}}},
           {{"key":"gen_ai.output.messages","value":{{"stringValue":"[{{\"role\":\"assistant\",\"content\":\"done\"}}]"}}}}]"#
    );
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",
           "name":"chat","startTimeUnixNano":"1795615875270000000","endTimeUnixNano":"1795615875370000000","attributes":{attributes}}}]}}]}}]}}"#
    )
}

/// The session of `claudecode-tools2030`.
fn session() -> String {
    let meta = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases/claudecode-tools2030/meta.json");
    let meta: serde_json::Value = serde_json::from_str(&fs::read_to_string(meta).expect("reads")).expect("JSON");
    let id = meta.pointer("/session_ids/0").and_then(serde_json::Value::as_str);
    id.expect("a session").to_owned()
}

#[test]
fn beside_spans_of_their_session_log_records_make_no_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let spans = directory.path().join("spans.json");
    fs::write(&spans, span_of(&session())).expect("writes");
    let mut inputs = case("claudecode-tools2030");
    inputs.push(spans);
    let rows = rows(&inputs);
    assert!(rows.lines().count() == 1 && rows.contains("as spans"), "{rows}");
}

/// A server stores spans of them; once the client's own spans come, these are the run.
#[test]
fn a_server_makes_spans_of_log_records() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = serving::Serving::start(&directory.path().join("data"));
    let send = |inputs: &[PathBuf]| {
        let mut arguments = vec!["send", "--to", &server.http];
        arguments.extend(inputs.iter().map(|input| text(input)));
        let output = spanbridge(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let documents = || {
        let output = spanbridge(&["export", "--to", "messages", "--server", &server.api]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let wait = |what: &str, is_there: &dyn Fn(&str) -> bool| {
        let begun = Instant::now();
        while !is_there(&documents()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {}", documents());
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let logs = case("claudecode-tools2030");
    send(&logs);
    let whole = rows(&logs).lines().count();
    wait("the run", &|rows| {
        rows.contains("change beta to delta") && rows.lines().count() == whole
    });
    let spans = directory.path().join("spans.json");
    fs::write(&spans, span_of(&session())).expect("writes");
    send(&[spans]);
    wait("the client's own run alone", &|rows| {
        rows.lines().count() == 1 && rows.contains("as spans")
    });
}

/// Gemini CLI begins a trace with each call and each tool: with its log records they are one run, in a store too.
#[test]
fn what_a_client_exports_in_pieces_is_one_run() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases/geminicli-retry");
    let mut inputs = files(&case);
    inputs.retain(|file| text(file).ends_with(".bin"));
    let whole = rows(&inputs);
    assert_eq!(whole.lines().count(), 1, "{whole}");
    let directory = tempfile::tempdir().expect("a directory");
    let server = serving::Serving::start(&directory.path().join("data"));
    let mut arguments = vec!["send", "--to", &server.http];
    arguments.extend(inputs.iter().map(|input| text(input)));
    assert!(spanbridge(&arguments).status.success());
    let begun = Instant::now();
    loop {
        let output = spanbridge(&["export", "--to", "messages", "--server", &server.api]);
        let stored = String::from_utf8_lossy(&output.stdout).into_owned();
        if stored == whole {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{stored}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Whatever comes first: log records, the exported spans, the session's file.
#[test]
fn an_import_leaves_one_run_of_a_session() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    let bodies_of = |name: &str| -> Vec<PathBuf> {
        let mut all = files(&sessions.join(name));
        all.retain(|file| text(file).ends_with(".bin"));
        all
    };
    let claude = case("claudecode-tools2030");
    let gemini = bodies_of("geminicli-retry");
    let steps = [
        (
            vec![claude, vec![sessions.join("claudecode-tools2030/session")]],
            "change beta to delta",
        ),
        (
            vec![gemini, vec![sessions.join("geminicli-retry/session")]],
            "Answer after trouble.",
        ),
    ];
    for (mut steps, question) in steps {
        for _ in 0..2 {
            let directory = tempfile::tempdir().expect("a directory");
            let data = directory.path().join("data");
            for step in &steps {
                // What is imported twice is stored once.
                for _ in 0..2 {
                    let mut arguments = vec!["import", "--data-dir", text(&data)];
                    arguments.extend(step.iter().map(|input| text(input)));
                    let output = spanbridge(&arguments);
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                }
            }
            let output = spanbridge(&["export", "--to", "messages", "--data-dir", text(&data)]);
            let rows = String::from_utf8_lossy(&output.stdout);
            assert!(rows.lines().count() == 1 && rows.contains(question), "{steps:?}: {rows}");
            steps.reverse();
        }
    }
}

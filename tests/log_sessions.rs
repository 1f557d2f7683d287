//! Log records of coding agents that export no spans: the default of Claude Code, Codex and Gemini CLI.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

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

/// A request of log records of Claude Code: the millisecond, the event, and its attributes.
fn claude_records(records: &[(u64, &str, serde_json::Value)]) -> String {
    let value = |value: &serde_json::Value| match value.as_str() {
        Some(text) => serde_json::json!({ "stringValue": text }),
        None => serde_json::json!({ "doubleValue": value }),
    };
    let records: Vec<serde_json::Value> = records
        .iter()
        .map(|(millisecond, event, attributes)| {
            let mut list = vec![serde_json::json!({"key": "session.id", "value": {"stringValue": "s1"}})];
            let attributes = attributes.as_object().expect("an object").iter();
            list.extend(attributes.map(|(key, of)| serde_json::json!({"key": key, "value": value(of)})));
            let at = 1_795_615_875_000 + millisecond;
            serde_json::json!({"timeUnixNano": format!("{at}000000"), "body": {"stringValue": format!("claude_code.{event}")},
                "eventName": format!("claude_code.{event}"), "attributes": list})
        })
        .collect();
    serde_json::json!({"resourceLogs": [{"scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": records}]}]})
        .to_string()
}

fn messages_of(request: &str) -> serde_json::Value {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("logs.json");
    fs::write(&file, request).expect("writes");
    serde_json::from_str(rows(&[file]).lines().next().expect("a row")).expect("JSON")
}

/// With `OTEL_LOG_RAW_API_BODIES` the records have what the model was given and what it answered.
#[test]
fn whole_requests_and_responses_of_claude_code_are_read() {
    let first = serde_json::json!([{"role": "user", "content": [
        {"type": "text", "text": "<system-reminder>It is Monday.</system-reminder>"}, {"type": "text", "text": "Read a."}]}]);
    let asked = serde_json::json!([{"type": "thinking", "thinking": "Which file?", "signature": "s"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}]);
    let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t1", "content": "text of a"}]);
    let second = serde_json::json!([first[0], {"role": "assistant", "content": asked}, {"role": "user", "content": result}]);
    let request = |messages: &serde_json::Value| {
        let tools = serde_json::json!([{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}]);
        let body =
            serde_json::json!({"model": "m", "system": [{"type": "text", "text": "Be short."}], "tools": tools, "messages": messages});
        serde_json::json!({"prompt.id": "p1", "model": "m", "query_source": "sdk", "body": body.to_string()})
    };
    let response = |id: &str, content: &serde_json::Value, reason: &str| {
        let body = serde_json::json!({"id": format!("msg_{id}"), "model": "m-1", "content": content, "stop_reason": reason});
        serde_json::json!({"prompt.id": "p1", "model": "m", "query_source": "sdk", "request_id": id, "body": body.to_string()})
    };
    let call = |id: &str| {
        serde_json::json!({"prompt.id": "p1", "model": "m", "query_source": "sdk", "request_id": id, "input_tokens": 3, "output_tokens": 2,
            "duration_ms": 1000})
    };
    let answer = serde_json::json!([{"type": "text", "text": "It is short."}]);
    let records = [
        (0, "user_prompt", serde_json::json!({"prompt.id": "p1", "prompt": "Read a."})),
        (1000, "api_request_body", request(&first)),
        (2000, "api_response_body", response("r1", &asked, "tool_use")),
        (2001, "api_request", call("r1")),
        (
            2500,
            "tool_result",
            serde_json::json!({"prompt.id": "p1", "tool_name": "Read", "tool_use_id": "t1", "success": "true"}),
        ),
        (3000, "api_request_body", request(&second)),
        (4000, "api_response_body", response("r2", &answer, "end_turn")),
        (
            4001,
            "assistant_response",
            serde_json::json!({"prompt.id": "p1", "request_id": "r2", "response": "It is short."}),
        ),
        (4001, "api_request", call("r2")),
    ];
    let row = messages_of(&claude_records(&records));
    let said: Vec<(&str, &str)> = row["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| {
            (
                message["role"].as_str().unwrap_or_default(),
                message["content"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert!(said[0].1.starts_with("Be short."), "{said:?}");
    assert_eq!(
        said[2..],
        [("assistant", ""), ("tool", "text of a"), ("assistant", "It is short.")],
        "{row}"
    );
    assert_eq!(row["messages"][2]["reasoning_content"], "Which file?", "{row}");
    assert_eq!(row["tools"][0]["function"]["name"], "Read", "{row}");
    // What was cut off is counted, and nothing else changes.
    let mut cut = records.clone();
    for (_, _, attributes) in cut.iter_mut().filter(|(_, event, _)| event.ends_with("_body")) {
        let body = attributes["body"].as_str().expect("a text").to_owned();
        attributes["body"] = body.get(..body.len() / 2).expect("ASCII").into();
    }
    let row = messages_of(&claude_records(&cut));
    assert_eq!(row["messages"][0]["content"], "Read a.", "{row}");
}

/// Clients write milliseconds: tools that end in the same one stay in the order in which their records came.
#[test]
fn log_records_of_one_time_stay_in_order() {
    let names = ["Write", "Edit", "Read", "Bash"];
    let mut records = vec![
        (0, "user_prompt", serde_json::json!({"prompt.id": "p1", "prompt": "Do it."})),
        (
            1000,
            "api_request",
            serde_json::json!({"prompt.id": "p1", "request_id": "r1", "model": "m", "duration_ms": 1000}),
        ),
    ];
    records.extend(names.iter().enumerate().map(|(number, name)| {
        let id = format!("t{}", 9 - number);
        (
            2000,
            "tool_result",
            serde_json::json!({"prompt.id": "p1", "tool_name": name, "tool_use_id": id, "request_id": "r1", "success": "true"}),
        )
    }));
    records.push((
        3000,
        "api_request",
        serde_json::json!({"prompt.id": "p1", "request_id": "r2", "model": "m", "duration_ms": 500}),
    ));
    let row = messages_of(&claude_records(&records));
    let calls = row["messages"][1]["tool_calls"].as_array().expect("calls");
    let asked: Vec<&str> = calls.iter().filter_map(|call| call["function"]["name"].as_str()).collect();
    assert_eq!(asked, names);
}

/// The log records of two model calls in GenAI's events, and the spans that were exported beside them.
fn events() -> [PathBuf; 2] {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/otel-openaiv2-latest_SPAN_AND_EVENT-tools");
    ["002.logs.bin", "001.traces.bin"].map(|name| case.join(name))
}

/// The messages of the only row.
fn messages(rows: &str) -> serde_json::Value {
    assert_eq!(rows.lines().count(), 1, "{rows}");
    let row: serde_json::Value = serde_json::from_str(rows).expect("JSON");
    row["messages"].clone()
}

#[test]
fn events_of_model_calls_are_a_run_where_there_are_no_spans() {
    let [logs, spans] = events();
    let alone = messages(&rows(std::slice::from_ref(&logs)));
    let answer = alone.as_array().and_then(|all| all.last()).expect("messages");
    assert_eq!(answer["role"], "assistant");
    assert!(alone.to_string().contains("get_weather"), "{alone}");
    assert_eq!(alone, messages(&rows(&[spans, logs.clone()])), "spans tell the same");
    // The model and the tokens are those of the events.
    let output = spanbridge(&["show", "--json", text(&logs)]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("gpt-4o-mini-2024-07-18") && said.contains("329"), "{said}");
}

#[test]
fn an_input_without_runs_is_no_success() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("logs.json");
    let record = r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "body": {"stringValue": "Listening"}}]}]}]}"#;
    fs::write(&file, record).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("the input contains neither spans nor log records of an agent"),
        "{said}"
    );
}

/// A server waits a moment for the spans; those that come later are the run.
#[test]
fn a_server_makes_spans_of_events() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = serving::Serving::start(&directory.path().join("data"));
    let [logs, spans] = events();
    let send = |input: &Path| assert!(spanbridge(&["send", "--to", &server.http, text(input)]).status.success());
    let list = || {
        let output = spanbridge(&["ls", "--json", "--server", &server.api]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    send(&logs);
    let begun = Instant::now();
    while !list().contains("\"model_calls\":2") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", list());
        std::thread::sleep(Duration::from_millis(100));
    }
    send(&spans);
    while !list().contains("\"tool_calls\":3") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", list());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(list().contains("\"model_calls\":2") && list().lines().count() == 1, "{}", list());
}

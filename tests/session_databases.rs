//! Databases of sessions that nothing recorded here has, after the schemas that their clients publish.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::serving::spanbridge;
use crate::session_files::text;
use crate::session_variations::told;

/// A database of `OpenCode` 2: its sessions with their parents, and the messages of each.
fn second(sessions: &[(&str, Option<&str>)], messages: &[(&str, &str, Value)]) -> Connection {
    let database = Connection::open_in_memory().expect("opens");
    let tables = "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text, fork_session_id text, slug text,
            directory text NOT NULL, title text, version text NOT NULL, agent text, model text, time_created integer, time_updated integer);
        CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
            time_created integer, time_updated integer, data text NOT NULL);";
    database.execute_batch(tables).expect("made");
    for (place, (id, parent)) in sessions.iter().enumerate() {
        let add = "INSERT INTO session_v2 (id, parent_id, directory, version, time_created) VALUES (?1, ?2, '/', '2.0.12', ?3)";
        let place = i64::try_from(place).expect("few");
        database.execute(add, (id, parent, place)).expect("added");
    }
    for (place, (session, kind, data)) in messages.iter().enumerate() {
        let add = "INSERT INTO session_message (id, session_id, type, seq, data) VALUES (?1, ?2, ?3, ?4, ?5)";
        let id = format!("msg_{place}");
        let place = i64::try_from(place).expect("few");
        database.execute(add, (id, session, kind, place, data.to_string())).expect("added");
    }
    database
}

fn answer(at: u64, content: &Value, tokens: u64) -> Value {
    json!({"agent": "build", "model": {"id": "m", "providerID": "p"}, "content": content, "finish": "stop", "cost": 0.5,
        "tokens": {"input": tokens, "output": 3, "reasoning": 2, "cache": {"read": 4, "write": 1}},
        "time": {"created": at, "streamed": at + 50, "completed": at + 90}})
}

fn tool(id: &str, name: &str, at: u64, state: &Value) -> Value {
    json!({"type": "tool", "id": id, "name": name, "state": state, "time": {"created": at, "ran": at, "completed": at + 20}})
}

/// What the program says of a database.
fn documents(to: &str, database: &Connection) -> (Vec<Value>, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("opencode.db");
    database.execute("VACUUM INTO ?1", [text(&path)]).expect("written");
    let output = spanbridge(&["convert", "--to", to, text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let documents = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        documents.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
        said,
    )
}

fn messages() -> Vec<(&'static str, &'static str, Value)> {
    let done = |input: Value, text: &str, metadata: Value| json!({"status": "completed", "input": input, "content": [{"type": "text", "text": text}], "metadata": metadata});
    let asks = json!([
        {"type": "reasoning", "text": "I look.", "native": {"signature": "s"}, "time": {"created": 1_010, "completed": 1_020}},
        {"type": "text", "text": "I look."},
        tool("c1", "shell", 1_060, &done(json!({"command": "ls"}), "a.txt", json!({"exit": 0}))),
        tool("c2", "read", 1_062, &json!({"status": "error", "input": {"path": "b.txt"}, "error": {"type": "tool", "message": "there is none"}})),
    ]);
    let started = json!([tool(
        "c3",
        "subagent",
        1_255,
        &done(
            json!({"agent": "explore", "prompt": "Count."}),
            "Two.",
            json!({"sessionID": "ses_2", "status": "completed"})
        )
    )]);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    vec![
        (
            "ses_1",
            "model-switched",
            json!({"model": {"id": "m", "providerID": "p"}, "time": {"created": 900}}),
        ),
        ("ses_1", "system", json!({"text": "The date is Monday.", "time": {"created": 950}})),
        (
            "ses_1",
            "user",
            json!({"text": "What is there?", "files": [{"uri": "file:///a.png", "mime": "image/png"}], "time": {"created": 1_000}}),
        ),
        ("ses_1", "assistant", answer(1_005, &asks, 10)),
        ("ses_1", "assistant", answer(1_200, &started, 20)),
        ("ses_2", "user", json!({"text": "Count.", "time": {"created": 1_210}})),
        ("ses_2", "assistant", answer(1_220, &text("Two."), 7)),
        (
            "ses_1",
            "compaction",
            json!({"status": "completed", "reason": "auto", "summary": "One file.", "recent": "user: What is there?",
            "tokens": {"input": 5, "output": 6, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "time": {"created": 1_400}}),
        ),
        ("ses_1", "assistant", answer(1_500, &text("There is a.txt."), 30)),
        ("ses_1", "idle", json!({"outcome": "succeeded", "time": {"created": 1_600}})),
        (
            "ses_1",
            "shell",
            json!({"shellID": "s", "command": "date", "status": "completed", "output": {"output": "Monday"}, "time": {"created": 1_700}}),
        ),
        ("ses_1", "user", json!({"text": "Which day?", "time": {"created": 1_800}})),
        ("ses_1", "assistant", answer(1_810, &text("Monday."), 40)),
    ]
}

#[test]
fn sessions_of_opencode_2_are_runs() {
    let database = second(&[("ses_1", None), ("ses_2", Some("ses_1"))], &messages());
    let (documents_, said) = documents("atif", &database);
    assert!(!said.contains("unknown"), "{said}");
    let read: Vec<Vec<String>> = documents_.iter().map(told).collect();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for told in read {
        if told.iter().any(|line| line.contains("What is there?")) {
            first = told;
        } else {
            second = told;
        }
    }
    for line in [
        "agent: I look. shell read",
        "agent:  subagent",
        "agent: There is a.txt.",
        "  user: Count.",
        "  agent: Two.",
    ] {
        assert!(first.iter().any(|told| told == line), "{line}: {first:?}");
    }
    assert!(
        first.iter().any(|told| told.starts_with("system:") && told.contains("Monday")),
        "{first:?}"
    );
    assert_eq!(second.last().map(String::as_str), Some("agent: Monday."), "{second:?}");
    assert!(second.iter().any(|told| told.contains("Shell command: date")), "{second:?}");

    let (runs, _) = documents("contextforge", &database);
    let steps: Vec<Value> = runs
        .iter()
        .flat_map(|run| run["steps"].as_array().expect("steps").clone())
        .collect();
    let named = |name: &str| steps.iter().find(|step| step["tool_name"] == name).expect("a tool").clone();
    assert_eq!(
        (&named("shell")["result"], &named("shell")["latency_ms"]),
        (&json!("a.txt"), &json!(20))
    );
    assert_eq!(
        (&named("read")["success"], &named("read")["error"]),
        (&json!(false), &json!("there is none"))
    );
    let calls = steps.iter().filter(|step| step["step_type"] == "llm_call");
    let mut tokens: Vec<(u64, u64)> = calls
        .map(|step| {
            (
                step["tokens_in"].as_u64().expect("a count"),
                step["tokens_out"].as_u64().expect("a count"),
            )
        })
        .collect();
    tokens.sort_unstable();
    assert_eq!(
        tokens,
        [(12, 5), (15, 5), (25, 5), (35, 5), (45, 5)],
        "input with the cache, output with thoughts"
    );
}

/// A database that version 2 took over has the old tables beside the new ones.
#[test]
fn a_session_in_both_forms_is_read_once_and_one_in_the_old_form_too() {
    let database = second(
        &[("ses_1", None)],
        &[
            ("ses_1", "user", json!({"text": "New?", "time": {"created": 1_000}})),
            ("ses_1", "assistant", answer(1_005, &json!([{"type": "text", "text": "New."}]), 10)),
            ("ses_3", "agent-switched", json!({"agent": "build", "time": {"created": 10}})),
        ],
    );
    let tables =
        "CREATE TABLE session (id text PRIMARY KEY, parent_id text, title text, version text, directory text, time_created integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
        INSERT INTO session VALUES ('ses_1', NULL, 't', '1.18.0', '/', 0), ('ses_3', NULL, 't', '1.18.0', '/', 1);";
    database.execute_batch(tables).expect("made");
    for (session, question) in [("ses_1", "New?"), ("ses_3", "Old?")] {
        let message = json!({"role": "user", "time": {"created": 1_000}}).to_string();
        let part = json!({"type": "text", "text": question}).to_string();
        database
            .execute("INSERT INTO message VALUES (?1, ?1, 1000, ?2)", (session, message))
            .expect("added");
        database
            .execute("INSERT INTO part VALUES (?1, ?1, ?1, ?2)", (session, part))
            .expect("added");
        let message = json!({"role": "assistant", "modelID": "m", "time": {"created": 1_005, "completed": 1_010}}).to_string();
        let part = json!({"type": "text", "text": question.replace('?', ".")}).to_string();
        let id = format!("{session}a");
        database
            .execute("INSERT INTO message VALUES (?1, ?2, 1005, ?3)", (&id, session, message))
            .expect("added");
        database
            .execute("INSERT INTO part VALUES (?1, ?1, ?2, ?3)", (&id, session, part))
            .expect("added");
    }
    let (rows, _) = documents("messages", &database);
    let mut told: Vec<String> = rows
        .iter()
        .map(|row| row["messages"][1]["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    told.sort();
    assert_eq!(told, ["New.", "Old."]);
}

/// The Kiro CLI keeps each conversation as one value.
#[test]
fn conversations_of_kiro_are_read_from_their_database() {
    let database = Connection::open_in_memory().expect("opens");
    let tables = "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER, updated_at INTEGER);";
    database.execute_batch(tables).expect("made");
    let value = include_str!("message_forms/kiro_history.json");
    for (id, at) in [("a", 2), ("b", 1)] {
        let add = "INSERT INTO conversations_v2 VALUES ('/w', ?1, ?2, ?3, ?3)";
        database
            .execute(add, (id, value.replace("k1", id).replace("the sign", &format!("sign {id}")), at))
            .expect("added");
    }
    let (read, _) = documents("messages", &database);
    let asked: Vec<&str> = read.iter().filter_map(|row| row["messages"][0]["content"].as_str()).collect();
    assert_eq!(asked, ["Read sign b.", "Read sign a."]);
    assert_eq!(read[0]["messages"][2]["role"], "tool");
}

//! Words and results as the files have them: what only an event tells, what a program leaves out, and texts that are JSON.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;

use serde_json::{Value, json};

use crate::serving::spanbridge;
use crate::session_files::text;
use crate::session_records::{answered, asked, claude, converted, words};
use crate::session_variations::told_by;

/// The rows of a file with these lines.
fn rows(lines: &[Value]) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("session.jsonl");
    let written: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, written.join("\n") + "\n").expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8_lossy(&output.stdout);
    rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Who said what in a row.
fn said(row: &Value) -> Vec<(String, String)> {
    let messages = row["messages"].as_array().expect("messages").iter();
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|message| (words(&message["role"]), words(&message["content"])))
        .collect()
}

fn codex(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload})
}

fn event(kind: &str, words: &str) -> Value {
    codex("event_msg", &json!({"type": kind, "message": words}))
}

fn pair(role: &str, words: &str) -> (String, String) {
    (role.to_owned(), words.to_owned())
}

#[test]
fn an_answer_of_codex_that_only_an_event_tells_is_read_once() {
    let call = codex(
        "response_item",
        &json!({"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}),
    );
    let output = codex(
        "response_item",
        &json!({"type": "function_call_output", "call_id": "c1", "output": "routes.py"}),
    );
    let item = codex(
        "response_item",
        &json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Added it."}]}),
    );
    let wanted = [
        pair("user", "Add it."),
        pair("assistant", ""),
        pair("tool", "routes.py"),
        pair("assistant", "Added it."),
    ];
    let told = event("agent_message", "Added it.");
    // Before the item, after it, or without it.
    for end in [
        vec![told.clone()],
        vec![told.clone(), item.clone()],
        vec![item.clone(), told.clone()],
        vec![item.clone()],
    ] {
        let mut lines = vec![event("user_message", "Add it."), call.clone(), output.clone()];
        lines.extend(end);
        let rows = rows(&lines);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(said(&rows[0]), wanted, "{lines:?}");
    }
    // The same words in two turns are two answers.
    let lines = [event("user_message", "One?"), told.clone(), event("user_message", "Two?"), told];
    let answers = rows(&lines).iter().flat_map(said).filter(|(role, _)| role == "assistant").count();
    assert_eq!(answers, 2);
}

#[test]
fn a_turn_of_codex_that_a_person_took_back_is_marked() {
    let lines = [
        event("user_message", "One?"),
        event("agent_message", "First."),
        codex("event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1})),
        event("user_message", "Two?"),
        event("agent_message", "Second."),
    ];
    let runs: Vec<String> = told_by("rollout.jsonl", &lines).iter().map(Value::to_string).collect();
    let marked: Vec<&String> = runs
        .iter()
        .filter(|run| run.contains("spanbridge.session.rolled_back_turns"))
        .collect();
    assert!(runs.len() == 2 && marked.len() == 1 && marked[0].contains("One?"), "{runs:?}");
    assert!(!runs.concat().contains("unknown_records"), "{runs:?}");
}

#[test]
fn calls_of_codex_without_ids_have_their_results() {
    let call = json!({"type": "tool_call", "function": {"name": "run"}, "arguments": {"command": "ls"}});
    let result = json!({"type": "tool_result", "name": "run", "result": {"stdout": "a.txt", "exitCode": 0}});
    let lines = [
        event("user_message", "List."),
        codex("response_item", &call),
        codex("response_item", &result),
        event("agent_message", "One file."),
    ];
    let rows = rows(&lines);
    let messages = &rows[0]["messages"];
    assert_eq!(messages[1]["tool_calls"][0]["function"]["name"], "run");
    assert_eq!(messages[2]["content"], r#"{"stdout":"a.txt","exitCode":0}"#);
}

#[test]
fn a_result_that_is_json_is_the_text_that_the_model_was_given() {
    let texts = [
        "{\n\t\"a\": 1,  \"b\":[1, 2]\n}",
        "\"Search results: 1\"",
        "[{\"type\": \"text\",\"text\":\"x\"}]",
        "1.50",
        "42\n",
        "{\"a\":1}\n=== b",
    ];
    let calls: Vec<Value> = (0..texts.len())
        .map(|number| json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": "x"}}))
        .collect();
    let results: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| json!({"type": "tool_result", "tool_use_id": format!("t{number}"), "content": text}))
        .collect();
    let line = |number: usize, kind: &str, message: &Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "parentUuid": null, "sessionId": "s1", "version": "2.1.0",
            "timestamp": format!("2026-01-01T10:00:0{number}Z"), "message": message})
    };
    let answer = |id: &str, content: &Value| json!({"id": id, "role": "assistant", "model": "m", "content": content});
    let lines = [
        line(0, "user", &json!({"role": "user", "content": "q"})),
        line(1, "assistant", &answer("m1", &json!(calls))),
        line(2, "user", &json!({"role": "user", "content": results})),
        line(3, "assistant", &answer("m2", &json!([{"type": "text", "text": "Done."}]))),
    ];
    let rows = rows(&lines);
    let given: Vec<String> = said(&rows[0])
        .into_iter()
        .filter(|(role, _)| role == "tool")
        .map(|(_, words)| words)
        .collect();
    assert_eq!(given, texts);
}

/// Programs that write lines of Claude Code leave out their ids, or blacken them.
#[test]
fn lines_of_claude_code_without_ids_are_a_session() {
    for id in [None, Some("<redacted>")] {
        let line = |second: usize, kind: &str, content: &Value| {
            let mut line = json!({"type": kind, "sessionId": "s1", "timestamp": format!("2026-01-01T10:00:0{second}Z"),
                "message": {"role": kind, "content": content}});
            if let Some(id) = id {
                line["uuid"] = id.into();
            }
            line
        };
        let lines = [
            line(0, "user", &json!("One?")),
            line(1, "assistant", &json!([{"type": "text", "text": "First."}])),
            line(2, "user", &json!("Two?")),
            line(3, "assistant", &json!([{"type": "text", "text": "Second."}])),
        ];
        let rows = rows(&lines);
        let said: Vec<_> = rows.iter().map(said).collect();
        assert_eq!(
            said,
            [
                vec![pair("user", "One?"), pair("assistant", "First.")],
                vec![pair("user", "Two?"), pair("assistant", "Second.")]
            ],
            "{id:?}"
        );
    }
}

/// VS Code writes what the model asked for after the tools have run, and their results as text.
#[test]
fn tools_of_copilot_before_the_message_that_asks_for_them() {
    let line = |second: usize, kind: &str, data: &Value| json!({"type": kind, "id": format!("e{second}"), "timestamp": format!("2026-01-01T10:00:0{second}Z"), "data": data});
    let asked = json!({"toolCallId": "t1", "toolName": "readFile", "arguments": {"path": "a"}});
    let lines = [
        line(0, "session.start", &json!({"sessionId": "s1", "copilotVersion": "0.37.8"})),
        line(1, "user.message", &json!({"content": "Show a."})),
        line(2, "tool.execution_start", &asked),
        line(
            3,
            "tool.execution_complete",
            &json!({"toolCallId": "t1", "result": "text of a", "success": true}),
        ),
        line(4, "assistant.message", &json!({"content": "Here it is.", "toolRequests": [asked]})),
        line(
            5,
            "tool.execution_start",
            &json!({"toolCallId": "t2", "toolName": "editFile", "arguments": {}}),
        ),
    ];
    let runs = told_by("events.jsonl", &lines);
    let steps = runs[0]["steps"].as_array().expect("steps");
    let tools: Vec<(&Value, &Value)> = steps
        .iter()
        .filter(|step| step["step_type"] == "tool_call")
        .map(|step| (&step["tool_name"], &step["result"]))
        .collect();
    assert_eq!(
        tools,
        [(&json!("readFile"), &json!("text of a")), (&json!("editFile"), &Value::Null)]
    );
}

/// From 2.1.332 on a file has what the client sent, by hashes.
#[test]
fn what_claude_code_sent_is_what_the_model_was_given() {
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/session_files/cases/claudecode-subagent/session");
    let output = spanbridge(&["convert", "--to", "messages", case]);
    let rows: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let agents: Vec<String> = rows
        .iter()
        .flat_map(said)
        .filter(|(role, words)| role == "user" && words.starts_with("Available agent types"))
        .map(|(_, words)| words)
        .collect();
    // The lines have it as a reminder of the client's; it was sent as a system message without the marks.
    assert_eq!(agents.len(), 1, "{rows:?}");
    assert!(!agents[0].contains("system-reminder"), "{agents:?}");
    assert_eq!(rows.len(), 3);
}

/// Versions before 2.1.332 do not write what they sent of an attachment, but what it is made of.
#[test]
fn what_claude_gives_the_model_beside_the_question_is_heard() {
    let beside = |id: &str, about: Value| claude(id, 1, &json!({"type": "attachment", "attachment": about}));
    let notice = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>";
    let file = json!({"type": "text", "file": {"filePath": "/a.txt", "content": "one"}});
    let picture = json!({"type": "image", "file": {"base64": "iVBORw0K", "type": "image/png"}});
    let lines = [
        asked("u1", 0, "What is in @a.txt?"),
        beside("b1", json!({"type": "file", "filename": "/a.txt", "content": file})),
        beside("b2", json!({"type": "file", "filename": "/b.png", "content": picture})),
        beside(
            "b3",
            json!({"type": "nested_memory", "path": "/CLAUDE.md", "content": {"path": "/CLAUDE.md", "content": "Be short."}}),
        ),
        beside(
            "b4",
            json!({"type": "hook_additional_context", "content": ["It is late."], "hookEvent": "UserPromptSubmit"}),
        ),
        beside(
            "b5",
            json!({"type": "hook_success", "hookEvent": "Stop", "content": "bye", "stdout": "bye\n"}),
        ),
        beside(
            "b6",
            json!({"type": "queued_command", "prompt": notice, "commandMode": "task-notification"}),
        ),
        beside(
            "b7",
            json!({"type": "queued_command", "prompt": "and hurry", "commandMode": "prompt", "origin": {"kind": "human"}}),
        ),
        answered("a1", 2, "m1", &words("One word."), 10),
    ];
    let told = rows(&lines);
    assert!(told.len() == 1 && told[0].to_string().contains("[image image/png]"), "{told:?}");
    let (runs, _) = converted("contextforge", &[("s1.jsonl", lines.to_vec())]);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let call = run["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .find(|step| step["step_type"] == "llm_call");
    let given = call.expect("a call")["input"].as_array().expect("messages").clone();
    let with = |words: &str| {
        let found = given.iter().filter(|message| message["content"].to_string().contains(words));
        found.map(|message| message["role"].as_str().expect("a role")).collect::<Vec<_>>()
    };
    for (words, role) in [
        ("one", "system"),
        ("Be short.", "system"),
        ("It is late.", "system"),
        ("task-notification", "system"),
        ("and hurry", "user"),
    ] {
        assert_eq!(with(words), [role], "{words}: {run}");
    }
    assert!(with("bye").is_empty(), "{run}");
}

/// Where a session begins, and what a person did before the first question, is told with the first turn.
#[test]
fn what_comes_before_the_first_turn_is_of_that() {
    let command = |content: &str| claude("c1", 0, &json!({"type": "system", "subtype": "local_command", "content": content}));
    let claude = vec![
        command("<command-name>/model</command-name>\n<command-args>opus</command-args>"),
        asked("u1", 1, "Which day?"),
        answered("a1", 2, "m1", &words("Monday."), 10),
    ];
    let codex = vec![
        codex(
            "session_meta",
            &json!({"id": "t1", "cwd": "/work", "cli_version": "0.98.0", "git": {"branch": "main"}}),
        ),
        codex(
            "response_item",
            &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which day?"}]}),
        ),
        codex(
            "response_item",
            &json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Monday."}]}),
        ),
    ];
    for (lines, facts) in [
        (claude, [("local_commands", "/model opus"), ("cwd", "/")]),
        (codex, [("cwd", "/work"), ("git_branch", "main")]),
    ] {
        let (runs, _) = converted("contextforge", &[("s1.jsonl", lines)]);
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        for (key, value) in facts {
            let told = &run["metadata"]["agents"][0]["attributes"][format!("spanbridge.session.{key}")];
            assert_eq!(told, value, "{key}: {run}");
        }
    }
}

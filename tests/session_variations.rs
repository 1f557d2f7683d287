//! Variations of recorded sessions: copies that lie elsewhere or are damaged, and what no recording has.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::serving::spanbridge;
use crate::session_files::{cases, documents, files, is_session, text};

/// A copy of the case's files in which each session file is changed by `change`, which may give it another name.
fn changed(case: &Path, to: &Path, mut change: impl FnMut(&Path, Vec<u8>) -> Option<(PathBuf, Vec<u8>)>) {
    for file in files(case) {
        let name = file.strip_prefix(case).expect("below");
        let bytes = fs::read(&file).expect("reads");
        let Some((name, bytes)) = change(name, bytes) else { continue };
        let to = to.join(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        fs::write(to, bytes).expect("writes");
    }
}

/// The messages of each row: the names of agents are not among them.
fn messages(rows: &BTreeSet<String>) -> BTreeSet<String> {
    let of = |row: &String| serde_json::from_str::<serde_json::Value>(row).expect("JSON")["messages"].to_string();
    rows.iter().map(of).collect()
}

/// Copies lie anywhere, without the notes that clients keep beside them, compressed, and with what editors and versions add.
#[test]
fn copies_are_the_same_run() {
    type Change = fn(&Path, Vec<u8>) -> Option<(PathBuf, Vec<u8>)>;
    let ways: [(&str, Change); 6] = [
        ("in one folder", |name, bytes| {
            let flat = PathBuf::from(name.file_name().expect("a name"));
            is_session(name).then_some((flat, bytes))
        }),
        ("under other names", |name, bytes| {
            let other = name.with_file_name(format!("copy-of-{}", name.file_name().expect("a name").to_string_lossy()));
            is_session(name).then_some((other, bytes))
        }),
        ("compressed", |name, bytes| {
            let packed = zstd::encode_all(&*bytes, 3).expect("compresses");
            is_session(name).then_some((name.with_extension("jsonl.zst"), packed))
        }),
        ("with a byte order mark and other ends of lines", |name, bytes| {
            let text = String::from_utf8(bytes).expect("text").replace('\n', "\r\n");
            Some((name.to_owned(), format!("\u{feff}{text}").into_bytes()))
        }),
        ("with lines that are no records", |name, bytes| {
            let text = String::from_utf8(bytes).expect("text");
            let line = |line: &str| format!("{line}\n{{\"type\":\"of-another-version\",\"data\":[{{}}]}}\n[1]\nnull\n");
            is_session(name).then(|| (name.to_owned(), text.lines().map(line).collect::<String>().into_bytes()))
        }),
        ("with broken lines", |name, bytes| {
            let text = String::from_utf8(bytes).expect("text");
            let line = |line: &str| format!("{}\n{line}\n", line.get(..line.len() / 3).unwrap_or_default());
            is_session(name).then(|| (name.to_owned(), text.lines().map(line).collect::<String>().into_bytes()))
        }),
    ];
    let mut compared = 0;
    for case in cases() {
        if !files(&case).iter().any(|file| is_session(file)) {
            continue;
        }
        compared += 1;
        let wanted = messages(&documents(&[&case]).0);
        for (way, change) in ways {
            let copy = tempfile::tempdir().expect("a directory");
            changed(&case, copy.path(), change);
            assert_eq!(messages(&documents(&[copy.path()]).0), wanted, "{} {way}", case.display());
        }
    }
    assert!(compared >= 45, "{compared} cases have files of lines");
}

/// Copies of lines may all have one time, and converters write seconds.
#[test]
fn lines_with_one_time_keep_their_order() {
    let without_fractions = |name: &Path, bytes: Vec<u8>| {
        // OpenCode's database has numbers.
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(other) => return Some((name.to_owned(), other.into_bytes())),
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find("Z\"") {
            let (before, after) = rest.split_at(at);
            let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
            let fraction = before.len().saturating_sub(digits + 1);
            let is_time = (3..=9).contains(&digits) && before.get(fraction..=fraction) == Some(".");
            out += if is_time { before.get(..fraction).expect("ASCII") } else { before };
            out += "Z\"";
            rest = after.strip_prefix("Z\"").expect("as found");
        }
        Some((name.to_owned(), (out + rest).into_bytes()))
    };
    let mut compared = 0;
    for case in cases() {
        compared += 1;
        let copy = tempfile::tempdir().expect("a directory");
        changed(&case, copy.path(), without_fractions);
        let wanted = messages(&documents(&[&case]).0);
        assert_eq!(messages(&documents(&[copy.path()]).0), wanted, "{}", case.display());
    }
    assert!(compared >= 35, "{compared} cases");
}

/// What happened in a session whose lines are put together here: each line is a record of Claude Code without what all records have.
fn said_by(lines: &[serde_json::Value]) -> serde_json::Value {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("session.jsonl");
    let mut written = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut record = serde_json::json!({
            "parentUuid": null, "uuid": format!("u{number}"), "sessionId": "s1", "version": "2.1.0", "cwd": "/",
            "timestamp": format!("2026-01-01T10:00:{number:02}Z"), "isSidechain": false,
        });
        let members = record.as_object_mut().expect("an object");
        members.extend(line.as_object().expect("an object").clone());
        written += &format!("{record}\n");
    }
    fs::write(&file, written).expect("writes");
    let output = spanbridge(&["convert", "--to", "atif", text(&file)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    serde_json::Value::Array(documents)
}

/// Who said what: `source: words`, and below it the agents under its calls.
pub(crate) fn told(document: &serde_json::Value) -> Vec<String> {
    let mut out = Vec::new();
    for step in document["steps"].as_array().expect("steps") {
        let words = step["message"].as_str().unwrap_or_default();
        let calls = step["tool_calls"].as_array().into_iter().flatten();
        let calls: Vec<&str> = calls.filter_map(|call| call["function_name"].as_str()).collect();
        out.push(
            format!("{}: {words} {}", step["source"].as_str().expect("a source"), calls.join(" "))
                .trim()
                .to_owned(),
        );
    }
    for agent in document["subagent_trajectories"].as_array().into_iter().flatten() {
        out.extend(told(agent).into_iter().map(|line| format!("  {line}")));
    }
    out
}

#[test]
fn commands_of_the_client_are_no_turns_and_what_is_typed_meanwhile_is_in_the_turn() {
    let user =
        |words: &str, prompt: &str| serde_json::json!({"type": "user", "promptId": prompt, "message": {"role": "user", "content": words}});
    let answer = |words: &str| {
        let usage = serde_json::json!({"input_tokens": 3, "output_tokens": 2});
        serde_json::json!({"type": "assistant", "message": {"id": "m1", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": words}], "usage": usage}})
    };
    let documents = said_by(&[
        user("<command-name>/clear</command-name>", "p1"),
        user("<bash-input>ls</bash-input>", "p2"),
        user("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", "p3"),
        user("What is there?", "p4"),
        serde_json::json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and hurry"}}),
        answer("One file."),
        user("<command-name>/exit</command-name>", "p5"),
        user("<local-command-stdout>Bye</local-command-stdout>", "p6"),
    ]);
    let documents: Vec<Vec<String>> = documents.as_array().expect("a list").iter().map(told).collect();
    let [document] = documents.as_slice() else {
        panic!("{documents:?}")
    };
    assert_eq!(
        document.join("\n"),
        "system: <bash-input>ls</bash-input>\nsystem: <bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>\nuser: What is there?\n\
         user: and hurry\nagent: One file."
    );
}

/// Versions before 2.0 wrote the lines of sub-agents between those of the session, and no ids of them.
#[test]
fn sub_agents_between_the_lines_of_a_session_are_found_by_their_prompts() {
    let call = |id: &str, prompt: &str| {
        let input = serde_json::json!({"prompt": prompt, "subagent_type": "helper"});
        serde_json::json!({"type": "tool_use", "id": id, "name": "Task", "input": input})
    };
    let said = |id: &str, content: serde_json::Value, is_side: bool, uuid: &str, parent: Option<&str>| {
        let message = serde_json::json!({"id": id, "role": "assistant", "model": "m", "content": content, "usage": {"input_tokens": 3, "output_tokens": 2}});
        serde_json::json!({"type": "assistant", "message": message, "isSidechain": is_side, "uuid": uuid, "parentUuid": parent})
    };
    let words = |text: &str| serde_json::json!([{"type": "text", "text": text}]);
    let prompt = |text: &str, uuid: &str, is_side: bool| serde_json::json!({"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid, "isSidechain": is_side});
    let result = |id: &str, text: &str| {
        let content = serde_json::json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
        serde_json::json!({"type": "user", "message": {"role": "user", "content": content}})
    };
    let documents = said_by(&[
        prompt("Ask two.", "main", false),
        said(
            "m1",
            serde_json::json!([call("c1", "first"), call("c2", "second"), call("c3", "second")]),
            false,
            "asks",
            Some("main"),
        ),
        prompt("second", "side-2", true),
        prompt("first", "side-1", true),
        said("m2", words("I am the first"), true, "side-1b", Some("side-1")),
        said("m3", words("I am the second"), true, "side-2b", Some("side-2")),
        prompt("second", "side-3", true),
        said("m4", words("I am the third"), true, "side-3b", Some("side-3")),
        result("c1", "one"),
        result("c2", "two"),
        result("c3", "three"),
        said("m5", words("Done."), false, "end", Some("asks")),
    ]);
    let [document] = documents.as_array().expect("a list").as_slice() else {
        panic!("{documents}")
    };
    assert_eq!(
        told(document).join("\n"),
        "user: Ask two.\nagent:  Task Task Task\nagent: Done.\n  user: first\n  agent: I am the first\n  user: second\n  \
         agent: I am the second\n  user: second\n  agent: I am the third"
    );
}

/// What happened in a session of any client whose lines are given as they are.
pub(crate) fn told_by(name: &str, lines: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join(name);
    let written: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&file, written).expect("writes");
    let output = spanbridge(&["convert", "--to", "contextforge", text(&file)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The question of a run.
pub(crate) fn question(document: &serde_json::Value) -> &str {
    let steps = document["steps"].as_array().expect("steps");
    let asked = steps.iter().find(|step| step["step_type"] == "user_input");
    asked.and_then(|step| step["content"].as_str()).unwrap_or_default()
}

#[test]
fn what_a_client_writes_beside_a_prompt_is_not_what_was_asked() {
    let claude = |content: serde_json::Value, kind: &str| {
        serde_json::json!({"type": kind, "uuid": kind, "parentUuid": null, "sessionId": "s1", "version": "2.1.0", "isSidechain": false,
            "timestamp": "2026-01-01T10:00:00Z", "message": {"id": "m1", "role": kind, "model": "m", "content": content,
            "usage": {"input_tokens": 3, "output_tokens": 2}}})
    };
    let block = |text: &str| serde_json::json!({"type": "text", "text": text});
    let reminded = serde_json::json!([block("<system-reminder>\nIt is Monday.\n</system-reminder>"), block("Which day?")]);
    let runs = told_by(
        "claude.jsonl",
        &[claude(reminded, "user"), claude(serde_json::json!([block("Monday.")]), "assistant")],
    );
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!(question(run), "Which day?");
    assert!(run.to_string().contains("It is Monday."), "{run}");

    let message = |role: &str, parts: serde_json::Value| {
        serde_json::json!({"info": {"id": role, "sessionID": "ses_1", "role": role, "time": {"created": 1_790_000_000_000_u64}, "modelID": "m",
            "tokens": {"input": 3, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}, "parts": parts})
    };
    let answer = message("assistant", serde_json::json!([{"type": "text", "text": "It is empty."}]));
    let written = |text: &str| serde_json::json!({"type": "text", "synthetic": true, "text": text});
    for (asked, parts) in [
        (
            "What is in @a.txt?",
            serde_json::json!([{"type": "text", "text": "What is in @a.txt?"}, written("Called the Read tool"), written("<file></file>")]),
        ),
        (
            "Look into a.txt",
            serde_json::json!([{"type": "subtask", "agent": "general", "description": "look", "prompt": "Look into a.txt"}]),
        ),
    ] {
        let info = serde_json::json!({"id": "ses_1", "version": "1.18.33", "time": {"created": 1_790_000_000_000_u64}});
        let export = serde_json::json!({"info": info, "messages": [message("user", parts), answer]});
        let runs = told_by("export.json", &[export]);
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!(question(run), asked);
    }
}

#[test]
fn what_an_extension_of_pi_says_goes_to_the_model() {
    let entry = |id: &str, entry: serde_json::Value| {
        let mut line = serde_json::json!({"id": id, "parentId": null, "timestamp": "2026-01-01T10:00:00.000Z"});
        let members = line.as_object_mut().expect("an object");
        members.extend(entry.as_object().expect("an object").clone());
        line
    };
    let said = |role: &str, text: &str| {
        serde_json::json!({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}], "model": "m", "stopReason": "stop",
            "usage": {"input": 3, "output": 2, "cacheRead": 0, "cacheWrite": 0}}})
    };
    let runs = told_by(
        "pi.jsonl",
        &[
            entry("s1", serde_json::json!({"type": "session", "version": 3, "cwd": "/"})),
            entry("00000001", said("user", "Where?")),
            entry(
                "00000002",
                serde_json::json!({"type": "custom_message", "customType": "memo", "content": "By the sea.", "display": true}),
            ),
            entry("00000003", said("assistant", "There.")),
        ],
    );
    assert!(runs.iter().any(|run| run.to_string().contains("By the sea.")), "{runs:?}");
}

/// Versions before `item_completed` record the end of a tool in an event, beside a result that does not tell that it failed.
#[test]
fn the_end_of_a_tool_of_codex_tells_that_it_failed() {
    let line = |kind: &str, payload: serde_json::Value| serde_json::json!({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload});
    let ends = [
        serde_json::json!({"type": "exec_command_end", "call_id": "c1", "exit_code": 2}),
        serde_json::json!({"type": "patch_apply_end", "call_id": "c1", "success": false}),
        serde_json::json!({"type": "mcp_tool_call_end", "call_id": "c1", "invocation": {"server": "wiki", "tool": "ask"}, "result": {"Ok": {"content": [], "isError": true}}}),
        serde_json::json!({"type": "mcp_tool_call_end", "call_id": "c1", "invocation": {"server": "wiki", "tool": "ask"}, "result": {"Err": "gone"}}),
    ];
    for end in ends {
        let result = serde_json::json!({"type": "function_call_output", "call_id": "c1", "output": "no"});
        for order in [
            [line("event_msg", end.clone()), line("response_item", result.clone())],
            [line("response_item", result.clone()), line("event_msg", end.clone())],
        ] {
            let [first, second] = order;
            let runs = told_by(
                "rollout.jsonl",
                &[
                    line("session_meta", serde_json::json!({"id": "t1", "cwd": "/", "cli_version": "0.98.0"})),
                    line("event_msg", serde_json::json!({"type": "user_message", "message": "Do it"})),
                    line(
                        "response_item",
                        serde_json::json!({"type": "function_call", "name": "do", "arguments": "{}", "call_id": "c1"}),
                    ),
                    first,
                    second,
                ],
            );
            let steps = runs.iter().flat_map(|run| run["steps"].as_array().expect("steps"));
            let tools: Vec<&serde_json::Value> = steps.filter(|step| step["step_type"] == "tool_call").collect();
            let [tool] = tools.as_slice() else { panic!("{runs:?}") };
            assert_eq!(tool["success"], false, "{end}");
        }
    }
}

#[test]
fn an_error_that_gemini_shows_is_the_turns() {
    let said = |id: &str, kind: &str, text: &str| serde_json::json!({"id": id, "timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "content": text, "model": "g"});
    let header = serde_json::json!({"sessionId": "s1", "projectHash": "0a", "startTime": "2026-01-01T10:00:00.000Z", "lastUpdated": "2026-01-01T10:00:00.000Z", "kind": "main"});
    let runs = told_by(
        "session-1.jsonl",
        &[
            header,
            said("u1", "user", "Try"),
            said("g1", "gemini", "I try."),
            said("e1", "error", "[API Error: quota exceeded]"),
        ],
    );
    assert!(runs.iter().any(|run| run.to_string().contains("quota exceeded")), "{runs:?}");
}

/// Old versions of `claude --print --output-format stream-json` name neither the model of an answer nor the call that it works for.
#[test]
fn what_an_old_version_prints_is_whole() {
    let lines = [
        serde_json::json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "tools": ["Read"], "uuid": "u1"}),
        serde_json::json!({"type": "assistant", "session_id": "s1", "uuid": "u2", "message": {"id": "m1", "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a"}}]}}),
        serde_json::json!({"type": "user", "session_id": "s1", "uuid": "u3", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "alpha"}]}}),
        serde_json::json!({"type": "assistant", "session_id": "s1", "uuid": "u4", "message": {"id": "m2", "role": "assistant",
            "content": [{"type": "text", "text": "It says alpha."}]}}),
    ];
    let documents = told_by("session.jsonl", &lines);
    let [document] = documents.as_slice() else {
        panic!("one document: {documents:?}")
    };
    let steps = document["steps"].as_array().expect("steps");
    let kinds: Vec<&str> = steps.iter().filter_map(|step| step["step_type"].as_str()).collect();
    assert_eq!(kinds, ["llm_call", "tool_call", "llm_call", "final_output"]);
    assert_eq!((&steps[0]["model"], &steps[1]["result"]), (&"m".into(), &"alpha".into()));
}
